#include "daemon/worker/loader/questions/scores.h"

#include <algorithm>
#include <iostream>

#include "backend/scores/pairing.h"
#include "backend/scores/score_file.h"
#include "backend/text/json.h"
#include "daemon/worker/loader/exit.h"

namespace millrace::loader {
namespace {

constexpr std::size_t kLineMost = 1 << 20;

template <class T>
Status readColumn(std::istream& in, std::size_t rows, std::vector<T>& out) {
    out.resize(rows);
    const auto bytes = static_cast<std::streamsize>(rows * sizeof(T));
    in.read(reinterpret_cast<char*>(out.data()), bytes);
    return in.gcount() == bytes ? okStatus()
                                : invalidArgument("stdin: ends before all columns of scores");
}

Status keep(std::istream& in, const std::string& directory) {
    std::string line;
    std::getline(in, line);
    if (line.size() > kLineMost) {
        return invalidArgument("stdin: its first line is not a description of scores");
    }
    ASSIGN_OR_RETURN(const Json told, parseJson(line, "stdin"));
    const std::int64_t rows = jsonInt(told, "rows", -1);
    const Json& heads = jsonMember(told, "heads");
    if (rows < 0 || static_cast<std::size_t>(rows) > scores::kRowsMost || !heads.is_array() ||
        heads.size() > scores::kHeadsMost) {
        return invalidArgument("stdin: scores of up to ", scores::kRowsMost, " rows and ",
                               scores::kHeadsMost, " heads can be kept");
    }
    scores::Scores out;
    out.step = jsonInt(told, "step");
    out.attempt = jsonInt(told, "attempt", 1);
    out.rowsEvaluated =
        static_cast<std::uint64_t>(std::max(rows, jsonInt(told, "rows_evaluated", rows)));
    out.hash = jsonString(told, "hash");
    RETURN_IF_ERROR(readColumn(in, static_cast<std::size_t>(rows), out.keys));
    for (const Json& head : heads) {
        scores::HeadScores& one = out.heads.emplace_back();
        one.name = head.is_string() ? head.get<std::string>() : "";
        RETURN_IF_ERROR(readColumn(in, static_cast<std::size_t>(rows), one.scores));
        RETURN_IF_ERROR(readColumn(in, static_cast<std::size_t>(rows), one.labels));
    }
    out.settle();
    return scores::writeScores(directory, out);
}

Result<scores::Scores> newestOf(const std::string& directory) {
    ASSIGN_OR_RETURN(const std::string path, scores::findScores(directory));
    return scores::readScores(path);
}

Json jsonOf(const scores::Pairing& pairing) {
    Json heads = Json::array();
    for (const scores::PairedHead& head : pairing.heads) {
        heads.push_back({{"name", head.name},
                         {"rows", head.rows},
                         {"rows_of_other_labels", head.otherLabels},
                         {"log_loss", jsonNumber(head.second)},
                         {"log_loss_of_first", jsonNumber(head.first)},
                         {"log_loss_difference", jsonNumber(head.difference)},
                         {"share", head.share}});
    }
    return {{"has_scores", true},
            {"rows", pairing.rows},
            {"share", pairing.share},
            {"is_sample", pairing.isSample},
            {"heads", heads}};
}

// A run and its newest scores, or why there are none.
struct Scored {
    std::string id;
    Result<scores::Scores> scores = notFound("no scores");
};

Scored scoredOf(const Json& run) {
    return {jsonString(run, "id"), newestOf(jsonString(run, "directory"))};
}

Json pairOf(const Scored& first, const Scored& other) {
    if (first.scores.ok() && other.scores.ok()) {
        return jsonOf(scores::pairScores(*first.scores, *other.scores));
    }
    Json without = Json::array();
    std::string problem;
    for (const Scored* one : {&first, &other}) {
        if (absl::IsNotFound(one->scores.status())) {
            without.push_back(one->id);
        } else if (!one->scores.ok() && problem.empty()) {
            problem = messageOf(one->scores.status());
        }
    }
    return {{"has_scores", false}, {"problem", problem}, {"without", without}};
}

}  // namespace

int runScores(const std::string& directory) {
    std::ios::sync_with_stdio(false);
    const Status kept = keep(std::cin, directory);
    return kept.ok() ? kExitDone : fail(kept);
}

Json pairRuns(const Json& runs) {
    Json pairs = Json::array();
    const Scored first = runs.empty() ? Scored() : scoredOf(runs.front());
    for (std::size_t i = 1; i < runs.size(); ++i) {
        const Scored other = scoredOf(runs.at(i));
        pairs.push_back(pairOf(first, other));
        pairs.back()["run"] = other.id;
    }
    return pairs;
}

}  // namespace millrace::loader

#include "app/session/pairs.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/session/figures.h"
#include "backend/text/text.h"

namespace millrace::session {
namespace {

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        strAppend(&text, i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
    }
    return text;
}

void addOnce(std::vector<std::string>& to, const std::string& text) {
    if (!text.empty() && std::find(to.begin(), to.end(), text) == to.end()) {
        to.push_back(text);
    }
}

bool hasRows(const values::RunPair& pair) {
    return std::any_of(pair.heads.begin(), pair.heads.end(),
                       [](const values::PairedHead& head) { return head.rows > 0; });
}

std::string shareText(const values::RunPair& pair, double share) {
    return strCat(numberText(100 * share), " %", pair.isSample ? " of a sample" : "");
}

// "r-a of 2026-11-29 01:30 read 2.5 MB (c4eccae9d5de)": the run's time and the file's hash.
std::string readText(const values::RunSummary& run, std::int64_t bytes, const std::string& hash) {
    return strCat(run.id, " of ", localTime(run.createdMs), " read ",
                  formatBytes(static_cast<double>(bytes)), " (", hash.substr(0, 12), ")");
}

}  // namespace

std::string lossDifferenceText(double difference) {
    if (std::isnan(difference)) {
        return "unknown";
    }
    if (difference == 0) {
        return "the same";
    }
    return strCat(numberText(std::abs(difference)), difference < 0 ? " less" : " more");
}

std::string pairedRowsText(const values::RunPair& pair, std::int64_t rows) {
    return strCat(formatCount(rows), " (", shareText(pair, pair.share), ")");
}

double shareOf(const values::RunPair& pair, const values::PairedHead& head) {
    return head.share > 0 ? head.share : pair.share;
}

std::string pairSentence(const values::RunPair& pair, const values::PairedHead& head,
                         const std::string& first, bool hasOtherLabel) {
    return strCat(pair.run, " against ", first, ", on the ", formatCount(head.rows),
                  " rows that both scored",
                  head.rowsOfOtherLabels > 0 ? " with the same label (" : " (",
                  shareText(pair, shareOf(pair, head)), "): log loss of ", head.name, " ",
                  lossDifferenceText(head.logLossDifference), hasOtherLabel ? "; other label" : "");
}

std::string whyUnpaired(const values::PairReply& reply) {
    std::vector<std::string> without, apart, relabelled, problems;
    for (const values::RunPair& pair : reply.pairs) {
        for (const std::string& run : pair.without) {
            addOnce(without, run);
        }
        addOnce(problems, pair.problem);
        if (pair.hasScores && !hasRows(pair)) {
            addOnce(pair.rows > 0 ? relabelled : apart, pair.run);
        }
    }
    std::vector<std::string> reasons;
    if (!without.empty()) {
        reasons.push_back(strCat(listed(without), without.size() == 1 ? " has" : " have",
                                 " no scores of an evaluation"));
    }
    if (!apart.empty()) {
        reasons.push_back(strCat(listed(apart), " scored no row that the first run scored too"));
    }
    if (!relabelled.empty()) {
        reasons.push_back(strCat("all rows that ", listed(relabelled),
                                 " and the first run both scored have other labels"));
    }
    reasons.insert(reasons.end(), problems.begin(), problems.end());
    std::string text;
    for (const std::string& reason : reasons) {
        strAppend(&text, text.empty() ? "not compared row by row: " : "; ", reason);
    }
    return text;
}

FilesApart filesApart(const values::RunPair* pair, const values::RunSummary& first,
                      const values::RunSummary& run) {
    if (pair != nullptr && pair->knowsFiles) {
        return {pair->evaluatedOtherContent, pair->trainedOnOtherFiles};
    }
    const bool isOnePlan = first.planHash == run.planHash;
    return isOnePlan ? FilesApart{false, false} : FilesApart{};
}

const values::RunPair* findPair(const values::PairReply& reply, const std::string& run) {
    const auto found = std::ranges::find(reply.pairs, run, &values::RunPair::run);
    return found == reply.pairs.end() ? nullptr : &*found;
}

std::vector<std::string> fileSentences(const values::RunPair& pair, const values::RunSummary& first,
                                       const values::RunSummary& run) {
    std::vector<std::string> sentences;
    for (const values::FileDifference& file : pair.files) {
        if (file.hash.empty() || file.hashOfFirst.empty()) {
            sentences.push_back(
                strCat("only ", file.hash.empty() ? first.id : run.id, " read ", file.path));
        } else {
            sentences.push_back(strCat(file.path, " was rewritten between the runs: ",
                                       readText(first, file.bytesOfFirst, file.hashOfFirst), ", ",
                                       readText(run, file.bytes, file.hash)));
        }
    }
    const std::int64_t more = pair.filesTotal - static_cast<std::int64_t>(pair.files.size());
    if (more > 0) {
        sentences.push_back(strCat(countText(more, "more file"), " of ", run.id,
                                   more == 1 ? " differs from that of " : " differ from those of ",
                                   first.id));
    }
    return sentences;
}

std::string whyUnpaired(const Status& status) {
    return strCat("not compared row by row: ", messageOf(status));
}

}  // namespace millrace::session

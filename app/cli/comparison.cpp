#include "app/cli/comparison.h"

#include <algorithm>
#include <set>

#include "app/session/pairs.h"
#include "app/tui/figures.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

constexpr int kFigurePoints = 500;  // a thinned series: its extremes are among them

}  // namespace

Figures readFigures(client::DaemonClient& daemon, const std::vector<values::RunSummary>& runs,
                    const std::vector<std::string>& metrics) {
    Figures figures;
    for (const values::RunSummary& run : runs) {
        values::MetricRangeRequest request;
        request.run = run.id;
        request.maxPoints = kFigurePoints;
        for (const std::string& name : metrics) {
            const bool isWanted = values::isEvalMetric(name) || session::isTrainMetric(name);
            const values::RunFigure *newest = run.newest(name), *best = run.best(name);
            if (newest != nullptr && best != nullptr) {
                figures[run.id][name] = {session::StepValue{best->value, best->step},
                                         session::StepValue{newest->value, newest->step}};
            } else if (isWanted && newest != nullptr) {
                request.names.push_back(name);
            }
        }
        if (request.names.empty()) {
            continue;
        }
        const auto history = daemon.metricRange(request);
        if (!history.ok()) {
            continue;
        }
        for (const values::MetricSeries& series : history->series) {
            figures[run.id][series.key] = session::bestAndLast(series);
        }
    }
    return figures;
}

const session::BestAndLast* find(const Figures& figures, const std::string& runId,
                                 const std::string& metric) {
    const auto run = figures.find(runId);
    if (run == figures.end()) {
        return nullptr;
    }
    const auto found = run->second.find(metric);
    return found == run->second.end() ? nullptr : &found->second;
}

std::string textOf(const std::optional<session::StepValue>& value) {
    return value ? strCat(session::numberText(value->value), " @", value->step) : "-";
}

bool areOfOneStream(const std::vector<values::RunSummary>& runs, const values::PairReply& pairs) {
    std::set<std::string> streams;
    bool areFilesOne = true;
    for (const values::RunSummary& run : runs) {
        if (!run.streamHash.empty()) {
            streams.insert(run.streamHash);
            // Runs of one stream hash and two plans that nobody can compare count as two streams.
            areFilesOne = areFilesOne &&
                          !session::filesApart(session::findPair(pairs, run.id), runs.front(), run)
                               .training.value_or(true);
        }
    }
    return streams.size() <= 1 && areFilesOne;
}

std::vector<Difference> fileDifferencesOf(const std::vector<values::RunSummary>& runs,
                                          const values::PairReply& pairs) {
    const auto textOf = [](std::int64_t bytes, const std::string& hash) {
        return hash.empty()
                   ? std::string("-")
                   : strCat(formatBytes(static_cast<double>(bytes)), " ", hash.substr(0, 12));
    };
    std::map<std::string, Difference> byPath;
    for (const values::RunPair& pair : pairs.pairs) {
        for (const values::FileDifference& file : pair.files) {
            const std::string first = textOf(file.bytesOfFirst, file.hashOfFirst);
            byPath.try_emplace(file.path, Difference{strCat("file ", file.path),
                                                     std::vector<std::string>(runs.size(), first)});
        }
    }
    for (std::size_t i = 1; i < runs.size(); ++i) {
        const values::RunPair* pair = session::findPair(pairs, runs[i].id);
        for (const auto& file :
             pair != nullptr ? pair->files : std::vector<values::FileDifference>{}) {
            byPath.at(file.path).values[i] = textOf(file.bytes, file.hash);
        }
    }
    std::vector<Difference> all;
    for (auto& [path, difference] : byPath) {
        all.push_back(std::move(difference));
    }
    return all;
}

}  // namespace millrace::cli

#include "app/cli/comparison.h"

#include <algorithm>
#include <set>

#include "app/session/pairs.h"
#include "app/tui/figures.h"
#include "backend/text/json.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

constexpr int kFigurePoints = 500;  // a thinned series: its extremes are among them

std::optional<std::vector<std::string>> itemsOf(const std::string& text) {
    if (text == "-") {
        return std::vector<std::string>();
    }
    const Result<Json> json = text.starts_with('[') ? parseJson(text, "list") : Json();
    if (!json.ok() || !json->is_array()) {
        return std::nullopt;
    }
    std::vector<std::string> items;
    for (const Json& item : *json) {
        items.push_back(item.is_string() ? item.get<std::string>() : dumpJson(item));
    }
    return items;
}

// The multiset difference: items of `from`, each as many times as `without` lacks it.
std::vector<std::string> less(std::vector<std::string> from, std::vector<std::string> without) {
    std::vector<std::string> rest;
    for (std::string& item : from) {
        const auto same = std::ranges::find(without, item);
        if (same == without.end()) {
            rest.push_back(std::move(item));
        } else {
            without.erase(same);
        }
    }
    return rest;
}

}  // namespace

std::vector<Difference> differencesOf(const std::vector<values::RunDetail>& runs) {
    std::set<std::string> keys;
    for (const values::RunDetail& run : runs) {
        for (const auto& [key, value] : run.params) {
            keys.insert(key);
        }
    }
    std::vector<Difference> all;
    for (const std::string& key : keys) {
        Difference difference{key, {}};
        for (const values::RunDetail& run : runs) {
            const auto found = run.params.find(key);
            difference.values.push_back(found == run.params.end() ? "-" : found->second);
        }
        const bool isSame = std::ranges::all_of(
            difference.values, [&](const auto& v) { return v == difference.values[0]; });
        if (!isSame && key != "variation" && key != "name") {
            all.push_back(std::move(difference));
        }
    }
    return all;
}

std::vector<Difference> withoutFollowing(std::vector<Difference> all) {
    constexpr std::string_view kTables = "embeddings.", kHash = ".vocabulary.hash", kRows = ".rows";
    std::set<std::string> tables;  // counted in all runs
    for (const Difference& difference : all) {
        const std::string& key = difference.key;
        const bool isCounted =
            key.starts_with(kTables) && key.ends_with(kHash) &&
            std::ranges::none_of(difference.values, [](const auto& v) { return v == "-"; });
        if (isCounted) {
            tables.insert(key.substr(0, key.size() - kHash.size()));
        }
    }
    std::vector<Difference> rest;
    for (const Difference& difference : all) {
        const std::string& key = difference.key;
        const bool isHash = key.starts_with(kTables) && key.ends_with(kHash);
        const bool isRows =
            key.ends_with(kRows) && tables.contains(key.substr(0, key.size() - kRows.size()));
        if (!isHash && !isRows) {
            rest.push_back(difference);
        }
    }
    return rest.empty() ? std::move(all) : rest;
}

namespace {

using ByKey = std::map<std::string, std::vector<std::string>>;

// "on", "off" or "-" (it has no such step) in each run, for steps that some runs switch off, by
// path: "recipe.spam". The recipe of the evaluation lacks steps that are off.
ByKey switchedSteps(const std::vector<Difference>& all) {
    constexpr std::string_view kEval = "eval.", kEnabled = ".enabled", kKind = ".kind";
    ByKey steps;
    for (const Difference& difference : all) {
        const std::string& key = difference.key;
        if (key.starts_with("recipe.") && key.ends_with(kEnabled)) {
            auto& states = steps[key.substr(0, key.size() - kEnabled.size())];
            for (const std::string& value : difference.values) {
                states.push_back(value == "true" ? "on" : value == "false" ? "off" : "-");
            }
        }
    }
    for (const Difference& difference : all) {
        const std::string& key = difference.key;
        const std::string step = key.substr(0, key.size() - std::min(key.size(), kKind.size()));
        const auto ofTraining = steps.find(step.substr(std::min(step.size(), kEval.size())));
        if (key.starts_with("eval.recipe.") && key.ends_with(kKind) && ofTraining != steps.end()) {
            steps[step] = ofTraining->second;
        }
    }
    return steps;
}

}  // namespace

std::vector<Difference> withStepsAsLines(std::vector<Difference> all) {
    ByKey steps = switchedSteps(all);
    std::erase_if(steps, [](const auto& step) {  // others were added: their keys are of interest
        return std::ranges::find(step.second, "off") == step.second.end();
    });
    for (const auto& [step, states] : steps) {
        std::erase_if(all, [&](const Difference& difference) {
            std::set<std::string> valuesThatRun;
            for (std::size_t i = 0; i < states.size(); ++i) {
                if (states[i] == "on") {
                    valuesThatRun.insert(difference.values[i]);
                }
            }
            return difference.key.starts_with(step + ".") && valuesThatRun.size() < 2;
        });
        const auto at = std::ranges::lower_bound(all, step, {}, &Difference::key);
        all.insert(at, Difference{step, states});
    }
    return all;
}

std::optional<std::string> listChange(const std::string& before, const std::string& after) {
    const auto was = itemsOf(before), is = itemsOf(after);
    if (!was || !is || (before == "-" && after == "-")) {
        return std::nullopt;
    }
    std::string text;
    for (const std::string& item : less(*is, *was)) {
        strAppend(&text, text.empty() ? "+" : " +", item);
    }
    for (const std::string& item : less(*was, *is)) {
        strAppend(&text, text.empty() ? "-" : " -", item);
    }
    return text.empty() && before != after ? "other order" : text;
}

std::string besideBase(const Difference& difference, std::size_t run, std::size_t base) {
    const std::string &before = difference.values[base], &value = difference.values[run];
    const auto change = run == base || before == value ? std::nullopt : listChange(before, value);
    if (change) {
        return *change;
    }
    const auto items = itemsOf(value);
    const bool isList = value != "-" && items.has_value();
    return isList ? session::countText(static_cast<std::int64_t>(items->size()), "item") : value;
}

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

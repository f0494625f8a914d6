#include <algorithm>
#include <map>
#include <set>

#include "app/cli/commands.h"
#include "app/cli/json_shapes.h"
#include "app/cli/results.h"
#include "app/cli/table.h"
#include "app/session/live_model.h"
#include "app/session/run_names.h"
#include "app/tui/charts.h"
#include "app/tui/figures.h"
#include "app/tui/glyphs.h"
#include "backend/core/text.h"

namespace millrace::cli {
namespace {

using client::RunDetail;
using client::RunSummary;
using tui::Tone;

constexpr int kCompareMax = 100;
/// More runs than this stand in rows, fewer side by side in columns.
constexpr std::size_t kColumnsMax = 4;

struct Difference {
    std::string key;
    std::vector<std::string> values;  ///< one a run, "-" where it has none
};

// Keys of the resolved spec that are not the same in all runs.
std::vector<Difference> differencesOf(const std::vector<RunDetail>& runs) {
    std::set<std::string> keys;
    for (const RunDetail& run : runs) {
        for (const auto& [key, value] : run.params) {
            keys.insert(key);
        }
    }
    std::vector<Difference> all;
    for (const std::string& key : keys) {
        Difference difference{key, {}};
        for (const RunDetail& run : runs) {
            const auto found = run.params.find(key);
            difference.values.push_back(found == run.params.end() ? "-" : found->second);
        }
        const bool isSame = std::all_of(difference.values.begin(), difference.values.end(),
                                        [&](const auto& v) { return v == difference.values[0]; });
        if (!isSame && key != "variation" && key != "name") {
            all.push_back(std::move(difference));
        }
    }
    return all;
}

std::vector<std::string> metricNames(const std::vector<RunDetail>& runs, const ParsedArgs& args) {
    if (args.has("--metric")) {
        return args.list("--metric");
    }
    std::set<std::string> names;
    for (const RunDetail& run : runs) {
        for (const client::MetricPoint& point : run.summary.latestMetrics) {
            const bool isEval = point.name.rfind("eval.", 0) == 0 &&
                                !tui::isInternalMetric(point.name, point.value);
            if (isEval || point.name == "loss" || point.name == "samples_per_second" ||
                point.name == "input_stall_percent") {
                names.insert(point.name);
            }
        }
    }
    return {names.begin(), names.end()};
}

Result<std::vector<RunDetail>> chosenRuns(client::DaemonClient& daemon, const ParsedArgs& args) {
    std::vector<std::string> words = args.words;
    if (args.has("--filter")) {
        client::ListRequest request;
        request.filter = args.text("--filter");
        request.pageSize = kCompareMax;
        Result<client::RunPage> page = daemon.list(request);
        RETURN_IF_ERROR(page.status());
        std::reverse(page->runs.begin(), page->runs.end());  // it came newest first
        std::stable_sort(
            page->runs.begin(), page->runs.end(),
            [](const RunSummary& a, const RunSummary& b) { return a.createdMs < b.createdMs; });
        for (const RunSummary& run : page->runs) {
            words.push_back(run.id);
        }
    }
    std::vector<RunDetail> runs;
    for (const std::string& word : words) {
        ASSIGN_OR_RETURN(RunDetail detail, session::findRun(daemon, word));
        const bool isThere = std::any_of(runs.begin(), runs.end(), [&](const RunDetail& r) {
            return r.summary.id == detail.summary.id;
        });
        if (!isThere) {
            runs.push_back(std::move(detail));
        }
    }
    return runs;
}

// Side by side: one column a run.
void printColumns(CliContext& context, const std::vector<RunDetail>& runs,
                  const std::vector<Difference>& differences,
                  const std::vector<std::string>& metrics) {
    std::vector<Column> columns = {{"", Align::kLeft, 14}};
    for (const RunDetail& run : runs) {
        columns.push_back({run.summary.id, Align::kRight, 8});
    }
    Table table(std::move(columns));
    const auto row = [&](const std::string& label, auto textOf, Tone tone = Tone::kPlain) {
        std::vector<TableCell> cells = {{label, Tone::kDim}};
        for (std::size_t i = 0; i < runs.size(); ++i) {
            cells.push_back({textOf(i), tone});
        }
        table.add(std::move(cells));
    };
    row(
        "variation",
        [&](std::size_t i) {
            const RunSummary& run = runs[i].summary;
            return run.variation.empty() ? std::string("base") : run.variation;
        },
        Tone::kStrong);
    row("state", [&](std::size_t i) { return std::string(nameOf(runs[i].summary.state)); });
    for (const Difference& difference : differences) {
        row(
            difference.key,
            [&](std::size_t i) {
                return tui::elideEnd(shown(context.terminal, difference.values[i]), 24,
                                     context.terminal.isUtf8);
            },
            Tone::kInfo);
    }
    for (const std::string& name : metrics) {
        row(name, [&](std::size_t i) { return tui::numberText(runs[i].summary.metric(name)); });
    }
    const auto count = [](std::int64_t n) { return n > 0 ? formatCount(n) : std::string("-"); };
    row("rows read", [&](std::size_t i) { return count(runs[i].summary.rowsRead); });
    row("rows kept", [&](std::size_t i) { return count(runs[i].summary.rowsKept); });
    row("rows trained", [&](std::size_t i) { return count(runs[i].summary.rowsTrained); });
    context.out << table.render(context.terminal);
}

// "batch.epochs=1, model.type=mlp, without model.bottom": keys that are gone come last.
std::string changeText(const std::vector<Difference>& differences, std::size_t run,
                       std::size_t base) {
    std::string text, gone;
    for (const Difference& difference : differences) {
        if (difference.values[run] == difference.values[base]) {
            continue;
        }
        if (difference.values[run] == "-") {
            strAppend(&gone, gone.empty() ? "without " : ", ", difference.key);
        } else {
            strAppend(&text, text.empty() ? "" : ", ", difference.key, "=", difference.values[run]);
        }
    }
    return text + (text.empty() || gone.empty() ? "" : ", ") + gone;
}

// Many runs: results as rows, then what each changes against the first.
void printRows(CliContext& context, const std::vector<RunDetail>& runs,
               const std::vector<Difference>& differences, const std::vector<std::string>& metrics,
               bool hasChosenMetrics) {
    std::vector<RunSummary> summaries;
    for (const RunDetail& run : runs) {
        summaries.push_back(run.summary);
    }
    context.out << resultTable(summaries, context.terminal,
                               hasChosenMetrics ? metrics : std::vector<std::string>{});
    Table table({{"RUN", Align::kLeft, 7, 1},
                 {"VARIATION", Align::kLeft, 10},
                 {strCat("CHANGES AGAINST ", runs.front().summary.id), Align::kLeft, 20, 0, true}});
    for (std::size_t i = 1; i < runs.size(); ++i) {
        const std::string change = changeText(differences, i, 0);
        table.add({{runs[i].summary.id, Tone::kAccent},
                   runs[i].summary.variation.empty() ? "base" : runs[i].summary.variation,
                   {change.empty() ? "nothing" : change, Tone::kInfo}});
    }
    context.out << '\n' << table.render(context.terminal);
}

void printJson(CliContext& context, const std::vector<RunDetail>& runs,
               const std::vector<Difference>& differences, const std::vector<std::string>& metrics,
               SameRows same) {
    Json list = Json::array(), changed = Json::object(), values = Json::object();
    for (const RunDetail& run : runs) {
        list.push_back(jsonOf(run.summary));
    }
    for (const Difference& difference : differences) {
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const auto& params = runs[i].params;
            const auto found = params.find(difference.key);
            changed[difference.key][runs[i].summary.id] =
                found == params.end() ? Json() : Json(found->second);
        }
    }
    for (const std::string& name : metrics) {
        for (const RunDetail& run : runs) {
            const auto value = run.summary.metric(name);
            values[name][run.summary.id] = value ? jsonNumber(*value) : Json();
        }
    }
    printDocument(context, {{"runs", list},
                            {"differences", changed},
                            {"metrics", values},
                            {"same_evaluation_rows",
                             same == SameRows::kUnknown ? Json() : Json(same == SameRows::kSame)}});
}

}  // namespace

int runCompare(CliContext& context, const ParsedArgs& args) {
    if (args.words.size() < 2 && !args.has("--filter")) {
        return failUsage(context, "compare needs two runs or more, or --filter EXPR");
    }
    const auto daemon = openDaemon(context);
    if (!daemon.ok()) {
        return fail(context, daemon.status());
    }
    Result<std::vector<RunDetail>> runs = chosenRuns(**daemon, args);
    if (!runs.ok()) {
        return fail(context, runs.status());
    }
    if (runs->empty()) {
        return fail(context, notFound("no run matches the filter"));
    }
    if (runs->size() == 1 && !args.has("--filter")) {
        return failUsage(context,
                         strCat("compare needs two different runs; '", args.words[0], "' and '",
                                args.words[1], "' are both ", runs->front().summary.id));
    }
    std::vector<RunSummary> summaries;
    for (RunDetail& run : *runs) {
        if (!args.isJson()) {
            takeMeanRate(**daemon, run.summary);
        }
        summaries.push_back(run.summary);
    }
    const std::vector<Difference> differences = differencesOf(*runs);
    const std::vector<std::string> metrics = metricNames(*runs, args);
    const SameRows same = evaluatedOnSameRows(summaries);
    if (args.isJson()) {
        printJson(context, *runs, differences, metrics, same);
        return kExitOk;
    }
    if (runs->size() > kColumnsMax) {
        printRows(context, *runs, differences, metrics, args.has("--metric"));
        return kExitOk;
    }
    printColumns(context, *runs, differences, metrics);
    context.out << sameRowsSentence(summaries, context.terminal);
    return kExitOk;
}

}  // namespace millrace::cli

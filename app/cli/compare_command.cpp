#include <algorithm>
#include <map>
#include <set>

#include "app/cli/commands.h"
#include "app/cli/comparison.h"
#include "app/cli/frame/csv.h"
#include "app/cli/frame/json_shapes.h"
#include "app/cli/frame/table.h"
#include "app/cli/results.h"
#include "app/session/comparability.h"
#include "app/session/live_model.h"
#include "app/session/metric_catalogue.h"
#include "app/session/pairs.h"
#include "app/session/run_names.h"
#include "app/session/words.h"
#include "app/tui/charts.h"
#include "app/tui/figures.h"
#include "app/tui/glyphs.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using tui::Tone;
using values::RunDetail;
using values::RunSummary;

namespace word = session::word;

constexpr int kCompareMax = 100;
/// Up to this many runs are columns, side by side; more runs are rows.
constexpr std::size_t kColumnsMax = 4;
/// Width in terminal columns of a spec's value beside others.
constexpr int kValueWidth = 24;
constexpr std::string_view kOtherLabel = "other label";
constexpr std::string_view kRate = values::metric::kSamplesPerSecond;
constexpr std::string_view kStall = values::metric::kInputStallPercent;

/// The runs and everything that is compared.
struct Comparison {
    std::vector<RunDetail> runs;
    std::vector<RunSummary> summaries;
    std::vector<Difference> differences;  ///< of the specs
    std::vector<Difference> files;        ///< that differ
    std::vector<std::string> metrics;
    Figures figures;
    bool isOneStream = true;
    values::PairReply pairs;
    std::string unpaired;  ///< why some runs are not paired; ""

    std::vector<const RunDetail*> details() const {
        std::vector<const RunDetail*> all;
        for (const RunDetail& run : runs) {
            all.push_back(&run);
        }
        return all;
    }
    const session::BestAndLast* figuresOf(std::size_t run, const std::string& metric) const {
        return find(figures, summaries[run].id, metric);
    }
    /// Returns the ids of the runs for which `isSo` holds against the first run.
    std::set<std::string> idsWhere(bool (*isSo)(const session::Params&,
                                                const session::Params&)) const {
        std::set<std::string> ids;
        for (std::size_t i = 1; i < runs.size(); ++i) {
            if (isSo(runs[i].params, runs.front().params)) {
                ids.insert(runs[i].summary.id);
            }
        }
        return ids;
    }
    /// Runs that differ from the first in their seed alone: they read the same files.
    std::set<std::string> otherSeeds() const {
        std::set<std::string> ids = idsWhere(&session::differsInSeedOnly);
        std::erase_if(ids, [this](const std::string& id) {
            const values::RunPair* pair = session::findPair(pairs, id);
            return pair != nullptr && !pair->files.empty();
        });
        return ids;
    }
};

std::vector<std::string> metricNames(const std::vector<RunDetail>& runs, const ParsedArgs& args) {
    if (args.has("--metric")) {
        return args.list("--metric");
    }
    std::set<std::string> names;
    for (const RunDetail& run : runs) {
        for (const values::RunFigure& point : run.summary.latestMetrics) {
            const bool isEval = values::isEvalMetric(point.name) &&
                                !session::isInternalMetric(point.name, point.value);
            if (isEval || point.name == values::metric::kLoss || point.name == kRate) {
                names.insert(point.name);
            }
        }
        if (run.summary.stallPercent() && !run.summary.dataset.empty()) {
            names.insert(std::string(kStall));
        }
    }
    return {names.begin(), names.end()};
}

Result<std::vector<RunDetail>> chosenRuns(client::DaemonClient& daemon, const ParsedArgs& args) {
    std::vector<std::string> words = args.words;
    if (args.has("--filter")) {
        values::ListRequest request;
        request.filter = args.text("--filter");
        request.pageSize = kCompareMax;
        Result<values::RunPage> page = daemon.list(request);
        RETURN_IF_ERROR(page.status());
        std::ranges::sort(page->runs, values::isSubmittedBefore);
        for (const RunSummary& run : page->runs) {
            words.push_back(run.id);
        }
    }
    std::vector<RunDetail> runs;
    for (const std::string& word : words) {
        ASSIGN_OR_RETURN(RunDetail detail, session::findRun(daemon, word));
        const bool isThere = std::ranges::any_of(
            runs, [&](const RunDetail& r) { return r.summary.id == detail.summary.id; });
        if (!isThere) {
            runs.push_back(std::move(detail));
        }
    }
    return runs;
}

// Adds the last value and, if an earlier one was better, the best: each with its step.
void addMetric(const Comparison& all, const std::string& name, auto addRow) {
    bool hasBest = false, hasSteps = false;
    for (std::size_t i = 0; i < all.summaries.size(); ++i) {
        const session::BestAndLast* figures = all.figuresOf(i, name);
        hasSteps = hasSteps || figures != nullptr;
        hasBest =
            hasBest || (figures != nullptr && figures->best && figures->best != figures->last);
    }
    const auto lastOf = [&](std::size_t i) {
        const session::BestAndLast* figures = all.figuresOf(i, name);
        const std::string value =
            figures != nullptr ? textOf(figures->last)
            : name == kRate    ? session::numberText(all.summaries[i].meanRate)
                               : session::numberText(session::shownValue(all.summaries[i], name));
        return value + (session::isOfFewRows(all.summaries[i], name) ? session::kFewMark : "");
    };
    addRow(hasSteps && hasBest ? name + " (last)"
           : name == kRate     ? strCat(word::kRate.label, " (mean)")
           : name == kStall    ? strCat(word::kStall.label, ", % of the run")
                               : name,
           lastOf);
    if (hasBest) {
        addRow(name + " (best)", [&](std::size_t i) {
            const session::BestAndLast* figures = all.figuresOf(i, name);
            return textOf(figures != nullptr ? figures->best : std::nullopt);
        });
    }
}

// Prints values that the table truncates: lists, and long texts.
void printInFull(CliContext& context, const Comparison& all) {
    const auto isWhole = [&](const Difference& difference) {
        for (std::size_t i = 0; i < difference.values.size(); ++i) {
            const std::string& value = difference.values[i];
            if (session::besideBase(difference, i, 0) != value ||
                displayWidth(value) > kValueWidth) {
                return false;
            }
        }
        return true;
    };
    for (const Difference& difference : all.differences) {
        if (isWhole(difference)) {
            continue;
        }
        context.out << '\n' << paint(context.terminal, Tone::kDim, difference.key) << '\n';
        for (std::size_t i = 0; i < difference.values.size(); ++i) {
            context.out << "  " << paint(context.terminal, Tone::kAccent, all.summaries[i].id)
                        << "  " << shown(context.terminal, difference.values[i]) << '\n';
        }
    }
}

// Prints the runs side by side: one column per run.
void printColumns(CliContext& context, const Comparison& all) {
    const std::vector<RunSummary>& runs = all.summaries;
    std::vector<Column> columns = {{"", Align::kLeft, 14}};
    for (const RunSummary& run : runs) {
        columns.push_back({run.id, Align::kRight, 8});
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
        word::kVariation.label,
        [&](std::size_t i) {
            return runs[i].variation.empty() ? std::string("base") : runs[i].variation;
        },
        Tone::kStrong);
    row(word::kState.label, [&](std::size_t i) { return std::string(runs[i].stateWord()); });
    const std::set<std::string> otherLabels = all.idsWhere(&session::hasOtherLabels);
    if (!otherLabels.empty()) {
        row(
            "label",
            [&](std::size_t i) {
                return std::string(otherLabels.contains(runs[i].id) ? kOtherLabel : "-");
            },
            Tone::kWarn);
    }
    for (const Difference& difference : all.differences) {
        row(
            difference.key,
            [&](std::size_t i) {
                return tui::elideEnd(shown(context.terminal, session::besideBase(difference, i, 0)),
                                     kValueWidth, context.terminal.isUtf8);
            },
            Tone::kInfo);
    }
    for (const Difference& file : all.files) {
        row(file.key, [&](std::size_t i) { return file.values[i]; }, Tone::kWarn);
    }
    for (const std::string& name : all.metrics) {
        addMetric(all, name, [&](const std::string& label, auto textOf) { row(label, textOf); });
    }
    const auto count = [&](const char* label, std::int64_t RunSummary::* rows) {
        if (std::ranges::any_of(runs, [&](const RunSummary& run) { return run.*rows > 0; })) {
            row(label, [&](std::size_t i) {
                return runs[i].*rows > 0 ? formatCount(runs[i].*rows) : std::string("-");
            });
        }
    };
    count(word::kRowsRead.label, &RunSummary::rowsRead);
    count(word::kRowsKept.label, &RunSummary::rowsKept);
    count(word::kRowsTrained.label, &RunSummary::rowsTrained);
    context.out << table.render(context.terminal);
    printInFull(context, all);
}

// Explains why losses are omitted: runs that trained on other rows cannot be compared by loss.
void saySeparateStreams(CliContext& context, const Comparison& all) {
    if (!all.isOneStream) {
        const bool isOneHash = std::ranges::all_of(all.summaries, [&](const RunSummary& run) {
            return run.streamHash == all.summaries.front().streamHash;
        });
        context.out << paint(context.terminal, Tone::kWarn, "Losses are not compared:")
                    << " the runs did not train on the same rows and features in the same order ("
                    << (!isOneHash          ? "other stream hashes"
                        : all.files.empty() ? "other plans, whose files could not be compared"
                                            : "other files")
                    << ").\n";
    }
}

// "batch.epochs=1, features.ids +tailnum, without model.bottom": removed keys come last.
std::string changeText(const std::vector<Difference>& differences, std::size_t run,
                       std::size_t base) {
    std::string text, gone;
    for (const Difference& difference : differences) {
        if (difference.values[run] == difference.values[base]) {
            continue;
        }
        const auto change = session::listChange(difference.values[base], difference.values[run]);
        if (difference.values[run] == "-") {
            strAppend(&gone, gone.empty() ? "without " : ", ", difference.key);
        } else {
            strAppend(&text, text.empty() ? "" : ", ", difference.key, change ? " " : "=",
                      change ? *change : difference.values[run]);
        }
    }
    return text + (text.empty() || gone.empty() ? "" : ", ") + gone;
}

// For many runs: results as rows, then the changes of each against the first.
void printRows(CliContext& context, const Comparison& all, bool hasChosenMetrics) {
    const std::vector<RunSummary>& runs = all.summaries;
    context.out << resultTable(runs, context.terminal,
                               hasChosenMetrics ? all.metrics : std::vector<std::string>{},
                               &all.pairs);
    Table table({{word::kRun.heading, Align::kLeft, 7, 1},
                 {word::kVariation.heading, Align::kLeft, 10},
                 {strCat("CHANGES AGAINST ", runs.front().id), Align::kLeft, 20, 0, true}});
    const std::set<std::string> otherLabels = all.idsWhere(&session::hasOtherLabels);
    for (std::size_t i = 1; i < runs.size(); ++i) {
        std::string change = changeText(all.differences, i, 0);
        const std::string files = changeText(all.files, i, 0);
        strAppend(&change, change.empty() || files.empty() ? "" : ", ", files);
        const std::string mark = otherLabels.contains(runs[i].id) ? strCat(kOtherLabel, ": ") : "";
        table.add({{runs[i].id, Tone::kAccent},
                   runs[i].variation.empty() ? "base" : runs[i].variation,
                   {change.empty() ? "nothing" : mark + change, Tone::kInfo}});
    }
    context.out << '\n' << table.render(context.terminal);
    printInFull(context, all);
}

Json valueJson(const std::optional<session::StepValue>& value) {
    return value ? Json{{"value", jsonNumber(value->value)}, {"step", value->step}} : Json();
}

// A comparison on the same rows is sharper than one of two means.
void readPairs(client::DaemonClient& daemon, Comparison& all) {
    values::PairRequest request;
    for (const RunSummary& run : all.summaries) {
        request.runs.push_back(run.id);
    }
    if (request.runs.size() < 2) {
        return;
    }
    Result<values::PairReply> reply = daemon.pair(request);
    all.unpaired = reply.ok() ? session::whyUnpaired(*reply) : session::whyUnpaired(reply.status());
    all.pairs = reply.ok() ? *std::move(reply) : values::PairReply();
}

Comparison comparisonOf(const ParsedArgs& args, client::DaemonClient& daemon,
                        std::vector<RunDetail> runs) {
    Comparison all;
    for (const RunDetail& run : runs) {
        all.summaries.push_back(run.summary);
    }
    all.runs = std::move(runs);
    all.differences = session::differencesOf(all.details());
    all.metrics = metricNames(all.runs, args);
    all.figures = readFigures(daemon, all.summaries, all.metrics);
    readPairs(daemon, all);
    all.isOneStream = areOfOneStream(all.summaries, all.pairs);
    all.files = fileDifferencesOf(all.summaries, all.pairs);
    return all;
}

void printPairs(CliContext& context, const Comparison& all) {
    const std::set<std::string> otherLabels = all.idsWhere(&session::hasOtherLabels);
    for (const values::RunPair& pair : all.pairs.pairs) {
        for (const values::PairedHead& head : pair.heads) {
            if (head.rows > 0) {
                context.out << session::pairSentence(pair, head, all.summaries.front().id,
                                                     otherLabels.contains(pair.run))
                            << '\n';
            }
        }
    }
    if (!all.unpaired.empty()) {
        context.out << paint(context.terminal, Tone::kDim, all.unpaired) << '\n';
    }
    for (const std::string& remark : session::remarksOn(all.details(), all.pairs)) {
        context.out << paint(context.terminal, Tone::kDim, remark) << '\n';
    }
}

Json pairsJson(const Comparison& all) {
    Json runs = Json::object();
    for (const values::RunPair& pair : all.pairs.pairs) {
        if (!pair.hasScores) {
            runs[pair.run] = pair.problem.empty() ? Json() : Json({{"problem", pair.problem}});
            continue;
        }
        Json heads = Json::object();
        for (const values::PairedHead& head : pair.heads) {
            heads[head.name] = {{"rows", head.rows},
                                {"rows_of_other_labels", head.rowsOfOtherLabels},
                                {"share", session::shareOf(pair, head)},
                                {"log_loss", jsonNumber(head.logLoss)},
                                {"log_loss_of_first", jsonNumber(head.logLossOfFirst)},
                                {"log_loss_difference", jsonNumber(head.logLossDifference)}};
        }
        runs[pair.run] = {{"rows", pair.rows},
                          {"share", pair.share},
                          {"is_sample", pair.isSample},
                          {"heads", heads}};
    }
    return runs;
}

Json seedNoiseJson(const Comparison& all) {
    Json heads;  // null unless there is one
    for (const session::SeedNoise& noise : session::seedNoiseOf(all.details(), all.pairs)) {
        Json sides = Json::array();
        for (const session::SeedSide& side : noise.sides) {
            sides.push_back({{"runs", side.runs},
                             {"log_loss_difference", jsonNumber(side.difference)},
                             {"standard_error", jsonNumber(side.standardError)}});
        }
        heads[noise.head] = {{"standard_deviation", jsonNumber(noise.deviation)}, {"sides", sides}};
    }
    return heads;
}

Json sameRowsJson(SameRows same) {
    const bool isUnknown = same == SameRows::kUnknown || same == SameRows::kNotComparable ||
                           same == SameRows::kUnknownFiles;
    return isUnknown ? Json() : Json(same == SameRows::kSame);
}

Json documentOf(const Comparison& all, SameRows same) {
    Json list = Json::array(), changed = Json::object(), values = Json::object();
    Json best = Json::object(), last = Json::object(), endsInside = Json::object();
    for (const RunDetail& run : all.runs) {
        list.push_back(jsonOf(run.summary));
        list.back()["metrics"].erase(kStall);  // covers only some seconds; the whole run's is below
        endsInside[run.summary.id] = run.receipt ? Json(run.receipt->endsInsideSegment) : Json();
    }
    for (const Difference& difference : all.differences) {
        for (const RunDetail& run : all.runs) {
            const auto found = run.params.find(difference.key);
            changed[difference.key][run.summary.id] =
                found == run.params.end() ? Json() : Json(found->second);
        }
    }
    for (const Difference& file : all.files) {
        for (std::size_t i = 0; i < all.runs.size(); ++i) {
            const std::string& text = file.values[i];
            changed[file.key][all.summaries[i].id] = text == "-" ? Json() : Json(text);
        }
    }
    for (const std::string& name : all.metrics) {
        for (std::size_t i = 0; i < all.summaries.size(); ++i) {
            const std::string& id = all.summaries[i].id;
            const auto value =
                name == kStall ? all.summaries[i].stallPercent() : all.summaries[i].metric(name);
            values[name][id] = value ? jsonNumber(*value) : Json();
            if (const session::BestAndLast* figures = all.figuresOf(i, name)) {
                best[name][id] = valueJson(figures->best);
                last[name][id] = valueJson(figures->last);
            }
        }
    }
    return {{"runs", list},
            {"differences", changed},
            {"metrics", values},
            {"best", best},
            {"last", last},
            {"same_stream", all.isOneStream},
            {"ends_inside_segment", endsInside},
            {"seed_noise", seedNoiseJson(all)},
            {"differs_in_seed_only", all.otherSeeds()},
            {"other_label", all.idsWhere(&session::hasOtherLabels)},
            {"paired", {{"with", all.summaries.front().id}, {"runs", pairsJson(all)}}},
            {"same_evaluation_rows", sameRowsJson(same)}};
}

// One row per run: what the document has by run id, under the same names.
void printComparisonCsv(CliContext& context, const Comparison& all, const Json& document) {
    std::vector<Json> rows;
    for (const RunSummary& run : all.summaries) {
        Json& row =
            rows.emplace_back(Json{{"id", run.id},
                                   {"name", run.name},
                                   {"variation", run.variation},
                                   {"state", nameOf(run.state)},
                                   {"same_stream", document["same_stream"]},
                                   {"same_evaluation_rows", document["same_evaluation_rows"]}});
        for (const char* part : {"differences", "metrics", "best", "last"}) {
            for (const auto& [name, byRun] : document[part].items()) {
                row[part][name] = byRun.value(run.id, Json());
            }
        }
        row["paired"] = document["paired"]["runs"].value(run.id, Json::object());
    }
    printCsv(context, {"id", "name", "variation", "state", "same_stream", "same_evaluation_rows"},
             rows);
}

}  // namespace

Result<int> runCompare(CliContext& context, const ParsedArgs& args) {
    if (args.words.size() < 2 && !args.has("--filter")) {
        return failUsage(context, "compare needs two runs or more, or --filter EXPR");
    }
    ASSIGN_OR_RETURN(const auto daemon, openDaemon(context));
    ASSIGN_OR_RETURN(std::vector<RunDetail> runs, chosenRuns(*daemon, args));
    noteUnknownName(context, *daemon, args.text("--filter"));
    if (runs.empty()) {
        return notFound("no run matches the filter");
    }
    if (runs.size() == 1 && !args.has("--filter")) {
        return failUsage(context,
                         strCat("compare needs two different runs; '", args.words[0], "' and '",
                                args.words[1], "' are both ", runs.front().summary.id));
    }
    Comparison all = comparisonOf(args, *daemon, std::move(runs));
    if (args.isJson() || args.isCsv()) {
        Json document = documentOf(all, evaluatedOnSameRows(all.summaries, &all.pairs));
        args.isCsv() ? printComparisonCsv(context, all, document)
                     : printDocument(context, std::move(document));
        return kExitOk;
    }
    all.differences =
        session::withStepsAsLines(session::withoutFollowing(std::move(all.differences)));
    if (!args.has("--metric")) {
        all.metrics = session::eachOnce(std::move(all.metrics));
    }
    if (!all.isOneStream && !args.has("--metric")) {
        std::erase_if(all.metrics, [](const auto& name) { return session::isTrainMetric(name); });
    }
    if (all.runs.size() > kColumnsMax) {
        printRows(context, all, args.has("--metric"));
    } else {
        printColumns(context, all);
        context.out << fewRowsText(all.summaries, context.terminal)
                    << sameRowsSentence(all.summaries, context.terminal, &all.pairs);
    }
    context.out << countedRowsText(all.runs, context.terminal)
                << unknownIdsText(all.runs, context.terminal);
    printPairs(context, all);
    saySeparateStreams(context, all);
    return kExitOk;
}

}  // namespace millrace::cli

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>

#include "app/cli/commands.h"
#include "app/cli/comparison.h"
#include "app/cli/frame/csv.h"
#include "app/cli/frame/json_shapes.h"
#include "app/cli/frame/table.h"
#include "app/cli/results.h"
#include "app/session/live_model.h"
#include "app/session/metric_catalogue.h"
#include "app/session/rate_age.h"
#include "app/session/run_names.h"
#include "app/session/words.h"
#include "app/tui/charts.h"
#include "app/tui/figures.h"
#include "app/tui/glyphs.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using tui::Tone;
using values::RunSummary;

constexpr int kDefaultLimit = 50, kPageMax = 1000, kDefaultPoints = 2000, kFewestPoints = 4;

struct ListColumn {
    Column column;
    std::function<TableCell(const RunSummary&, const CliContext&)> cell;
    std::vector<std::string> names = {};  ///< in --csv; none: as the column
};

// "0.7934 @390": the value and its step.
std::string pointText(const values::RunFigure* point) {
    return point == nullptr ? "-" : textOf(session::StepValue{point->value, point->step});
}

ListColumn metricColumn(const std::string& title, const std::string& metric, int drop) {
    return {{title, Align::kRight, 6, drop},
            [metric](const RunSummary& run, const CliContext&) {
                const bool hasStep = values::isEvalMetric(metric);
                return TableCell(hasStep ? pointText(run.newest(metric))
                                         : session::numberText(session::shownValue(run, metric)));
            },
            {strCat("metrics.", metric)}};
}

ListColumn bestColumn(const std::string& title, const std::string& metric, int drop) {
    return {{title, Align::kRight, 6, drop},
            [metric](const RunSummary& run, const CliContext&) {
                return TableCell(pointText(run.best(metric)));
            },
            {strCat("best.", metric, ".value"), strCat("best.", metric, ".step")}};
}

ListColumn textColumn(const session::Word& word, int least, int drop,
                      std::string RunSummary::* text, Tone tone = Tone::kPlain) {
    return {{word.heading, Align::kLeft, least, drop},
            [text, tone](const RunSummary& run, const CliContext&) {
                return TableCell(run.*text, tone);
            }};
}

// The mean for a run that has ended; for an active one the newest, with its age if it is old.
std::string rateText(const RunSummary& run, std::int64_t nowMs) {
    const std::string rate = session::numberText(run.rate());
    return rate == "-" ? rate : session::withAge(rate, session::oldRateSeconds(run, nowMs));
}

// From the start to the end, or until now; none before the start.
std::optional<double> secondsOf(const RunSummary& run, std::int64_t nowMs) {
    const std::int64_t endMs = run.endedMs > 0 ? run.endedMs : nowMs;
    return run.startedMs == 0 ? std::nullopt
                              : std::optional(static_cast<double>(endMs - run.startedMs) / 1e3);
}

using Cell = TableCell;
const std::map<std::string, ListColumn>& knownColumns() {
    using Run = const RunSummary&;
    using Context = const CliContext&;
    namespace metric = values::metric;
    namespace word = session::word;
    static const std::map<std::string, ListColumn> kColumns = {
        {"id",
         {{word::kRun.heading, Align::kLeft, 7},
          [](Run r, Context) { return Cell(r.id, Tone::kAccent); }}},
        {"name",
         {{word::kName.heading, Align::kLeft, 32},
          [](Run r, Context) { return Cell(session::labelOf(r), Tone::kStrong); },
          {"name", "variation"}}},
        {"state",
         {{word::kState.heading, Align::kLeft, 9},
          [](Run r, Context) { return Cell(std::string(r.stateWord()), tui::toneOf(r)); }}},
        {"steps",
         {{word::kStep.heading, Align::kRight, 5, 5},
          [](Run r, Context) { return Cell(tui::stepText(r.progress)); },
          {"progress.step", "progress.steps_total"}}},
        {"loss", metricColumn(session::metricColumn(metric::kLoss), metric::kLoss, 4)},
        {"auc", metricColumn(session::metricColumn(metric::kEvalAuc), metric::kEvalAuc, 2)},
        {"best_auc",
         bestColumn("BEST " + session::metricColumn(metric::kEvalAuc), metric::kEvalAuc, 6)},
        {"ne", metricColumn(session::metricColumn(metric::kEvalNormalizedEntropy),
                            metric::kEvalNormalizedEntropy, 6)},
        {"rate",
         {{word::kRate.heading, Align::kRight, 6, 7},
          [](Run r, Context c) { return Cell(rateText(r, c.clock.wallMs())); },
          {"mean_samples_per_second", strCat("metrics.", metric::kSamplesPerSecond)}}},
        {"rows",
         {{word::kRowsTrained.heading, Align::kRight, 6, 8},
          [](Run r, Context) {
              return Cell(
                  r.dataset.empty() ? "-" : formatCount(std::max(r.rowsTrained, r.progress.rows)));
          },
          {"rows_trained", "progress.rows"}}},
        {"owner", textColumn(word::kOwner, 5, 9, &RunSummary::owner, Tone::kDim)},
        {"project", textColumn(word::kProject, 6, 9, &RunSummary::project, Tone::kDim)},
        {"model", textColumn(word::kModel, 4, 9, &RunSummary::model)},
        {"dataset", textColumn(word::kDataset, 8, 9, &RunSummary::dataset)},
        {"host", textColumn(word::kNode, 5, 9, &RunSummary::host)},
        {"uid", textColumn(word::kUid, 32, 0, &RunSummary::uid)},
        {"created",
         {{word::kCreated.heading, Align::kRight, 8, 1},
          [](Run r, Context c) {
              return Cell(session::ageText(r.createdMs, c.clock.wallMs()), Tone::kDim);
          }}},
        {"duration",
         {{word::kDuration.heading, Align::kRight, 5, 7},
          [](Run r, Context c) {
              const auto seconds = secondsOf(r, c.clock.wallMs());
              return Cell(seconds ? formatDuration(*seconds) : "-");
          }}},
        {"reason",
         {{word::kReason.heading, Align::kLeft, 12, 3, true},
          [](Run r, Context) {
              const bool isTrouble = !r.trouble.empty() && !values::isEnded(r.state);
              return Cell(r.reason(), isTrouble ? tui::toneOf(r) : Tone::kDim);
          },
          {"exit_reason", "trouble", "queued_reason"}}},
    };
    return kColumns;
}

// The names of a run in --json; lists and the file on its way have no column.
Json csvRow(const RunSummary& run) {
    Json row = jsonOf(run);
    row.erase("ranks");
    row.erase("hand_over");
    return row;
}

// The field of --json for a word of filters and of docs/reference/words.md that is not one.
std::string fieldOf(const std::string& name) {
    static const std::map<std::string, std::string> kFields = {
        {"step", "progress.step"},
        {"epoch", "progress.epoch"},
        {"seconds_left", "progress.seconds_left"},
        {"input_stall_percent", "progress.stall_percent"},
        {"samples_per_second", "mean_samples_per_second"},
    };
    const auto found = kFields.find(name);
    return found == kFields.end() ? name : found->second;
}

// A field of --json has the heading of its word, else its name in capital letters.
std::string headingOf(const std::string& name) {
    for (const session::Word* const word : session::words()) {
        if (name == word->key) {
            return word->heading;
        }
    }
    return absl::AsciiStrToUpper(name);
}

Result<ListColumn> columnOf(const std::string& word) {
    const auto known = knownColumns().find(word);
    if (known != knownColumns().end()) {
        return known->second;
    }
    const std::string name = fieldOf(word);
    const std::size_t dot = name.find('.');
    const std::string kind = name.substr(0, dot),
                      key = dot == std::string::npos ? "" : name.substr(dot + 1);
    if (!key.empty() && (kind == "metrics" || kind == "metric")) {
        return metricColumn(key, key, 0);
    }
    if (!key.empty() && (kind == "params" || kind == "tags")) {
        const bool isParam = kind == "params";
        return ListColumn{{key, Align::kLeft, 5},
                          [isParam, key](const RunSummary& run, const CliContext&) {
                              const auto& all = isParam ? run.params : run.tags;
                              auto found = all.find(key);
                              if (isParam && found == all.end()) {
                                  found = all.find("params." + key);  // the run's own
                              }
                              return TableCell(found == all.end() ? "-" : found->second);
                          },
                          {strCat(kind, ".", key)}};
    }
    std::vector<std::string> names;
    RunSummary any;
    if (kind == "best" && (name.ends_with(".value") || name.ends_with(".step"))) {
        any.bestMetrics.push_back({.name = key.substr(0, key.rfind('.'))});
    }
    for (const auto& [field, text] : csvFieldsOf(csvRow(any))) {
        if (field == name) {
            return ListColumn{{headingOf(word), Align::kLeft, 5, 9},
                              [name](const RunSummary& run, const CliContext&) {
                                  const auto fields = csvFieldsOf(csvRow(run));
                                  const auto found = fields.find(name);
                                  return TableCell(found == fields.end() ? "-" : found->second);
                              },
                              {name}};
        }
        names.push_back(field);
    }
    for (const auto& [own, column] : knownColumns()) {
        names.push_back(own);
    }
    const std::string near = nearestName(name, names);
    return invalidArgument(
        "--columns: no column '", name, "'",
        near.empty() ? "; known are id, name, state, steps, loss, auc, best_auc, ne, rate, rows, "
                       "owner, project, model, dataset, host, uid, created, duration, reason, "
                       "metrics.KEY, "
                       "params.KEY, tags.KEY and the names of `millrace ls --json`"
                     : strCat("; did you mean '", near, "'?"));
}

Result<std::vector<ListColumn>> columnsOf(const ParsedArgs& args) {
    const std::vector<std::string> names = absl::StrSplit(
        args.text("--columns", "id,name,state,steps,loss,auc,best_auc,ne,rate,created,reason"), ',',
        absl::SkipEmpty());
    std::vector<ListColumn> columns;
    for (const std::string& name : names) {
        ASSIGN_OR_RETURN(ListColumn column, columnOf(name));
        const bool isField = std::ranges::find(column.names, name) != column.names.end();
        column.names = isField || column.names.empty() ? std::vector{name} : column.names;
        columns.push_back(std::move(column));
    }
    return columns;
}

// Reads pages until it has `limit` runs.
Result<values::RunPage> listRuns(client::DaemonClient& daemon, values::ListRequest request,
                                 int limit) {
    values::RunPage all;
    while (static_cast<int>(all.runs.size()) < limit) {
        request.pageSize = std::min(kPageMax, limit - static_cast<int>(all.runs.size()));
        ASSIGN_OR_RETURN(values::RunPage page, daemon.list(request));
        all.runs.insert(all.runs.end(), std::make_move_iterator(page.runs.begin()),
                        std::make_move_iterator(page.runs.end()));
        all.total = page.total;
        all.nextPageToken = page.nextPageToken;
        if (page.nextPageToken.empty() || page.runs.empty()) {
            break;
        }
        request.pageToken = page.nextPageToken;
    }
    return all;
}

// Keeps the runs of one submit together, at the position of the newest, the base first.
void groupSubmits(std::vector<RunSummary>& runs) {
    std::map<std::string, std::size_t> place;
    for (const RunSummary& run : runs) {
        place.try_emplace(run.group.empty() ? run.id : run.group, place.size());
    }
    const auto key = [&](const RunSummary& run) {
        const std::string& group = run.group.empty() ? run.id : run.group;
        return std::tuple(place.at(group), run.id != group, run.createdMs, run.uid);
    };
    std::ranges::sort(runs,
                      [&](const RunSummary& a, const RunSummary& b) { return key(a) < key(b); });
}

// "filter, character 9: ..." -> the filter itself and a caret below the position.
std::string caretBelow(const std::string& filter, std::string_view message) {
    const std::size_t at = message.find("character ");
    const int column = at == std::string_view::npos || filter.empty()
                           ? 0
                           : std::atoi(std::string(message.substr(at + 10, 6)).c_str());
    if (column < 1 || column > static_cast<int>(filter.size()) + 1) {
        return "";
    }
    return "    " + filter + "\n    " + std::string(static_cast<std::size_t>(column - 1), ' ') +
           "^\n";
}

void printRunsCsv(CliContext& context, const std::vector<RunSummary>& runs,
                  const std::vector<ListColumn>* chosen) {
    std::vector<Json> rows;
    for (const RunSummary& run : runs) {
        Json& row = rows.emplace_back(csvRow(run));
        if (chosen != nullptr) {
            const auto seconds = secondsOf(run, context.clock.wallMs());
            row["duration"] = seconds ? jsonNumber(*seconds) : Json();
        }
        for (const auto& [key, value] : chosen != nullptr ? run.params : decltype(run.params)()) {
            row["params"][key] = value;
            if (key.starts_with("params.")) {  // the run's own: --columns params.KEY means it too
                row["params"].emplace(key.substr(7), value);
            }
        }
    }
    if (chosen != nullptr) {
        std::vector<std::string> names;
        for (const ListColumn& column : *chosen) {
            names.insert(names.end(), column.names.begin(), column.names.end());
        }
        return printCsvColumns(context, names, rows);
    }
    printCsv(context, {"id", "name", "variation", "state"}, rows, csvRow(RunSummary()));
}

int printRuns(CliContext& context, const values::RunPage& page,
              const std::vector<ListColumn>& columns, bool isFiltered) {
    if (page.runs.empty()) {
        context.err << (isFiltered ? "no run matches the filter\n"
                                   : "no runs yet: 'millrace run SPEC' starts one\n");
        return kExitOk;
    }
    std::vector<Column> titles;
    for (const ListColumn& column : columns) {
        titles.push_back(column.column);
    }
    Table table(std::move(titles));
    for (const RunSummary& run : page.runs) {
        std::vector<TableCell> row;
        for (const ListColumn& column : columns) {
            row.push_back(column.cell(run, context));
        }
        table.add(std::move(row));
    }
    context.out << table.render(context.terminal);
    const auto count = static_cast<std::int64_t>(page.runs.size());
    if (!page.nextPageToken.empty()) {
        context.err << count << " of " << formatCount(std::max(page.total, count + 1))
                    << " runs; --limit N shows more\n";
    }
    return kExitOk;
}

// "12.5 (rank 3)".
TableCell endCell(double value, int rank) {
    return TableCell(strCat(session::shortNumber(value), " (rank ", rank, ")"));
}

// If ranks differ: prints minimum and maximum with their ranks, per step and over all steps shown.
void printRanks(CliContext& context, const values::MetricSeries& series) {
    Table table({{session::word::kStep.heading, Align::kRight},
                 {"LEAST", Align::kRight},
                 {"MEDIAN", Align::kRight},
                 {"GREATEST", Align::kRight},
                 {"RANKS", Align::kRight, 5, 2},
                 {"TIME", Align::kLeft, 8, 1}});
    for (const values::MetricPoint& point : series.points) {
        const values::RankSpread spread =
            point.ranks.value_or(values::RankSpread{point.value, point.value, 0, 0, 1});
        table.add({std::to_string(point.step),
                   endCell(spread.least, spread.leastRank),
                   session::shortNumber(point.value),
                   endCell(spread.greatest, spread.greatestRank),
                   std::to_string(spread.numRanks),
                   {formatTime(point.timeMs), Tone::kDim}});
    }
    if (const auto ends = values::endsOf(series.points)) {
        const auto text = [](const values::SeriesEnd& end) {
            return strCat(session::shortNumber(end.value), " (rank ", std::max(end.rank, 0),
                          ", step ", end.step, ")");
        };
        context.out << "  least " << text(ends->least) << "  greatest " << text(ends->greatest)
                    << '\n';
    }
    context.out << table.render(context.terminal) << '\n';
}

void printSeries(CliContext& context, const values::MetricSeries& series) {
    const Terminal& terminal = context.terminal;
    std::vector<double> curve;
    for (const values::MetricPoint& point : series.points) {
        curve.push_back(point.value);
    }
    const int width = std::clamp((terminal.width > 0 ? terminal.width : 80) - 4, 20, 120);
    context.out << paint(terminal, Tone::kStrong, shown(terminal, series.key)) << "  "
                << session::countText(series.numPoints, "point")
                << (series.isDecimated
                        ? strCat(
                              ", ", formatCount(static_cast<std::int64_t>(series.points.size())),
                              " shown: the least and greatest of neighbours; --points N shows more")
                        : std::string())
                << "\n  "
                << paint(terminal, Tone::kInfo, tui::sparkline(curve, width, terminal.isUtf8))
                << '\n';
    if (series.isOfRanks()) {
        return printRanks(context, series);
    }
    Table table({{session::word::kStep.heading, Align::kRight},
                 {"VALUE", Align::kRight},
                 {"TIME", Align::kLeft, 8, 1}});
    for (const values::MetricPoint& point : series.points) {
        table.add({std::to_string(point.step),
                   session::shortNumber(point.value),
                   {formatTime(point.timeMs), Tone::kDim}});
    }
    context.out << table.render(terminal) << '\n';
}

void printSeriesCsv(CliContext& context, const std::vector<values::MetricSeries>& series) {
    std::vector<Json> rows;
    for (const values::MetricSeries& one : series) {
        Json shaped = jsonOf(one);
        for (Json& point : shaped["points"]) {
            point["name"] = one.key;
            rows.push_back(std::move(point));
        }
        if (!one.problem.empty()) {
            context.err << one.problem << '\n';
        }
    }
    printCsv(context, {"name", "step", "time", "value"}, rows);
}

}  // namespace

Result<int> runList(CliContext& context, const ParsedArgs& args) {
    ASSIGN_OR_RETURN(const std::vector<ListColumn> columns, asUsage(columnsOf(args)));
    ASSIGN_OR_RETURN(const auto daemon, openDaemon(context));
    values::ListRequest request;
    request.filter = args.text("--filter");
    request.orderBy = args.list("--order-by");
    request.view = args.has("--all")       ? values::RunView::kAll
                   : args.has("--deleted") ? values::RunView::kDeleted
                                           : values::RunView::kActive;
    request.withParams = args.text("--columns").find("params.") != std::string::npos;
    Result<values::RunPage> page =
        listRuns(*daemon, request, args.number("--limit", kDefaultLimit));
    if (!page.ok()) {
        const int code = fail(context, page.status());
        context.err << caretBelow(request.filter, messageOf(page.status()));
        return code;
    }
    noteUnknownName(context, *daemon, request.filter);
    if (request.orderBy.empty()) {
        groupSubmits(page->runs);
    }
    if (args.isJson()) {
        printDocument(
            context,
            {{"runs", jsonList(page->runs)},
             {"total", std::max(page->total, static_cast<std::int64_t>(page->runs.size()))},
             {"has_more", !page->nextPageToken.empty()}});
        return kExitOk;
    }
    if (args.isCsv()) {
        printRunsCsv(context, page->runs, args.has("--columns") ? &columns : nullptr);
        return kExitOk;
    }
    if (args.has("--quiet")) {
        for (const RunSummary& run : page->runs) {
            context.out << run.id << '\n';
        }
        return kExitOk;
    }
    return printRuns(context, *page, columns, !request.filter.empty());
}

Result<int> runMetrics(CliContext& context, const ParsedArgs& args) {
    const int points = args.number("--points", args.isJson() || args.isCsv() ? kDefaultPoints : 20);
    if (points < kFewestPoints) {
        return failUsage(context, strCat("--points: at least ", kFewestPoints,
                                         ", the first, the last, the least and the greatest"));
    }
    ASSIGN_OR_RETURN(const auto daemon, openDaemon(context));
    ASSIGN_OR_RETURN(const values::RunDetail run, session::findRun(*daemon, args.words.front()));
    values::MetricRangeRequest request;
    request.run = run.summary.id;
    request.names = args.list("--name");
    for (const std::string& name : request.names) {
        const auto& known = run.metricNames;
        if (!known.empty() && std::ranges::find(known, name) == known.end()) {
            return notFound(request.run, ": no metric '", name, "'", nameHint(name, known));
        }
    }
    request.maxPoints = points;
    request.rank = args.number("--rank", values::kNoRank);
    if (args.has("--rank") && request.rank < 0) {
        return failUsage(context, "--rank: a number from 0");
    }
    ASSIGN_OR_RETURN(const values::MetricHistory history, daemon->metricRange(request));
    if (args.isJson()) {
        Json document = {{"run", request.run}, {"series", jsonList(history.series)}};
        if (request.rank != values::kNoRank) {
            document["rank"] = request.rank;
        }
        printDocument(context, std::move(document));
        return kExitOk;
    }
    if (args.isCsv()) {
        printSeriesCsv(context, history.series);
        return kExitOk;
    }
    for (const values::MetricSeries& one : history.series) {
        printSeries(context, one);
        if (!one.problem.empty()) {
            context.err << one.problem << '\n';
        }
    }
    if (history.series.empty()) {
        context.err << "no metrics yet\n";
    }
    return kExitOk;
}

}  // namespace millrace::cli

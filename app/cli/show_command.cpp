#include <algorithm>
#include <array>
#include <map>

#include <absl/strings/str_join.h>

#include "app/cli/commands.h"
#include "app/cli/comparison.h"
#include "app/cli/frame/json_shapes.h"
#include "app/cli/frame/table.h"
#include "app/cli/results.h"
#include "app/cli/traffic_tables.h"
#include "app/session/live_model.h"
#include "app/session/metric_catalogue.h"
#include "app/session/rate_age.h"
#include "app/session/run_names.h"
#include "app/session/run_progress.h"
#include "app/session/words.h"
#include "app/tui/charts.h"
#include "app/tui/figures.h"
#include "app/tui/glyphs.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using tui::Tone;
namespace word = session::word;
using values::RunDetail;

constexpr int kLabelWidth = 17;
constexpr std::size_t kEventsShown = 12, kFilesShown = 6;

class Page {
 public:
    explicit Page(CliContext& context) : context_(context) {}
    void heading(const std::string& text) {
        context_.out << '\n' << paint(context_.terminal, Tone::kStrong, text) << '\n';
    }
    void field(const std::string& label, const std::string& value, Tone tone = Tone::kPlain) {
        if (value.empty()) {
            return;
        }
        std::string text = shown(context_.terminal, value);
        if (context_.terminal.width > 0) {
            text = tui::elideMiddle(text, context_.terminal.width - kLabelWidth - 2,
                                    context_.terminal.isUtf8);
        }
        context_.out << "  "
                     << paint(context_.terminal, Tone::kDim, tui::padRight(label, kLabelWidth - 1))
                     << ' ' << paint(context_.terminal, tone, text) << '\n';
    }
    /// A sentence below a table; "": none.
    void text(std::string_view sentence) {
        if (!sentence.empty()) {
            context_.out << "  " << paint(context_.terminal, Tone::kDim, std::string(sentence))
                         << '\n';
        }
    }
    void table(const Table& table) {
        Terminal narrower = context_.terminal;
        narrower.width = narrower.width > 0 ? narrower.width - 2 : 0;
        const std::string text = table.render(narrower);
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = text.find('\n', at) + 1;
            context_.out << "  " << text.substr(at, end - at);
            at = end;
        }
    }
    CliContext& context_;
};

std::string timeText(std::int64_t utcMs) {
    return utcMs == 0 ? "" : strCat(session::localTime(utcMs), " ", session::zoneText(utcMs));
}

std::string specDirectory(const RunDetail& detail) {
    const Result<Json> spec = parseJson(detail.resolvedSpec, "spec");
    return spec.ok() ? jsonString(*spec, "base_dir") : "";
}

// `path` relative to the spec's directory, if it is inside.
std::string fromSpec(const std::string& directory, const std::string& path) {
    const bool isInside = !directory.empty() && path.starts_with(directory + "/");
    return isInside ? path.substr(directory.size() + 1) : path;
}

// When the run was deleted, and whether it can be restored.
std::string deletedText(const values::RunSummary& run) {
    if (run.isPurged()) {
        return timeText(run.purgedMs) + ", for good: its files, metrics and plan are gone";
    }
    return run.deletedMs == 0 ? "" : timeText(run.deletedMs) + "; 'millrace rm --undo' restores it";
}

void showState(Page& page, const RunDetail& detail) {
    const values::RunSummary& run = detail.summary;
    CliContext& context = page.context_;
    const std::int64_t nowMs = context.clock.wallMs();
    context.out << paint(context.terminal, Tone::kStrong,
                         shown(context.terminal, session::labelOf(run)))
                << "  " << paint(context.terminal, Tone::kAccent, run.id) << "  "
                << paint(context.terminal, tui::toneOf(run), run.stateWord()) << '\n';
    page.field(run.trouble.empty() ? word::kReason.label : "trouble", run.reason(),
               tui::toneOf(run));
    page.field("stalled", run.isStalled() ? "since " + timeText(run.standsSinceMs) : "",
               tui::toneOf(run));
    std::string steps = "step " + tui::stepText(run.progress);
    if (run.progress.epochs > 0) {
        strAppend(&steps, ", epoch ", std::min(run.progress.epoch + 1, run.progress.epochs), " of ",
                  run.progress.epochs);
    }
    page.field(word::kProgress.label, run.progress.step > 0 || !run.dataset.empty() ? steps : "");
    page.field("hand-over", session::handOverText(run.handOver));
    page.field(word::kCreated.label, timeText(run.createdMs) + " by " + run.owner);
    page.field(word::kStarted.label, timeText(run.startedMs));
    std::string ended = timeText(run.endedMs);
    if (run.endedMs > run.startedMs && run.startedMs > 0) {
        ended += " after " + formatDuration(static_cast<double>(run.endedMs - run.startedMs) / 1e3);
    }
    page.field(word::kEnded.label, ended);
    page.field(word::kDeleted.label, deletedText(run));
    if (run.rate()) {
        const bool isMean = values::isEnded(run.state);
        page.field(word::kRate.label, session::withAge(session::numberText(run.rate()),
                                                       session::oldRateSeconds(run, nowMs)) +
                                          (isMean ? ", the mean of its steps" : ""));
    }
    const bool isOld = session::oldRateSeconds(run, nowMs).has_value();
    const std::string stall = session::stallText(run, isOld);
    page.field(word::kStall.label, stall == "-" ? "" : stall);
    page.field("time", run.progress.times ? session::timesText(*run.progress.times) : "");
    if (run.attempt > 1) {
        page.field("attempts", strCat(run.attempt, " (",
                                      session::countText(run.restarts, "restart"), " by itself)"));
    }
    page.field(word::kProject.label, run.project);
    page.field(word::kTags.label, absl::StrJoin(run.tags, ", ", absl::PairFormatter("=")));
    page.field(word::kNote.label, run.note);
    page.field(word::kUid.label, run.uid);
}

// "lr=0.5, window.days=14": the run's own.
std::string ownParams(const RunDetail& detail) {
    constexpr std::string_view kOwn = "params.";
    std::string text;
    for (const auto& [key, value] : detail.params) {
        if (key.starts_with(kOwn)) {
            strAppend(&text, text.empty() ? "" : ", ", key.substr(kOwn.size()), "=", value);
        }
    }
    return text;
}

// Shows the keys whose values the variation changes from the base's.
void showChanges(Page& page, const RunDetail& detail, const RunDetail* base) {
    page.heading("Spec");
    page.field("file", detail.specFileName);
    page.field(word::kModel.label, detail.summary.model);
    page.field(word::kDataset.label, detail.summary.dataset.empty()
                                         ? "none: the run is its command alone"
                                         : detail.summary.dataset);
    page.field("params", ownParams(detail));
    page.field("--set", absl::StrJoin(detail.sets, ", "));
    page.field(word::kSpecHash.label, detail.summary.specHash, Tone::kDim);
    page.field(word::kStreamHash.label, detail.summary.streamHash, Tone::kDim);
    if (base == nullptr) {
        return;
    }
    Table table({{"CHANGED", Align::kLeft, 10},
                 {strCat("BASE ", base->summary.id), Align::kLeft, 8},
                 {"THIS RUN", Align::kLeft, 8}});
    for (const Difference& difference :
         session::withStepsAsLines(session::differencesOf({base, &detail}))) {
        table.add({difference.key,
                   {session::besideBase(difference, 0, 0), Tone::kDim},
                   {session::besideBase(difference, 1, 0), Tone::kInfo}});
    }
    if (!table.isEmpty()) {
        page.table(table);
    }
}

void showMetrics(Page& page, const RunDetail& detail) {
    if (detail.summary.latestMetrics.empty()) {
        return;
    }
    page.heading("Metrics");
    Table table({{word::kMetric.heading, Align::kLeft, 12},
                 {word::kNewest.heading, Align::kRight},
                 {word::kStep.heading, Align::kRight},
                 {word::kBest.heading, Align::kRight, 6, 1}});
    bool hasFew = false;
    for (const values::RunFigure& point : detail.summary.latestMetrics) {
        // The last second's stall does not describe the run: the run's share is shown above.
        const bool isStall = point.name == values::metric::kInputStallPercent;
        if (!isStall && !session::isInternalMetric(point.name, point.value)) {
            const values::RunFigure* best = detail.summary.best(point.name);
            const bool isFew = session::isOfFewRows(detail.summary, point.name);
            hasFew |= isFew;
            table.add({point.name,
                       session::shortNumber(point.value) + (isFew ? session::kFewMark : ""),
                       formatCount(point.step),
                       best == nullptr ? std::string()
                                       : textOf(session::StepValue{best->value, best->step})});
        }
    }
    page.table(table);
    EvaluatedRows rows;
    for (const values::RunFigure& point : detail.summary.latestMetrics) {
        rows.take(point.name, point.value);
    }
    page.text(rows.text("evaluated on "));
    page.text(hasFew ? session::kFewNote : "");
}

// The path of the rows: read, left after each step with reasons, kept, trained; a bar shows the
// share that is left.
Table funnelOf(const values::Receipt& receipt, const Terminal& terminal) {
    Table table({{"ROWS", Align::kLeft, 10},
                 {"COUNT", Align::kRight},
                 {"SHARE", Align::kRight},
                 {"", Align::kLeft, 4, 1}});
    const auto all = static_cast<double>(std::max<std::int64_t>(1, receipt.rowsScanned));
    const auto row = [&](const std::string& label, std::int64_t count, Tone tone) {
        const double part = static_cast<double>(count) / all;
        table.add({{label, tone},
                   formatCount(count),
                   session::percentText(part * 100),
                   {tui::progressBar(std::min(1.0, part), 24, terminal.isUtf8), Tone::kInfo}});
    };
    const auto apart = [&](const std::string& label, std::int64_t count, Tone tone) {
        table.add({{label, tone}, formatCount(count)});
    };
    if (receipt.rowsPruned > 0) {
        row("scanned", receipt.rowsScanned, Tone::kStrong);
        apart("  pruned", receipt.rowsPruned, Tone::kDim);
    }
    row("read", receipt.rowsScanned - receipt.rowsPruned, Tone::kStrong);
    for (const values::StepReceipt& step : receipt.steps) {
        row("after " + step.step, step.rowsOut, Tone::kPlain);
        for (const values::StepReason& reason : step.reasons) {
            table.add({{"  " + reason.name, Tone::kDim}, {formatCount(reason.rows), Tone::kDim}});
        }
    }
    row("kept", receipt.rowsKept, Tone::kStrong);
    // No step dropped the rows of the last segment after the run's end.
    receipt.endsInsideSegment ? apart("trained", receipt.rowsTrained, Tone::kStrong)
                              : row("trained", receipt.rowsTrained, Tone::kStrong);
    return table;
}

void showVocabularies(Page& page, const values::Receipt& receipt) {
    const auto text = [](std::int64_t unknown, std::int64_t ids, double percent) {
        return strCat(formatCount(unknown), " of ", formatCount(ids), " (",
                      session::percentText(percent), ")");
    };
    const char* label = "unknown ids";
    for (const values::VocabularyReceipt& one : receipt.vocabularies) {
        page.field(label,
                   strCat(one.feature, "  ", text(one.unknown, one.ids, one.unknownPercent()),
                          one.evalIds == 0
                              ? ""
                              : strCat("; in the evaluation ", text(one.evalUnknown, one.evalIds,
                                                                    one.evalUnknownPercent()))));
        label = "";
    }
}

void showLabels(Page& page, const values::Receipt& receipt) {
    const char* label = "no label";
    for (const values::LabelReceipt& one : receipt.labels) {
        page.field(label, strCat(one.head, "  ", formatCount(one.nulls), " null, ",
                                 formatCount(one.nans), " NaN (masked)"));
        label = "";
    }
}

// "none 3, zstd:-5 12": columns by codec.
std::string codecsText(const values::DataWorkersReceipt& workers) {
    std::map<std::string, int> counts;
    for (const std::string& codec : workers.codecs) {
        ++counts[codec];
    }
    return absl::StrJoin(counts, ", ", absl::PairFormatter(" "));
}

void showDataWorkers(Page& page, const values::DataWorkersReceipt& workers) {
    if (workers.isEmpty()) {
        return;
    }
    page.field("data workers",
               strCat(session::countText(workers.segments, "segment"), ", ",
                      session::durationText(1000 * workers.cpuSeconds), " of CPU, ",
                      formatBytes(static_cast<double>(workers.frameBytes)), " of frames"));
    if (workers.networkBytes > 0) {
        page.field("network", formatBytes(static_cast<double>(workers.networkBytes)));
    }
    if (const auto share = workers.leadShare()) {
        page.field("other nodes",
                   strCat(formatBytes(static_cast<double>(workers.directBytes)),
                          " directly from data workers, ",
                          formatBytes(static_cast<double>(workers.carriedBytes)),
                          " through the leading feed (", session::percentText(100 * *share), ")"));
    }
    if (!workers.codecs.empty()) {
        page.field("codecs", strCat("columns by codec: ", codecsText(workers)));
    }
}

// "ranks 2m 4s, feed 12 s; largest process 1.2 GB"
void showCosts(Page& page, const std::vector<values::RoleCost>& costs) {
    std::string text;
    std::int64_t peak = 0;
    for (const values::RoleCost& one : costs) {
        strAppend(&text, text.empty() ? "" : ", ", one.role, " ",
                  session::durationText(1000 * one.cpuSeconds));
        peak = std::max(peak, one.peakMemoryBytes);
    }
    if (!text.empty()) {
        page.field("CPU",
                   strCat(text, "; largest process ", formatBytes(static_cast<double>(peak))));
    }
}

void showTraffic(Page& page, const RunDetail& detail) {
    const values::FrameTraffic& traffic = detail.shownTraffic();
    if (traffic.isEmpty()) {
        return;
    }
    page.heading("Frames between nodes");
    page.table(nodesTable(traffic));
    const bool isAbove = detail.receipt && !detail.receipt->dataWorkers.isEmpty();
    if (const auto share = traffic.leadShare(); share && !isAbove) {
        page.field("lead's share", strCat(session::percentText(100 * *share),
                                          " of the bytes for ranks on other nodes went through "
                                          "the leading feed"));
    }
    const Table links = linksTable(traffic);
    if (!links.isEmpty()) {
        page.table(links);
    }
    page.text(ratesText(traffic, !values::isEnded(detail.summary.state)));
    const std::string slow = session::slowLinkText(detail.summary, traffic);
    if (!slow.empty()) {
        page.context_.out << "  " << paint(page.context_.terminal, Tone::kWarn, slow) << '\n';
    }
}

void showReceipt(Page& page, const RunDetail& detail) {
    if (detail.summary.dataset.empty()) {
        return;  // the run's command reads its own data
    }
    page.heading("Data");
    page.field("plan", strCat(session::countText(detail.planFiles, "file"), ", ",
                              session::countText(detail.planSplits, "split"), ", ",
                              session::countText(detail.planRows, "row"), ", ",
                              formatBytes(static_cast<double>(detail.planBytes))));
    if (!detail.receipt) {
        page.field("receipt",
                   values::isEnded(detail.summary.state) ? "none: the run ended without one"
                                                         : "none yet: it is made at the run's end",
                   Tone::kDim);
        return;
    }
    const values::Receipt& receipt = *detail.receipt;
    page.table(funnelOf(receipt, page.context_.terminal));
    page.text(receipt.countedText());
    showVocabularies(page, receipt);
    showLabels(page, receipt);
    showDataWorkers(page, receipt.dataWorkers);
    showCosts(page, receipt.costs);
    page.field(word::kOrderHash.label, receipt.orderHash, Tone::kDim);
    page.field(word::kEvaluationHash.label, receipt.evalOrderHash, Tone::kDim);
    page.field(word::kWeightsHash.label, detail.weightsHash, Tone::kDim);
    const std::string directory = specDirectory(detail);
    for (std::size_t i = 0; i < receipt.files.size() && i < kFilesShown; ++i) {
        const values::FileReceipt& file = receipt.files[i];
        page.field(i == 0 ? "files" : "", strCat(fromSpec(directory, file.path), "  ",
                                                 session::countText(file.rows, "row"), "  ",
                                                 formatBytes(static_cast<double>(file.bytes))));
    }
    const auto listed = static_cast<std::int64_t>(std::min(receipt.files.size(), kFilesShown));
    if (receipt.numFiles() > listed) {
        page.field("", strCat("and ", receipt.numFiles() - listed, " more"), Tone::kDim);
    }
    for (const values::FileReceipt& table : receipt.sideTables) {
        const std::string rows = table.rows < 0 ? "" : session::countText(table.rows, "row") + "  ";
        page.field("side table", strCat(fromSpec(directory, table.path), "  ", rows,
                                        formatBytes(static_cast<double>(table.bytes))));
    }
}

void showCheckpoints(Page& page, const RunDetail& detail) {
    if (detail.checkpoints.empty()) {
        return;
    }
    page.heading("Checkpoints");
    Table table({{word::kStep.heading, Align::kRight},
                 {word::kSize.heading, Align::kRight},
                 {word::kWritten.heading, Align::kLeft, 10, 2},
                 {"HASH", Align::kLeft, 8, 1},
                 {word::kPath.heading, Align::kLeft, 12, 3}});
    for (const values::Checkpoint& checkpoint : detail.checkpoints) {
        table.add({std::to_string(checkpoint.step),
                   formatBytes(static_cast<double>(checkpoint.bytes)),
                   {timeText(checkpoint.timeMs), Tone::kDim},
                   {checkpoint.hash, Tone::kDim},
                   {checkpoint.path, Tone::kDim}});
    }
    page.table(table);
}

// A script's packages are all those installed beside it: the line shows only known ones.
std::string packagesText(const std::map<std::string, std::string>& packages) {
    constexpr std::size_t kAllShown = 8;
    constexpr std::array kKnown = {"arrow", "millrace", "numpy", "torch", "torchrec"};
    std::string text;
    std::size_t numHidden = 0;
    for (const auto& [name, version] : packages) {
        const bool isShown =
            packages.size() <= kAllShown || std::ranges::find(kKnown, name) != kKnown.end();
        numHidden += isShown ? 0 : 1;
        text += isShown ? (text.empty() ? "" : ", ") + name + " " + version : "";
    }
    return numHidden == 0 ? text : strCat(text, ", and ", numHidden, " more (--json)");
}

void showScript(Page& page, const RunDetail& detail) {
    const values::ScriptInfo& script = detail.script;
    const Result<Json> spec = parseJson(detail.resolvedSpec, "spec");
    std::string command;
    for (const Json& word : spec.ok() ? jsonMember(*spec, "command") : Json()) {
        command += (command.empty() ? "" : " ") + (word.is_string() ? word.get<std::string>() : "");
    }
    page.field("command", command);
    page.field("script", script.path);
    page.field("sha256", script.sha256, Tone::kDim);
    page.field("python", script.python.empty() ? "" : script.python + "  " + script.interpreter);
    page.field("started in", command.empty() ? "" : script.place.workingDirectory);
    page.field("changes", script.diffPath);
}

// `head`: name of the daemon's machine.
void showEnvironment(Page& page, const RunDetail& detail, const std::string& head) {
    page.heading("Environment");
    page.field(word::kNode.label, detail.summary.host);
    if (!detail.git.commit.empty()) {
        page.field("git", strCat(detail.git.commit.substr(0, 12), " ", detail.git.branch,
                                 detail.git.isDirty ? ", with uncommitted changes" : ""));
    }
    page.field("packages", packagesText(detail.packages));
    showScript(page, detail);
    page.field("directory", detail.directory);
    for (const values::WorkerInfo& worker : detail.workers) {
        const bool hasEnded = worker.state == "ended";
        const bool isElsewhere = !worker.node.empty() && worker.node != head;
        page.field("worker", strCat(worker.name, "  ", worker.state,
                                    hasEnded ? strCat(" with ", worker.exitCode)
                                             : strCat("  pid ", worker.pid),
                                    isElsewhere ? strCat("  on ", worker.node) : ""));
    }
}

void showEvents(Page& page, const RunDetail& detail) {
    if (detail.events.empty()) {
        return;
    }
    page.heading(strCat("History (", session::zoneText(detail.events.back().timeMs), ")"));
    const std::size_t first = detail.events.size() - std::min(kEventsShown, detail.events.size());
    if (first > 0) {
        page.text(strCat(session::countText(static_cast<std::int64_t>(first), "earlier event"),
                         " in 'millrace show ", detail.summary.id, " --json'"));
    }
    for (std::size_t i = first; i < detail.events.size(); ++i) {
        page.field(session::timeOfDay(detail.events[i].timeMs), detail.events[i].text);
    }
}

void showParams(Page& page, const RunDetail& detail) {
    page.heading("Keys of the resolved spec");
    Table table({{"KEY", Align::kLeft, 16}, {"VALUE", Align::kLeft, 12}});
    for (const auto& [key, value] : detail.params) {
        table.add({key, value});
    }
    page.table(table);
}

// Name of the daemon's machine; "": unknown.
std::string headOf(client::DaemonClient& daemon) {
    const auto nodes = daemon.nodes();
    for (const values::NodeInfo& node : nodes.ok() ? *nodes : std::vector<values::NodeInfo>()) {
        if (node.isHead) {
            return node.name;
        }
    }
    return "";
}

// Prints a document as it is stored, however large.
Result<int> printLarge(CliContext& context, client::DaemonClient& daemon, const std::string& id,
                       values::LargeDocument which) {
    ASSIGN_OR_RETURN(const std::string text, daemon.document(id, which));
    if (text.empty()) {
        return which == values::LargeDocument::kPlan
                   ? notFound("run ", id, " has no plan any more: it was purged")
                   : notFound("run ", id, " has no receipt: it is made at a run's end");
    }
    context.out << text << '\n';
    return kExitOk;
}

}  // namespace

Result<int> runShow(CliContext& context, const ParsedArgs& args) {
    ASSIGN_OR_RETURN(const auto daemon, openDaemon(context));
    ASSIGN_OR_RETURN(const RunDetail detail, session::findRun(*daemon, args.words.front()));
    if (args.has("--spec")) {
        context.out << detail.specText;
        return kExitOk;
    }
    for (const auto& [option, which] : {std::pair("--plan", values::LargeDocument::kPlan),
                                        std::pair("--receipt", values::LargeDocument::kReceipt)}) {
        if (args.has(option) && detail.summary.dataset.empty()) {
            return notFound("run ", detail.summary.id,
                            " has no dataset, so it has no plan and no receipt");
        }
        if (args.has(option)) {
            return printLarge(context, *daemon, detail.summary.id, which);
        }
    }
    if (args.isJson()) {
        printDocument(context, {{"run", jsonOf(detail)}});
        return kExitOk;
    }
    Result<RunDetail> base = notFound("no base");
    const std::string& baseId = detail.summary.variationOf;
    if (!baseId.empty() && baseId != detail.summary.id) {
        base = daemon->get(baseId);
    }
    Page page(context);
    showState(page, detail);
    showChanges(page, detail, base.ok() ? &*base : nullptr);
    showMetrics(page, detail);
    showReceipt(page, detail);
    showTraffic(page, detail);
    showCheckpoints(page, detail);
    showEnvironment(page, detail, detail.workers.empty() ? "" : headOf(*daemon));
    showEvents(page, detail);
    if (args.has("--params")) {
        showParams(page, detail);
    }
    return kExitOk;
}

}  // namespace millrace::cli

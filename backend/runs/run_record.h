#pragma once
// What the run store knows about runs, as plain values: the only header of this room that `app` and
// proto/convert include. No SQLite, no JSON type: documents are canonical JSON text.
//
// Times are UTC milliseconds since 1970; 0 says "not yet".
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/values/metric_line.h"

namespace millrace::runs {

/// A run's life: queued -> starting -> running [-> stopping] -> finished | failed | cancelled.
/// A resumed run goes back to queued.
enum class RunState { kQueued, kStarting, kRunning, kStopping, kFinished, kFailed, kCancelled };

inline constexpr std::array<std::string_view, 7> kRunStateTexts = {
    "queued", "starting", "running", "stopping", "finished", "failed", "cancelled"};

/// "queued", "starting", ...: the form of the store, of JSON and of filters.
constexpr std::string_view textOf(RunState state) {
    return kRunStateTexts[static_cast<std::size_t>(state)];
}

/// Nothing for a word that is no state.
constexpr std::optional<RunState> runStateOf(std::string_view text) {
    for (std::size_t i = 0; i < kRunStateTexts.size(); ++i) {
        if (kRunStateTexts[i] == text) {
            return static_cast<RunState>(i);
        }
    }
    return std::nullopt;
}

/// True for finished, failed and cancelled.
constexpr bool isTerminal(RunState state) {
    return state >= RunState::kFinished;
}

using values::MetricPoint;
using values::MetricSeries;

/// What the daemon measures beside a run ("system.cpu_percent"), not what the run itself reports.
constexpr bool isSystemMetric(std::string_view name) {
    return name.starts_with("system.");
}

/// Which of two values of a metric is the better one, as far as its name tells.
enum class MetricSense { kUnknown, kLowerIsBetter, kHigherIsBetter };

/// By the last part of the name: loss, normalized_entropy, log_loss, ... or auc, ...
constexpr MetricSense senseOf(std::string_view metric) {
    constexpr std::string_view kLower[] = {
        "loss",  "normalized_entropy",  "log_loss",  "mse", "rmse", "mae",
        "error", "input_stall_percent", "perplexity"};
    constexpr std::string_view kHigher[] = {
        "auc", "accuracy", "precision", "recall", "f1", "ndcg", "map", "samples_per_second",
        "pr_auc"};
    const std::size_t dot = metric.find_last_of("./");
    const std::string_view part =
        dot == std::string_view::npos ? metric : metric.substr(dot + 1);
    if (std::find(std::begin(kLower), std::end(kLower), part) != std::end(kLower)) {
        return MetricSense::kLowerIsBetter;
    }
    const bool isHigher =
        std::find(std::begin(kHigher), std::end(kHigher), part) != std::end(kHigher);
    return isHigher ? MetricSense::kHigherIsBetter : MetricSense::kUnknown;
}

/// Measured on the evaluation rows.
constexpr bool isEvalMetric(std::string_view name) {
    return name.starts_with("eval.");
}

/// Whether the store keeps the best value of it (RunRecord::bestMetrics).
constexpr bool isBestKept(std::string_view name) {
    return isEvalMetric(name) && senseOf(name) != MetricSense::kUnknown;
}

/// NaN is no better than anything, and anything is better than NaN.
constexpr bool isBetter(MetricSense sense, double value, double than) {
    return value == value && (than != than || (sense == MetricSense::kHigherIsBetter
                                                   ? value > than
                                                   : value < than));
}

/// Where a resume goes on, beside the step of a checkpoint.
inline constexpr std::int64_t kFromLast = 0;    ///< the last checkpoint
inline constexpr std::int64_t kFromStart = -1;  ///< step 0, whatever checkpoints there are

/// A document that may be many megabytes: it is read by itself, whole or by pages.
enum class LargeDocument { kPlan, kReceipt };

/// A piece of a large document; any byte may be its first.
struct DocumentPage {
    std::string bytes;
    std::int64_t totalBytes = 0;  ///< of the whole document; 0: there is none
    std::string hash;             ///< of the whole document
};

/// One execution of one variation. Lists leave out the documents (`specText`, `resolvedSpec`,
/// `planFacts`, `packages`, `hardware`) and, unless asked for, `params`.
struct RunRecord {
    std::string id;   ///< "r-" and 5 or more characters, never reused
    std::string uid;  ///< UUIDv7, 32 hex digits
    std::string name, owner, project, note;
    std::map<std::string, std::string> tags;
    std::string variation;    ///< "" for the base
    std::string baseRunId;    ///< the base's run of the same submit; "" when there is none
    std::string parentRunId;  ///< the run that this one repeats or continues; "" when there is none

    std::string specText;      ///< as the user wrote it
    std::string resolvedSpec;  ///< canonical JSON
    std::string specHash, streamHash;
    /// Canonical JSON of the pinned plan, shared by the runs of a submit. Only to create a run with;
    /// read as LargeDocument::kPlan.
    std::shared_ptr<const std::string> plan;
    std::string planFacts;  ///< JSON: files, splits, rows, bytes of the plan; "" of older versions
    std::string planHash;
    std::string baseDir;    ///< what relative paths of the spec are relative to
    std::string submitKey;  ///< the same key gives the same run

    RunState state = RunState::kQueued;
    std::string exitReason;  ///< one sentence when failed or cancelled
    std::int64_t createdMs = 0, startedMs = 0, endedMs = 0;
    int attempt = 0;              ///< the newest; 0 before the first start
    int restarts = 0;             ///< by itself after a failure; a resume is none
    std::int64_t resumeFrom = 0;  ///< while queued: the step that a resume asked for, kFromLast...
    std::int64_t queueNo = 0;     ///< place in the queue: grows with every submit and resume

    std::string gitCommit;
    bool isGitDirty = false;
    std::string host;
    std::map<std::string, std::string> packages;  ///< name -> version
    std::map<std::string, std::string> params;    ///< scalars of the resolved spec, "batch.rows"
    std::map<std::string, MetricPoint> latestMetrics;
    std::map<std::string, MetricPoint> bestMetrics;  ///< see isBestKept(); value and first step
    double meanRate = 0;  ///< rows a second over all timed steps (run_lines.cpp); 0: not known
    std::string hardware;  ///< JSON of the node that the run was submitted to

    std::string model, dataset;               ///< model.type, path(s) as written
    std::int64_t rowsRead = 0, rowsKept = 0;  ///< of the receipt
    std::string orderHash, evalOrderHash;     ///< of the receipt; "" unknown
    std::uint64_t seed = 0;
    std::int64_t step = 0, stepsTotal = 0;  ///< stepsTotal 0: not known
    std::int64_t epoch = 0;
    std::int64_t rowsTrained = 0;
    std::string phase;  ///< of the newest progress line: training, waiting, checkpoint, evaluating
    bool isDeleted = false;
    std::int64_t deletedMs = 0;  ///< when it was deleted; 0: it is not
    std::int64_t purgedMs = 0;   ///< when its files and points were freed for good; 0: they are there
    int groupSize = 0;           ///< runs of its submit; 0: stored by a version that did not count
    std::int64_t change = 0;  ///< grows with every change of any run (RunQuery::changedSince)
};

/// A committed checkpoint.
struct CheckpointRecord {
    int attempt = 1;
    std::int64_t seq = 0;  ///< of the line that told of it; 0: it was found in the directory
    std::int64_t step = 0, epoch = 0;
    std::string name;  ///< of the file in the run's directory of checkpoints
    std::int64_t bytes = 0;
    std::string hash;
    std::string cursor;  ///< the state text that came with it
    std::int64_t timeMs = 0;
    bool isDeleted = false;  ///< no attempt goes on from it: removed, set aside or gone
};

/// A worker's line that the store could not take among its run's, kept as it came.
struct QuarantinedLine {
    int attempt = 1;
    std::string worker;
    std::int64_t seq = 0, timeMs = 0;
    std::string reason;  ///< why it did not go in, one sentence
    std::string text;    ///< as docs/formats/rank-protocol.md
};

/// An attempt of a run and the step that it went on from (0: the start). It has begun once a rank of
/// it has reported a metric, a checkpoint or a later step (its feed's lines do not count); only then
/// what older attempts reported after that step is void.
struct AttemptRecord {
    int attempt = 1;
    std::int64_t resumeStep = 0;
    bool hasBegun = false;
    bool operator==(const AttemptRecord&) const = default;
};

/// Whether what `attempt` did at `step` is part of the course that the run has taken since. Attempt 0
/// (a file that tells none) is judged as the first.
constexpr bool isOnCourse(const std::vector<AttemptRecord>& attempts, std::int64_t attempt,
                          std::int64_t step) {
    for (const AttemptRecord& later : attempts) {
        if (later.hasBegun && later.attempt > std::max<std::int64_t>(attempt, 1) &&
            step > later.resumeStep) {
            return false;
        }
    }
    return true;
}

/// A page of a list.
struct RunPage {
    std::vector<RunRecord> runs;
    std::string nextPageToken;      ///< "" on the last page
    std::int64_t changeCursor = 0;  ///< give it as RunQuery::changedSince to hear what is new
    std::int64_t total = 0;         ///< runs that match, on all pages
};

/// What a list is asked for.
struct RunQuery {
    std::string filter;                ///< run_filter.h's grammar; "" matches all
    std::vector<std::string> orderBy;  ///< "metrics.loss ASC"; default: newest first
    int pageSize = 1000;               ///< 1..50,000
    std::string pageToken;             ///< RunPage::nextPageToken of the same query
    std::int64_t pageBytesMax = 8 << 20;  ///< a page ends early beyond it; one run at least
    enum class View { kActive, kDeleted, kAll } view = View::kActive;
    std::int64_t changedSince = -1;  ///< >= 0: only runs changed after this cursor, of any view
    bool withParams = false;
    bool withMetrics = true;
    bool withSystemMetrics = false;  ///< also those of isSystemMetric, when with metrics
};

}  // namespace millrace::runs

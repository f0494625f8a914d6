#pragma once
// What a daemon tells its clients, as plain values: runs, metrics, logs, nodes.
//
// These are the shapes of proto/millrace/v1 without proto types, so that session, CLI, TUI and
// console need none. Times are UTC ms since 1970, 0 where it has not happened; steps count from 1,
// epochs from 0; an optional that is empty is unknown, never zero.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/client/daemon_facts.h"
#include "app/client/node_values.h"
#include "app/client/receipt_values.h"
#include "app/client/spec_error.h"
#include "backend/values/metric_line.h"

namespace millrace::client {

/// A longer spec is refused, here and by the daemon.
inline constexpr std::int64_t kSpecBytesMax = std::int64_t{8} << 20;

enum class RunState {
    kUnknown,
    kQueued,
    kStarting,
    kRunning,
    kStopping,
    kFinished,
    kFailed,
    kCancelled
};
/// "queued", "running", ...: the words of --json and of tables.
std::string_view nameOf(RunState state);
bool isEnded(RunState state);

enum class Phase { kUnknown, kTraining, kWaiting, kCheckpoint, kEvaluating };
std::string_view nameOf(Phase phase);

struct Progress {
    std::int64_t step = 0, stepsTotal = 0;  ///< stepsTotal 0: not known
    std::int64_t epoch = 0, epochs = 0;
    std::int64_t rows = 0;
    Phase phase = Phase::kUnknown;
    double busyMs = 0, stallMs = 0;  ///< since the attempt began
    std::int64_t timeMs = 0;
};

struct MetricPoint {
    std::string name;
    double value = 0;
    std::int64_t step = 0, timeMs = 0, epoch = 0;
    std::int64_t rows = 0;  ///< trained so far
    int attempt = 0;        ///< that reported it, from 1; 0: not known
};

struct RunSummary {
    std::string id, uid, name, variation, variationOf, owner, project, note;
    std::map<std::string, std::string> tags;
    RunState state = RunState::kUnknown;
    std::string queuedReason;  ///< what it waits for: in the queue, and between its attempts
    std::string exitReason;
    std::string trouble;             ///< what is wrong while it goes on; "": nothing
    std::int64_t standsSinceMs = 0;  ///< it has not got on since; 0: it gets on
    int attempt = 0, restarts = 0;
    std::int64_t createdMs = 0, startedMs = 0, endedMs = 0, deletedMs = 0;
    std::int64_t purgedMs = 0;  ///< its files, points and plan were freed for good; 0: they are not
    Progress progress;
    std::vector<MetricPoint> latestMetrics;  ///< sorted by name
    /// The best of each evaluation metric that has a better way: value and step; sorted by name.
    std::vector<MetricPoint> bestMetrics;
    std::optional<double> meanRate;  ///< samples/s over all steps so far, evaluations left out
    std::string specHash, streamHash, group, model, dataset, host;
    std::uint64_t revision = 0;
    std::int64_t rowsRead = 0, rowsKept = 0, rowsTrained = 0;
    std::string orderHash, evalOrderHash;       ///< "" unknown
    std::map<std::string, std::string> params;  ///< only where asked for

    /// The newest value of a metric.
    std::optional<double> metric(std::string_view metricName) const;
    /// Null where there is none, or where the daemon does not tell it.
    const MetricPoint* newest(std::string_view metricName) const;
    const MetricPoint* best(std::string_view metricName) const;
    /// Samples/s: the mean over all steps of a run that has ended, the newest of one that goes on.
    std::optional<double> rate() const;
    /// It goes on and does not get on.
    bool isStalled() const { return standsSinceMs != 0 && !isEnded(state); }
    /// It is deleted, and there is no way back.
    bool isPurged() const { return purgedMs != 0; }
    /// "stalled" or "purged" for such a run, else the name of its state: for people.
    std::string_view stateWord() const;
    /// Why it waits, ends or ended as it did, or what is wrong with it now; "" when all is well.
    const std::string& reason() const;
};

struct GitFacts {
    std::string commit, branch, remote;  ///< commit "" outside of a repository
    bool isDirty = false;
};

struct Checkpoint {
    std::int64_t step = 0, timeMs = 0;
    std::string path, hash;
    std::uint64_t bytes = 0;
    int attempt = 0;
};

struct WorkerInfo {
    std::string name, state;
    int pid = 0, exitCode = 0, attempt = 0;
};
struct RunEvent {
    std::int64_t timeMs = 0;
    std::string text;
};

/// Documents that may be many megabytes: asked for by themselves.
enum class LargeDocument { kPlan, kReceipt };

struct RunDetail {
    RunSummary summary;
    std::string specText, specFileName, resolvedSpec;  ///< resolvedSpec: canonical JSON
    std::string planHash;
    std::int64_t planFiles = 0, planSplits = 0, planRows = 0, planBytes = 0;
    std::optional<Receipt> receipt;  ///< absent before the first checkpoint
    std::map<std::string, std::string> params, packages;
    std::vector<Checkpoint> checkpoints;  ///< by step
    GitFacts git;
    std::vector<WorkerInfo> workers;
    std::vector<RunEvent> events;
    std::string directory, hardware;
    std::string weightsHash;  ///< of the final weights, "" where the trainer told none
    std::vector<std::string> metricNames, sets;
};

struct SubmitRequest {
    std::string specText, fileName, baseDir;
    std::vector<std::string> variations;
    bool allVariations = false, withoutBase = false;
    std::vector<std::string> sets;
    std::string key, owner, project, note;
    std::map<std::string, std::string> tags, packages;
    GitFacts git;
};
struct SubmitReply {
    std::vector<RunSummary> runs;  ///< the base first
    std::vector<SpecError> errors, warnings;
    bool wasKnown = false;
};

/// A run that was deleted, and what its files take.
struct RemovedRun {
    RunSummary run;
    std::uint64_t freedBytes = 0, heldBytes = 0;
    int keepHours = 0;  ///< after which its checkpoints are freed
};

enum class RunView { kActive, kDeleted, kAll };
struct ListRequest {
    std::string filter;
    std::vector<std::string> orderBy;
    int pageSize = 0;  ///< 0: the daemon's 100
    std::string pageToken;
    RunView view = RunView::kActive;
    bool withParams = false;
    bool withSystemMetrics = false;  ///< also "system.*" in RunSummary::latestMetrics
    std::uint64_t changesSince = 0;  ///< only runs with a higher revision, of any view; 0: all
};
struct RunPage {
    std::vector<RunSummary> runs;
    std::string nextPageToken;
    std::int64_t total = 0;      ///< that match, on all pages
    std::uint64_t revision = 0;  ///< for the next changesSince
};

struct MetricRangeRequest {
    std::string run;
    std::vector<std::string> names;
    std::int64_t fromStep = 0, toStep = 0;
    int maxPoints = 0;
    bool withSystem = false;     ///< without names: also "system.*"
    int rank = values::kNoRank;  ///< only what this rank measured; kNoRank: the run's, all ranks'
};
struct MetricSeries {
    std::string name;
    std::vector<std::int64_t> steps, timesMs;
    std::vector<double> values;
    bool isDecimated = false;  ///< the least and greatest points of each bucket only
    std::uint64_t pointsTotal = 0;
    std::vector<std::int64_t> rows;  ///< trained so far, one a point
    std::string problem;             ///< one sentence when stored points are damaged; "" else
    /// Where ranks differ, one a point: `values` are medians then. Else empty.
    std::vector<std::optional<values::RankSpread>> ranks;
    values::MetricCursor cursor;  ///< behind all of the run's that was stored then
};

/// A run's lines of metrics behind a cursor, and those that come.
struct MetricsRequest {
    std::string run;
    values::MetricCursor after{};  ///< none: from the first
    bool withSystem = false;       ///< also "system.*", which the daemon measures
};

struct RunUpdate {
    RunSummary run;
    bool isRemoved = false, isSnapshotEnd = false;
};
using values::MetricChunk;

struct LogsRequest {
    std::string run;
    std::vector<std::string> workers;
    int tailLines = 0;
    bool follow = false;
    std::string cursor;
};
enum class LogLevel { kNone, kDebug, kInfo, kWarn, kError };
struct LogLine {
    std::int64_t timeMs = 0;
    std::string worker, text;
    bool isStderr = false;
    int attempt = 0;
    LogLevel level = LogLevel::kNone;  ///< kNone: the line names none
};
struct LogChunk {
    std::vector<LogLine> lines;
    std::string cursor;
    bool isEnd = false;
    std::uint64_t droppedLines = 0;
};

/// Whether a filter can be read, and where not.
struct FilterCheck {
    bool isOk = false;
    std::string message;  ///< one sentence when not
    int column = 0;       ///< from 1, within the filter; 0: no place
};

}  // namespace millrace::client

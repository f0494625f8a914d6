#pragma once
// The run store: one SQLite file (WAL) on the head that holds every run, its metrics and its
// documents.
//
// Threads: any; writes, short reads and what people browse (lists, metrics) go through a connection
// each, under its own lock, so that neither a long list nor a long series holds up a commit or an
// acknowledgement. A call that returned OK is on disk.
// Owns: the connections; the process that has the file open for writing is the daemon.
// Failure: kResourceExhausted for a full disk, kDataLoss naming the file when it is corrupt,
// kFailedPrecondition when a newer Millrace wrote it, kNotFound for an unknown run,
// kInvalidArgument for a bad filter or page token, kDeadlineExceeded for a list that takes too
// long.
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/clock.h"
#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/runs/run_record.h"
#include "backend/values/daemon_facts.h"

namespace millrace::runs {

class Database;

/// A change of state; empty members stay as they are.
struct StateChange {
    RunState state = RunState::kQueued;
    std::string exitReason;
    int attempt = 0;  ///< > 0: refused (kFailedPrecondition) when a newer attempt was begun
};

/// One metrics line of a worker.
struct MetricLine {
    std::int64_t seq = 0;
    std::int64_t step = 0, epoch = 0, rows = 0, timeMs = 0;
    std::vector<std::pair<std::string, double>> values;
};

/// Where a run stands, from the newest progress line.
struct Progress {
    std::int64_t step = 0, epoch = 0, rowsTrained = 0, stepsTotal = 0;
    std::string phase;
};

/// Lines of one worker that are committed together; afterwards `lastSeq` may be acknowledged.
struct LineBatch {
    std::string runId;
    int attempt = 1;
    std::string worker;        ///< "rank0", "feed"
    std::int64_t lastSeq = 0;  ///< of the newest line in the batch, whatever its kind
    std::vector<MetricLine> metrics;
    std::vector<CheckpointRecord> checkpoints;  ///< refused from an attempt that is not the newest
    std::optional<Progress> progress;           ///< ignored from an attempt that is not the newest
    std::string receipt;                        ///< canonical JSON; likewise; "" for none
    std::vector<MetricLine> own;                ///< the daemon's: without seq, never sent again
};

struct LineCommit {
    std::int64_t ackedSeq = 0;  ///< everything up to here is stored
    bool isOldAttempt = false;
    int numIgnored = 0;      ///< lines that had been stored before
    std::string refusedKey;  ///< a metric whose values were left out: see kMetricKeysMax
};

/// Metrics that a run may have, and how long a name may be. Values of others are left out, and the
/// commit says so; everything else of the line is stored.
inline constexpr std::int64_t kMetricKeysMax = 10'000;
inline constexpr std::size_t kMetricKeyBytesMax = 250;
/// Lines of one run that are kept in quarantine, and their bytes.
inline constexpr std::int64_t kQuarantineMax = 1'000;
inline constexpr std::int64_t kQuarantineBytesMax = std::int64_t{16} << 20;

/// What a reader asks of a metric.
struct MetricRange {
    std::int64_t fromStep = 0, toStep = INT64_MAX;  ///< inclusive
    int maxPoints = 2000;                           ///< 0: all of them; at least 4
    int firstPoints = 0;  ///< with maxPoints 0: no more than these; 0: no such limit
};

using values::StoreCheck;
/// Damage that a look for it names.
inline constexpr int kDamageMax = 20;

/// One of several metrics that are read at once.
struct MetricRequest {
    std::string key;
    MetricRange range;
};

class RunStore {
 public:
    /// Opens or makes the file and brings it to the newest schema. `clock` outlives the store.
    static Result<std::unique_ptr<RunStore>> open(const std::string& path, const Clock& clock);
    ~RunStore();
    RunStore(const RunStore&) = delete;
    RunStore& operator=(const RunStore&) = delete;

    struct Created {
        RunRecord run;
        bool isNew = true;  ///< false: the submit key was known; `run` is the run it made then
    };
    /// Stores a run: id, uid, createdMs and change are filled in here. A known submit key with
    /// another spec text or variation is kAlreadyExists.
    Result<Created> create(const RunRecord& run);
    /// The runs of one submit in one transaction: all of them or none. The first is the base of the
    /// others. Those whose key is known stay as they are, so that a group that an older version
    /// made in part becomes whole.
    Result<std::vector<Created>> createGroup(std::vector<RunRecord> runs);
    /// What a submit key stands for: its runs without documents, the base first.
    struct Group {
        std::vector<RunSummary> runs;  ///< none: the key is not known
        std::string specText;
        int size = 0;  ///< runs that the submit made; 0: not known
    };
    Result<Group> findGroup(std::string_view submitKey) const;
    /// Everything about one run but its large documents.
    Result<RunRecord> get(std::string_view id) const;
    /// "" when the run has none (any more).
    Result<std::string> document(std::string_view id, LargeDocument which) const;
    /// At most `bytesMax` of it, from `offset` on; none behind its end.
    Result<DocumentPage> documentPage(std::string_view id, LargeDocument which, std::int64_t offset,
                                      std::int64_t bytesMax) const;
    /// The run's id for an id, uid, submit key, name, or a unique prefix of id, uid or name. A name
    /// that several runs share is kInvalidArgument with their ids; a deleted run is found by id.
    Result<std::string> findId(std::string_view text) const;
    Result<RunPage> list(const RunQuery& query) const;
    /// The newest change cursor.
    Result<std::int64_t> changeCursor() const;
    /// The queue: runs in kQueued, in its order.
    struct WaitingRun {
        std::string id;
        std::int64_t resumeFrom = 0;
    };
    Result<std::vector<WaitingRun>> waiting() const;
    /// Ids of the runs that are starting, running or stopping, oldest first.
    Result<std::vector<std::string>> underWay() const;

    /// startedMs is set on the first kRunning, endedMs on a terminal state; a state back from a
    /// terminal one clears endedMs and the reason (resume).
    Status setState(std::string_view id, const StateChange& change);
    /// A new attempt, to go on from `resumeStep` (0: from the start). It replaces nothing yet: the
    /// commit of its first metrics, progress or checkpoint cuts what older attempts reported after
    /// that step, metrics and checkpoints at once. The same attempt twice is the same as once.
    /// `isRestart`: the run restarts by itself, which its `restarts` count.
    Status beginAttempt(std::string_view id, int attempt, std::int64_t resumeStep,
                        bool isRestart = false);
    /// The run's attempts, oldest first.
    Result<std::vector<AttemptRecord>> attempts(std::string_view id) const;
    /// Back to kQueued, behind all that wait; `resumeFrom` is kept until the next attempt. Refused
    /// (kFailedPrecondition) of a run that has not ended, and of a deleted one.
    Status requeue(std::string_view id, std::int64_t resumeFrom);
    /// Stores a worker's lines in one transaction; lines with a seq seen before are ignored.
    Result<LineCommit> commitLines(const LineBatch& batch);
    /// Keeps lines that commitLines cannot take, in one transaction; afterwards they may be
    /// acknowledged. What is over a run's bounds (above) is not kept: false then.
    Result<bool> quarantine(std::string_view id, const std::vector<QuarantinedLine>& lines);
    Result<std::vector<QuarantinedLine>> quarantined(std::string_view id) const;
    /// The newest stored seq of a worker, 0 before the first.
    Result<std::int64_t> ackedSeq(std::string_view id, int attempt, std::string_view worker) const;

    Result<MetricSeries> metrics(std::string_view id, std::string_view key,
                                 const MetricRange& range = {}) const;
    /// Several of a run at one moment, in the order asked for; much cheaper than one by one.
    Result<std::vector<MetricSeries>> metrics(std::string_view id,
                                              const std::vector<MetricRequest>& requests) const;
    /// The earliest step that an attempt after `attempt` resumed from: what older ones stored after
    /// it is void. Nothing while no newer attempt has begun.
    Result<std::optional<std::int64_t>> resumedFrom(std::string_view id, int attempt) const;
    /// Names of the run's metrics, sorted.
    Result<std::vector<std::string>> metricKeys(std::string_view id) const;

    /// Newest step first; `withDeleted`: also those that no attempt goes on from any more.
    Result<std::vector<CheckpointRecord>> checkpoints(std::string_view id,
                                                      bool withDeleted = false) const;
    /// Files that were found in the directory and the names that were not, in one transaction.
    Status reconcileCheckpoints(std::string_view id, const std::vector<CheckpointRecord>& found,
                                const std::vector<std::string>& gone);

    /// How far a worker's log has been read: an offset as engines/worker_log.h counts it.
    Result<std::int64_t> logOffset(std::string_view id, int attempt, std::string_view worker) const;
    Status setLogOffset(std::string_view id, int attempt, std::string_view worker,
                        std::int64_t offset);

    /// Also what lists show of it.
    Status setReceipt(std::string_view id, std::string_view receiptJson);
    /// Adds to the run's packages; the newest word counts.
    Status addPackages(std::string_view id, const std::map<std::string, std::string>& packages);
    Status setTag(std::string_view id, std::string_view key, std::string_view value);
    Status deleteTag(std::string_view id, std::string_view key);
    Status setNote(std::string_view id, std::string_view note);
    /// Hides a run from lists; refused while it is not in a terminal state.
    Status markDeleted(std::string_view id);
    Status restore(std::string_view id);
    /// Drops a deleted run's points, plan and checkpoints for good; what it was (spec, tags, note,
    /// newest values, receipt) stays. Its files are the caller's. Twice is the same as once.
    Status purge(std::string_view id);
    /// Says of a deleted run's checkpoints that their files go; refused of one that was restored.
    Status dropCheckpoints(std::string_view id);
    /// Runs that were deleted before `ms` and not purged.
    Result<std::vector<std::string>> deletedBefore(std::int64_t ms) const;
    /// Among `ids`, those of purged runs.
    Result<std::vector<std::string>> purgedAmong(const std::vector<std::string>& ids) const;
    /// Looks for damage over a connection of its own, so that nobody waits for it; without the
    /// indexes' content unless `isWhole`. Ends when `isUnwanted` (asked every few milliseconds):
    /// then kDeadlineExceeded.
    Result<StoreCheck> check(bool isWhole, const std::function<bool()>& isUnwanted) const;

 private:
    struct Connections {
        std::unique_ptr<Database> writer, reader, browser;
    };
    RunStore(std::string path, Connections connections, const Clock& clock);

    const std::string path_;
    const Clock& clock_;
    mutable Mutex writeMutex_, readMutex_, browseMutex_;
    std::unique_ptr<Database> writer_ MR_GUARDED_BY(writeMutex_);
    std::unique_ptr<Database> reader_ MR_GUARDED_BY(readMutex_);
    std::unique_ptr<Database> browser_ MR_GUARDED_BY(browseMutex_);
};

}  // namespace millrace::runs

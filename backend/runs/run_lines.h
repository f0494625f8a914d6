#pragma once
// RunLines: what grows while a run runs: its attempts, its workers' lines and how far each is
// stored.
//
// Threads: any. A commit that returned OK is on disk. Failure: as of RunStore.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/core/status.h"
#include "backend/runs/run_record.h"
#include "backend/values/metric_line.h"

namespace millrace::runs {

class StoreFile;

class Database;

/// One metrics line as a worker or the daemon reports it, its metrics by name.
struct ReportedLine {
    std::int64_t seq = 0;
    std::int64_t step = 0, epoch = 0, rows = 0, timeMs = 0;
    std::vector<std::pair<std::string, double>> values;
    /// Of several ranks, beside `values`.
    std::vector<std::pair<std::string, values::RankSummary>> summaries{};
    int rank = values::kNoRank;  ///< whose `values` they are; kNoRank: the run's own
};

/// Where a run stands, from the newest progress line.
struct Progress {
    std::int64_t step = 0, epoch = 0, rowsTrained = 0, stepsTotal = 0;
    std::string phase;
    values::PhaseTimes times{};  ///< that rank 0 has counted in this attempt
};

/// A rank's last step when it is done.
inline constexpr std::int64_t kAllEnded = INT64_MAX;

/// Lines of one worker that are committed together; afterwards `lastSeq` may be acknowledged.
struct LineBatch {
    std::string runId;
    int attempt = 1;
    std::string worker;        ///< "rank0", "feed"
    std::int64_t lastSeq = 0;  ///< of the newest line in the batch, whatever its kind
    std::vector<ReportedLine> metrics;
    std::vector<CheckpointRecord> checkpoints;  ///< refused from an attempt that is not the newest
    std::optional<Progress> progress;           ///< ignored from an attempt that is not the newest
    std::vector<ReportedLine> own;              ///< the daemon's: without seq, never sent again
    int rank = values::kNoRank;                 ///< the worker is this rank; kNoRank: it is none
    /// The last step that the rank has ended; kAllEnded: it begins no other. Nothing: not told.
    std::optional<std::int64_t> endedStep;
};

struct LineCommit {
    bool isOldAttempt = false;
    /// The attempt has begun, now or before: a rank of it has shown work.
    bool hasBegun = false;
    bool hasSettled = false;  ///< all ranks have ended the step of a checkpoint that waited for it
    int numIgnored = 0;       ///< lines that had been stored before
    std::string refusedKey;   ///< a metric whose values were left out: see kMetricKeysMax
};

/// Metrics that a run may have, and how long a name may be. Values of others are left out, and the
/// commit says so; everything else of the line is stored.
inline constexpr std::int64_t kMetricKeysMax = 10'000;
inline constexpr std::size_t kMetricKeyBytesMax = 250;
/// Lines of one run that are kept in quarantine, and their bytes.
inline constexpr std::int64_t kQuarantineMax = 1'000;
inline constexpr std::int64_t kQuarantineBytesMax = std::int64_t{16} << 20;

class RunLines {
 public:
    explicit RunLines(StoreFile& file) : file_(file) {}

    /// A new attempt, to go on from `resumeStep` (0: from the start). It replaces nothing yet: the
    /// commit of its first metrics, progress or checkpoint cuts what older attempts reported after
    /// that step, metrics and checkpoints at once. The same attempt twice is the same as once.
    /// `isRestart`: the run restarts by itself, which its `restarts` count. `numRanks`: that the
    /// attempt has; what they measure of themselves is summarized (rank_fold.h) where it is
    /// above 1. `doRanksMeet`: each step ends in all of them together; else a checkpoint counts
    /// once all have told that they ended its step.
    Status beginAttempt(std::string_view id, int attempt, std::int64_t resumeStep,
                        bool isRestart = false, int numRanks = 1, bool doRanksMeet = true);
    /// The run's attempts, oldest first.
    Result<std::vector<AttemptRecord>> attempts(std::string_view id) const;
    /// Stores lines of several workers in one transaction, all or none, in this order; lines with a
    /// seq seen before are ignored. One commit for each batch.
    Result<std::vector<LineCommit>> commitLines(std::span<const LineBatch> batches);
    Result<LineCommit> commitLines(const LineBatch& batch);
    /// Keeps lines that commitLines cannot take, in one transaction; afterwards they may be
    /// acknowledged. What is over a run's bounds (above) is not kept: false then.
    Result<bool> quarantine(std::string_view id, const std::vector<QuarantinedLine>& lines);
    Result<std::vector<QuarantinedLine>> quarantined(std::string_view id) const;
    /// The newest stored seq of a worker, 0 before the first.
    Result<std::int64_t> ackedSeq(std::string_view id, int attempt, std::string_view worker) const;

    /// How far a worker's log has been read: an offset as backend/job/worker_logs.h counts it.
    Result<std::int64_t> logOffset(std::string_view id, int attempt, std::string_view worker) const;
    Status setLogOffset(std::string_view id, int attempt, std::string_view worker,
                        std::int64_t offset);

 private:
    StoreFile& file_;
};

/// What an attempt replaces goes at the moment that it begins; nothing happens when it has. Inside
/// the caller's transaction.
Status beginOnce(Database& db, std::int64_t runNo, int attempt);
/// Checkpoints that waited count where all ranks of the attempt have told that they ended their
/// steps. Whether some do now. Inside the caller's transaction.
Result<bool> settleCheckpoints(Database& db, std::int64_t runNo, int attempt);

}  // namespace millrace::runs

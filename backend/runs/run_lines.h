#pragma once
// RunLines: the growing data of a run: its attempts, its workers' lines, and how far each worker's
// lines are stored.
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
    /// Summaries of several ranks, in addition to `values`.
    std::vector<std::pair<std::string, values::RankSummary>> summaries{};
    int rank = values::kNoRank;  ///< source of `values`; kNoRank: the run itself
};

/// A run's progress, from the newest progress line.
struct Progress {
    std::int64_t step = 0, epoch = 0, rowsTrained = 0, stepsTotal = 0;
    std::string phase;
    values::PhaseTimes times{};  ///< counted by rank 0 in this attempt
};

/// A rank's last step when it is done.
inline constexpr std::int64_t kAllEnded = INT64_MAX;

/// Lines of one worker that are committed together; afterwards `lastSeq` may be acknowledged.
struct LineBatch {
    std::string runId;
    int attempt = 1;
    std::string worker;        ///< "rank0", "feed"
    std::int64_t lastSeq = 0;  ///< of the newest line of any kind in the batch
    std::vector<ReportedLine> metrics;
    std::vector<CheckpointRecord> checkpoints;  ///< ignored from an attempt that is not the newest
    std::optional<Progress> progress;           ///< ignored from an attempt that is not the newest
    std::vector<ReportedLine> own;              ///< the daemon's: without seq, never resent
    int rank = values::kNoRank;                 ///< rank of the worker; kNoRank: not a rank
    /// The last step that the rank has ended; kAllEnded: it begins no other. Nothing: not reported.
    std::optional<std::int64_t> endedStep;
};

struct LineCommit {
    bool isOldAttempt = false;
    /// The attempt has begun, now or before: a rank of it has shown work.
    bool hasBegun = false;
    bool hasSettled = false;  ///< all ranks have ended the step of a checkpoint that waited for it
    int numIgnored = 0;       ///< lines stored before; checkpoints of an old attempt
    std::string refusedKey;   ///< a metric whose values were left out: see kMetricKeysMax
};

/// Limits on a run's number of metrics, and on the bytes of a name. Values of other metrics are
/// left out, and the commit reports that; everything else of the line is stored.
inline constexpr std::int64_t kMetricKeysMax = 10'000;
inline constexpr std::size_t kMetricKeyBytesMax = 250;

class RunLines {
 public:
    explicit RunLines(StoreFile& file) : file_(file) {}

    /// Adds an attempt that resumes from `resumeStep` (0: from the start). It replaces nothing yet:
    /// the commit of its first metrics, progress or checkpoint cuts the metrics and checkpoints
    /// that older attempts reported after that step, all at once. Idempotent for the same attempt.
    /// `isRestart`: the run restarts by itself, which its `restarts` count. `numRanks`: number of
    /// the attempt's ranks; above 1, their measurements are summarized (rank_fold.h).
    /// `doRanksMeet`: each step ends in all of them together; otherwise a checkpoint counts once
    /// all have reported that they ended its step.
    Status beginAttempt(std::string_view id, int attempt, std::int64_t resumeStep,
                        bool isRestart = false, int numRanks = 1, bool doRanksMeet = true);
    /// The run's attempts, oldest first.
    Result<std::vector<AttemptRecord>> attempts(std::string_view id) const;
    /// Stores lines of several workers in one transaction, all or none, in this order; ignores
    /// lines with a seq seen before. Returns one commit per batch.
    Result<std::vector<LineCommit>> commitLines(std::span<const LineBatch> batches);
    Result<LineCommit> commitLines(const LineBatch& batch);
    /// Counts a worker's lines up to `lastSeq` as seen, for lines that commitLines() cannot take:
    /// afterwards they may be acknowledged. Does nothing for an unknown run.
    Status skipLines(std::string_view id, int attempt, std::string_view worker,
                     std::int64_t lastSeq);
    /// The newest stored seq of a worker, 0 before the first.
    Result<std::int64_t> ackedSeq(std::string_view id, int attempt, std::string_view worker) const;

 private:
    StoreFile& file_;
};

/// Drops what an attempt replaces when the attempt begins; does nothing if it has begun. Inside the
/// caller's transaction.
Status beginOnce(Database& db, std::int64_t runNo, int attempt);
/// Lets waiting checkpoints count if all ranks of the attempt have reported that they ended their
/// steps. Returns whether some count now. Inside the caller's transaction.
Result<bool> settleCheckpoints(Database& db, std::int64_t runNo, int attempt);

}  // namespace millrace::runs

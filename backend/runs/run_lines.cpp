#include "backend/runs/run_lines.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "backend/runs/line_writer.h"
#include "backend/runs/metrics/metric_table.h"
#include "backend/runs/metrics/rank_fold.h"
#include "backend/runs/run_checkpoints.h"
#include "backend/runs/run_figures.h"
#include "backend/runs/run_rows.h"

namespace millrace::runs {
namespace {

Result<std::int64_t> workerNumber(Database& db, std::int64_t no, int attempt,
                                  std::string_view worker, std::string_view column) {
    ASSIGN_OR_RETURN(
        Statement query,
        db.prepare(strCat("SELECT ", column,
                          " FROM worker WHERE run_no = ? AND attempt = ? AND worker = ?"),
                   no, attempt, worker));
    ASSIGN_OR_RETURN(const bool isThere, query.step());
    return isThere ? query.intAt(0) : 0;
}

Status setWorkerNumber(Database& db, std::int64_t no, int attempt, std::string_view worker,
                       std::string_view column, std::int64_t value) {
    return db.run(
        strCat("INSERT INTO worker(run_no, attempt, worker, ", column,
               ") VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE SET ", column, " = excluded.", column),
        no, attempt, worker, value);
}

Status writeProgress(Database& db, std::int64_t no, int attempt, const Progress& p,
                     std::int64_t nowMs) {
    RETURN_IF_ERROR(writeTimes(db, no, attempt, p.times, nowMs));
    ASSIGN_OR_RETURN(
        Statement update,
        db.prepare("UPDATE run SET step = ?1, epoch = ?2, rows_trained = ?3, steps_total = CASE "
                   "WHEN ?4 > 0 THEN max(?1, ?4) WHEN steps_total > 0 THEN max(?1, steps_total) "
                   "ELSE 0 END, phase = ?5 WHERE no = ?6"));
    return update.bind(p.step)
        .bind(p.epoch)
        .bind(p.rowsTrained)
        .bind(p.stepsTotal)
        .bind(p.phase)
        .bind(no)
        .run();
}

// Metrics of a step are reported at once, progress only now and then. If rank 0 was killed, the
// metrics show better how far it was.
Status writeStep(Database& db, std::int64_t no, const LineBatch& batch) {
    const auto newest = std::ranges::max_element(
        batch.metrics, [](const auto& a, const auto& b) { return a.step < b.step; });
    if (batch.rank != 0 || newest == batch.metrics.end()) {
        return okStatus();
    }
    return db.run(
        "UPDATE run SET step = ?1, epoch = ?2, rows_trained = ?3 WHERE no = ?4 AND step < ?1",
        newest->step, newest->epoch, newest->rows, no);
}

Result<std::vector<std::string>> takeLatestAfter(Database& db, std::int64_t no, std::int64_t step) {
    return db.select(firstText,
                     "DELETE FROM latest_metric WHERE run_no = ?1 AND "
                     "(step > ?2 OR best_step > ?2) RETURNING key",
                     no, step);
}

// Recomputes the latest and best values of metrics whose newest or best points a resume has
// dropped.
Status recomputeLatest(Database& db, std::int64_t no, std::int64_t resumeStep) {
    ASSIGN_OR_RETURN(const std::vector<std::string> keys, takeLatestAfter(db, no, resumeStep));
    MetricReader reader(db, no, "");
    ASSIGN_OR_RETURN(Statement insert,
                     db.prepare("INSERT INTO latest_metric(run_no, key, step, attempt, epoch, "
                                "rows, time_ms, value) VALUES(?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const std::string& key : keys) {
        ASSIGN_OR_RETURN(const std::optional<values::MetricPoint> last, reader.last(key));
        if (last) {
            insert.bind(no).bind(key).bind(last->step).bind(last->attempt).bind(last->epoch);
            RETURN_IF_ERROR(insert.bind(last->rows).bind(last->timeMs).bind(last->value).run());
            if (values::isBestKept(key)) {
                ASSIGN_OR_RETURN(const auto best, readBest(db, no, key));
                RETURN_IF_ERROR(setBest(db, no, key, best));
            }
        }
    }
    return okStatus();
}

// Whether the lines show that the attempt makes progress of its own: a rank has trained or
// evaluated. Feeds and relays count rows before any rank has loaded its weights, and a rank reports
// that it waits.
bool showsWork(const LineBatch& batch, std::int64_t resumeStep) {
    if (batch.rank == values::kNoRank) {
        return false;
    }
    return !batch.metrics.empty() || !batch.checkpoints.empty() ||
           (batch.progress && batch.progress->step > resumeStep);
}

// Begins the newest attempt with lines that show work. Until it has begun, its feed's counts belong
// to the step from which it resumes: returns that step as the limit, else INT64_MAX.
Result<std::int64_t> beginWith(Database& db, std::int64_t no, const LineBatch& batch) {
    ASSIGN_OR_RETURN(
        Statement query,
        db.prepare(
            "SELECT resume_step FROM attempt WHERE run_no = ? AND attempt = ? AND has_begun = 0",
            no, batch.attempt));
    ASSIGN_OR_RETURN(const bool isWaiting, query.step());
    if (!isWaiting) {
        return INT64_MAX;
    }
    const std::int64_t resumeStep = query.intAt(0);
    ASSIGN_OR_RETURN(const bool isMore, query.step());
    INVARIANT(!isMore, "an attempt of a run is one row");
    if (!showsWork(batch, resumeStep)) {
        return resumeStep;
    }
    RETURN_IF_ERROR(beginOnce(db, no, batch.attempt));
    return INT64_MAX;
}

// The first checkpoint of an attempt behind `settled`; 0: none waits.
Result<std::int64_t> firstWaiting(Database& db, std::int64_t no, int attempt,
                                  std::int64_t settled) {
    ASSIGN_OR_RETURN(Statement query,
                     db.prepare("SELECT min(step) FROM checkpoint WHERE run_no = ? AND attempt = ? "
                                "AND is_deleted = 0 AND step > ?",
                                no, attempt, settled));
    ASSIGN_OR_RETURN(const bool isRow, query.step());
    return isRow ? query.intAt(0) : 0;
}

// The step that all ranks of an attempt have reported as ended; 0: a rank has not reported any.
Result<std::int64_t> endedByAll(Database& db, std::int64_t no, int attempt, std::int64_t ranks) {
    ASSIGN_OR_RETURN(Statement query,
                     db.prepare("SELECT count(*), min(ended_step) FROM worker WHERE run_no = ? AND "
                                "attempt = ? AND ended_step > 0",
                                no, attempt));
    ASSIGN_OR_RETURN(const bool isRow, query.step());
    return isRow && query.intAt(0) >= ranks ? query.intAt(1) : 0;
}

struct Settled {
    std::int64_t step = kAllEnded;  // kAllEnded: the attempt's ranks meet at each step
    std::int64_t numRanks = 1;
};

Result<Settled> settledOf(Database& db, std::int64_t no, int attempt) {
    ASSIGN_OR_RETURN(
        Statement query,
        db.prepare("SELECT settled_step, num_ranks FROM attempt WHERE run_no = ? AND attempt = ?",
                   no, attempt));
    ASSIGN_OR_RETURN(const bool isRow, query.step());
    return isRow ? Settled{query.intAt(0), query.intAt(1)} : Settled{};
}

// A rank has ended a step. Returns whether a checkpoint that waited for it counts now.
Result<bool> endStep(Database& db, std::int64_t no, const LineBatch& batch) {
    ASSIGN_OR_RETURN(const Settled settled, settledOf(db, no, batch.attempt));
    if (settled.step == kAllEnded) {
        return false;
    }
    ASSIGN_OR_RETURN(const std::int64_t before,
                     workerNumber(db, no, batch.attempt, batch.worker, "ended_step"));
    if (*batch.endedStep > before) {
        RETURN_IF_ERROR(
            setWorkerNumber(db, no, batch.attempt, batch.worker, "ended_step", *batch.endedStep));
    }
    return settleCheckpoints(db, no, batch.attempt);
}

// Writes the metric lines of one commit; lines of a rank among several are treated separately.
class BatchLines {
 public:
    BatchLines(Database& db, std::int64_t no, const LineBatch& batch, AttemptLimits limits)
        : db_(db),
          no_(no),
          batch_(batch),
          writer_(db, no, batch.attempt, std::move(limits)),
          fold_(db, no, batch.attempt) {}

    /// Lines up to `acked` are already stored; lines beyond `lastStep` are moved to it.
    Status write(std::int64_t acked, std::int64_t lastStep, LineCommit& commit) {
        if (batch_.rank != values::kNoRank) {
            ASSIGN_OR_RETURN(numRanks_, fold_.numRanks());
        }
        std::unordered_set<std::int64_t> seen;
        std::int64_t newest = 0;
        for (const ReportedLine& line : batch_.metrics) {
            if (line.seq <= acked || !seen.insert(line.seq).second) {
                ++commit.numIgnored;
                continue;
            }
            const ReportedLine* placed = &line;
            if (line.step > lastStep) {
                made_.push_back(line);
                made_.back().step = lastStep;
                placed = &made_.back();
            }
            newest = std::max(newest, placed->step);
            RETURN_IF_ERROR(numRanks_ > 1 ? writeOfRank(*placed) : writer_.write(*placed));
        }
        for (const ReportedLine& line : batch_.own) {
            RETURN_IF_ERROR(writer_.write(line));
        }
        if (numRanks_ > 1 && newest > 0) {
            RETURN_IF_ERROR(writeSettled(newest));
        }
        RETURN_IF_ERROR(writer_.finish(commit.isOldAttempt));
        commit.refusedKey = writer_.refusedKey();
        return okStatus();
    }

 private:
    Status writeOfRank(const ReportedLine& line) {
        RankParts parts = partsOf(line, batch_.rank);
        RETURN_IF_ERROR(fold_.add(batch_.rank, parts.ofRank));
        for (ReportedLine* part : {&parts.own, &parts.ofRank}) {
            const bool isKept = part->rank == values::kNoRank || numRanks_ <= kRanksKept;
            if (isKept && !part->values.empty()) {
                made_.push_back(std::move(*part));
                RETURN_IF_ERROR(writer_.write(made_.back()));
            }
        }
        return okStatus();
    }

    // The rank has reached a step: steps that all ranks have reached become lines of the run.
    Status writeSettled(std::int64_t newest) {
        ASSIGN_OR_RETURN(const std::int64_t before,
                         workerNumber(db_, no_, batch_.attempt, batch_.worker, "step"));
        if (newest > before) {
            RETURN_IF_ERROR(
                setWorkerNumber(db_, no_, batch_.attempt, batch_.worker, "step", newest));
        }
        ASSIGN_OR_RETURN(std::vector<ReportedLine> settled, fold_.takeSettled());
        for (ReportedLine& line : settled) {
            made_.push_back(std::move(line));
            RETURN_IF_ERROR(writer_.write(made_.back()));
        }
        return okStatus();
    }

    Database& db_;
    const std::int64_t no_;
    const LineBatch& batch_;
    LineWriter writer_;
    RankFold fold_;
    int numRanks_ = 1;
    std::deque<ReportedLine> made_;  // the writer refers to its lines until finish()
};

}  // namespace

// Checks further only while a checkpoint waits, as ranks report very many steps.
Result<bool> settleCheckpoints(Database& db, std::int64_t no, int attempt) {
    ASSIGN_OR_RETURN(const Settled settled, settledOf(db, no, attempt));
    ASSIGN_OR_RETURN(const std::int64_t waiting, firstWaiting(db, no, attempt, settled.step));
    if (waiting == 0) {
        return false;
    }
    ASSIGN_OR_RETURN(const std::int64_t ended, endedByAll(db, no, attempt, settled.numRanks));
    if (ended < waiting) {
        return false;
    }
    RETURN_IF_ERROR(settleUpTo(db, no, attempt, ended));
    return true;
}

Status beginOnce(Database& db, std::int64_t no, int attempt) {
    ASSIGN_OR_RETURN(Statement begin,
                     db.prepare("UPDATE attempt SET has_begun = 1 WHERE run_no = ? AND attempt = ? "
                                "AND has_begun = 0 RETURNING resume_step",
                                no, attempt));
    ASSIGN_OR_RETURN(const bool isFirst, begin.step());
    if (!isFirst) {
        return okStatus();
    }
    const std::int64_t resumeStep = begin.intAt(0);
    ASSIGN_OR_RETURN(const bool isMore, begin.step());
    INVARIANT(!isMore, "an attempt of a run is one row");
    RETURN_IF_ERROR(db.run("UPDATE run SET step = ? WHERE no = ?", resumeStep, no));
    RETURN_IF_ERROR(
        db.run("UPDATE checkpoint SET is_deleted = 1 WHERE run_no = ? AND step > ? AND attempt < ?",
               no, resumeStep, attempt));
    RETURN_IF_ERROR(writeOpenSteps(db, no));
    RETURN_IF_ERROR(MetricWriter(db, no).cutAfter(resumeStep));
    return recomputeLatest(db, no, resumeStep);
}

Status RunLines::beginAttempt(std::string_view id, int attempt, std::int64_t resumeStep,
                              bool isRestart, int numRanks, bool doRanksMeet) {
    MutexLock lock(file_.writeMutex);
    Database& db = *file_.writer;
    ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(db, id));
    ASSIGN_OR_RETURN(const std::int64_t current, currentAttempt(db, no));
    if (attempt == current) {
        return okStatus();
    }
    if (attempt < current) {
        return failedPrecondition("run ", id, ": attempt ", attempt, " is over; the newest is ",
                                  current);
    }
    const std::int64_t nowMs = file_.clock.wallMs();
    RETURN_IF_ERROR(closeTimes(db, no, current, nowMs, false));
    RETURN_IF_ERROR(
        db.run("INSERT INTO attempt(run_no, attempt, resume_step, started_ms, has_begun, "
               "num_ranks, settled_step) VALUES(?, ?, ?, ?, 0, ?, ?)",
               no, attempt, resumeStep, nowMs, std::max(numRanks, 1),
               doRanksMeet ? kAllEnded : resumeStep));
    RETURN_IF_ERROR(
        db.run("UPDATE run SET attempt = ?1, restarts = restarts + ?2, resume_from = 0, phase = '' "
               "WHERE no = ?3",
               attempt, isRestart ? 1 : 0, no));
    RETURN_IF_ERROR(touchRun(db, no));
    return transaction.commit();
}

namespace {

// Runs inside the caller's transaction.
Result<LineCommit> writeBatch(Database& db, const LineBatch& batch, std::int64_t nowMs) {
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(db, batch.runId));
    ASSIGN_OR_RETURN(const std::int64_t current, currentAttempt(db, no));
    if (batch.attempt > current) {
        return failedPrecondition("run ", batch.runId, ": attempt ", batch.attempt,
                                  " has not begun");
    }
    ASSIGN_OR_RETURN(const std::int64_t acked,
                     workerNumber(db, no, batch.attempt, batch.worker, "acked_seq"));
    LineCommit commit{.isOldAttempt = batch.attempt < current};
    std::int64_t lastStep = INT64_MAX;  // highest step that the lines may have
    if (!commit.isOldAttempt) {
        ASSIGN_OR_RETURN(lastStep, beginWith(db, no, batch));
        commit.hasBegun = lastStep == INT64_MAX;
    }
    ASSIGN_OR_RETURN(AttemptLimits limits, AttemptLimits::read(db, no));
    BatchLines lines(db, no, batch, std::move(limits));
    RETURN_IF_ERROR(lines.write(acked, lastStep, commit));
    for (const CheckpointRecord& checkpoint : batch.checkpoints) {
        if (checkpoint.seq <= acked || commit.isOldAttempt) {
            ++commit.numIgnored;
            continue;
        }
        RETURN_IF_ERROR(writeCheckpoint(db, no, batch.attempt, checkpoint));
    }
    if (!commit.isOldAttempt && batch.rank != values::kNoRank && batch.endedStep) {
        ASSIGN_OR_RETURN(commit.hasSettled, endStep(db, no, batch));
    }
    if (!commit.isOldAttempt && batch.lastSeq > acked) {
        if (batch.progress) {
            RETURN_IF_ERROR(writeProgress(db, no, batch.attempt, *batch.progress, nowMs));
        }
        RETURN_IF_ERROR(writeStep(db, no, batch));
    }
    if (batch.lastSeq > acked) {
        RETURN_IF_ERROR(
            setWorkerNumber(db, no, batch.attempt, batch.worker, "acked_seq", batch.lastSeq));
    }
    if (batch.lastSeq > acked || !batch.own.empty()) {
        RETURN_IF_ERROR(touchRun(db, no));
    }
    return commit;
}

}  // namespace

Result<std::vector<LineCommit>> RunLines::commitLines(std::span<const LineBatch> batches) {
    MutexLock lock(file_.writeMutex);
    Database& db = *file_.writer;
    ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
    std::vector<LineCommit> commits;
    for (const LineBatch& batch : batches) {
        ASSIGN_OR_RETURN(commits.emplace_back(), writeBatch(db, batch, file_.clock.wallMs()));
    }
    RETURN_IF_ERROR(transaction.commit());
    return commits;
}

Result<LineCommit> RunLines::commitLines(const LineBatch& batch) {
    ASSIGN_OR_RETURN(const auto commits, commitLines(std::span(&batch, 1)));
    return commits.front();
}

Status RunLines::skipLines(std::string_view id, int attempt, std::string_view worker,
                           std::int64_t lastSeq) {
    MutexLock lock(file_.writeMutex);
    Database& db = *file_.writer;
    ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
    const Result<std::int64_t> no = runNo(db, id);
    if (absl::IsNotFound(no.status())) {
        return okStatus();
    }
    RETURN_IF_ERROR(no.status());
    ASSIGN_OR_RETURN(const std::int64_t acked, workerNumber(db, *no, attempt, worker, "acked_seq"));
    if (lastSeq > acked) {
        RETURN_IF_ERROR(setWorkerNumber(db, *no, attempt, worker, "acked_seq", lastSeq));
    }
    return transaction.commit();
}

Result<std::int64_t> RunLines::ackedSeq(std::string_view id, int attempt,
                                        std::string_view worker) const {
    MutexLock lock(file_.readMutex);
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(*file_.reader, id));
    return workerNumber(*file_.reader, no, attempt, worker, "acked_seq");
}

Result<std::vector<AttemptRecord>> RunLines::attempts(std::string_view id) const {
    MutexLock lock(file_.readMutex);
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(*file_.reader, id));
    ASSIGN_OR_RETURN(
        Statement query,
        file_.reader->prepare("SELECT attempt, resume_step, has_begun, num_ranks, settled_step, "
                              "started_ms, busy_ms, stall_ms, evaluate_ms, checkpoint_ms, "
                              "start_ms, ending_ms FROM attempt WHERE run_no = ? ORDER BY attempt",
                              no));
    std::vector<AttemptRecord> all;
    RETURN_IF_ERROR(query.forEach([&](const Statement& row) {
        all.push_back({static_cast<int>(row.intAt(0)), row.intAt(1), row.intAt(2) != 0,
                       static_cast<int>(row.intAt(3)), row.intAt(4), row.intAt(5)});
        int column = 6;
        for (const auto part : values::PhaseTimes::parts()) {
            all.back().times.*part = row.doubleAt(column++);
        }
    }));
    return all;
}

}  // namespace millrace::runs

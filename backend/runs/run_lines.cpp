// RunStore, the part that grows while a run runs: attempts, workers' lines, checkpoints, offsets.
#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "backend/runs/database.h"
#include "backend/runs/metric_table.h"
#include "backend/runs/run_figures.h"
#include "backend/runs/run_rows.h"
#include "backend/runs/run_store.h"

namespace millrace::runs {
namespace {

Result<std::int64_t> workerNumber(Database& db, std::int64_t no, int attempt,
                                  std::string_view worker, std::string_view column) {
    ASSIGN_OR_RETURN(Statement query, db.prepare(strCat("SELECT ", column,
                                                        " FROM worker WHERE run_no = ? AND "
                                                        "attempt = ? AND worker = ?")));
    ASSIGN_OR_RETURN(const bool isThere, query.bind(no).bind(attempt).bind(worker).step());
    return isThere ? query.intAt(0) : 0;
}

Status setWorkerNumber(Database& db, std::int64_t no, int attempt, std::string_view worker,
                       std::string_view column, std::int64_t value) {
    ASSIGN_OR_RETURN(Statement upsert,
                     db.prepare(strCat("INSERT INTO worker(run_no, attempt, worker, ", column,
                                       ") VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE SET ", column,
                                       " = excluded.", column)));
    return upsert.bind(no).bind(attempt).bind(worker).bind(value).run();
}

// Metric lines of a batch on their way into the tail; the newest value of each metric beside them.
class LineWriter {
 public:
    LineWriter(Database& db, std::int64_t no, int attempt, AttemptLimits limits)
        : db_(db), no_(no), attempt_(attempt), limits_(std::move(limits)), metrics_(db, no),
          figures_(db, no, attempt) {}

    /// What a newer attempt has made void is not kept.
    Status write(const MetricLine& line) {
        if (!limits_.isVisible(attempt_, line.step)) {
            return okStatus();
        }
        bool isWhole = true;
        for (const auto& [key, value] : line.values) {
            ASSIGN_OR_RETURN(const bool isAdmitted, admits(key));
            if (!isAdmitted) {
                isWhole = false;
                refusedKey_ = refusedKey_.empty() ? key : refusedKey_;
                continue;
            }
            Newest& newest = newest_[key];
            const auto order = [](const MetricLine& l) { return std::pair(l.step, l.timeMs); };
            if (newest.line == nullptr || order(line) >= order(*newest.line)) {
                newest = {&line, value};
            }
        }
        if (isWhole) {
            return store(line);
        }
        MetricLine rest = line;
        std::erase_if(rest.values, [&](const auto& v) { return !newest_.contains(v.first); });
        return rest.values.empty() ? okStatus() : store(rest);
    }

    /// The first of the metrics that were left out: see kMetricKeysMax.
    const std::string& refusedKey() const { return refusedKey_; }

    Status finish(bool isOldAttempt) {
        for (const auto& [key, newest] : newest_) {
            RETURN_IF_ERROR(writeLatest(key, *newest.line, newest.value));
        }
        RETURN_IF_ERROR(figures_.finish(isOldAttempt));
        return newest_.empty() ? okStatus() : metrics_.sealIfLong();
    }

 private:
    struct Newest {
        const MetricLine* line = nullptr;
        double value = 0;
    };

    Status store(const MetricLine& line) {
        RETURN_IF_ERROR(figures_.add(line));
        return metrics_.append(attempt_, line);
    }

    // Looks a name up only when the run may have all the names it may have.
    Result<bool> admits(const std::string& key) {
        if (key.size() > kMetricKeyBytesMax) {
            return false;
        }
        if (newest_.contains(key)) {
            return true;
        }
        if (numKeys_ < 0) {
            ASSIGN_OR_RETURN(numKeys_, db_.queryInt(strCat("SELECT count(*) FROM latest_metric "
                                                           "WHERE run_no = ",
                                                           no_)));
        }
        if (numKeys_ + static_cast<std::int64_t>(newest_.size()) < kMetricKeysMax) {
            return true;
        }
        if (numNew_ < 0) {
            numNew_ = 0;
            for (const auto& [name, newest] : newest_) {
                ASSIGN_OR_RETURN(const bool isOld, isKnown(name));
                numNew_ += isOld ? 0 : 1;
            }
        }
        ASSIGN_OR_RETURN(const bool isOld, isKnown(key));
        if (!isOld && numKeys_ + numNew_ >= kMetricKeysMax) {
            return false;
        }
        numNew_ += isOld ? 0 : 1;
        return true;
    }

    Result<bool> isKnown(std::string_view key) {
        ASSIGN_OR_RETURN(Statement query, db_.prepare("SELECT 1 FROM latest_metric WHERE "
                                                      "run_no = ? AND key = ?"));
        return query.bind(no_).bind(key).step();
    }

    Status writeLatest(std::string_view key, const MetricLine& line, double value) {
        ASSIGN_OR_RETURN(
            Statement upsert,
            db_.prepare(
                "INSERT INTO latest_metric(run_no, key, step, attempt, epoch, rows, time_ms, "
                "value) VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                "step = excluded.step, attempt = excluded.attempt, epoch = excluded.epoch, "
                "rows = excluded.rows, time_ms = excluded.time_ms, value = excluded.value "
                "WHERE (excluded.attempt, excluded.step, excluded.time_ms) >= "
                "(latest_metric.attempt, latest_metric.step, latest_metric.time_ms)"));
        upsert.bind(no_).bind(key).bind(line.step).bind(attempt_).bind(line.epoch);
        return upsert.bind(line.rows).bind(line.timeMs).bind(value).run();
    }

    Database& db_;
    const std::int64_t no_;
    const int attempt_;
    const AttemptLimits limits_;
    MetricWriter metrics_;
    FigureWriter figures_;
    std::unordered_map<std::string_view, Newest> newest_;  // views of the batch's lines
    std::int64_t numKeys_ = -1;  // of the run before this batch
    std::int64_t numNew_ = -1;   // of this batch's keys, those that it had not; -1: not counted
    std::string refusedKey_;
};

Status writeCheckpoint(Database& db, std::int64_t no, int attempt, const CheckpointRecord& c) {
    ASSIGN_OR_RETURN(Statement insert, db.prepare("INSERT OR REPLACE INTO checkpoint "
                                                  "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)"));
    insert.bind(no).bind(c.step).bind(attempt).bind(c.seq).bind(c.epoch).bind(c.name);
    return insert.bind(c.bytes).bind(c.hash).bind(c.cursor).bind(c.timeMs).run();
}

Status writeProgress(Database& db, std::int64_t no, const Progress& p) {
    ASSIGN_OR_RETURN(Statement update,
                     db.prepare("UPDATE run SET step = ?1, epoch = ?2, rows_trained = ?3, "
                                "steps_total = CASE WHEN ?4 > 0 THEN ?4 ELSE steps_total END, "
                                "phase = ?5 WHERE no = ?6"));
    return update.bind(p.step)
        .bind(p.epoch)
        .bind(p.rowsTrained)
        .bind(p.stepsTotal)
        .bind(p.phase)
        .bind(no)
        .run();
}

Result<std::vector<std::string>> takeLatestAfter(Database& db, std::int64_t no, std::int64_t step) {
    std::vector<std::string> keys;
    ASSIGN_OR_RETURN(Statement remove,
                     db.prepare("DELETE FROM latest_metric WHERE run_no = ?1 AND (step > ?2 OR "
                                "best_step > ?2) RETURNING key"));
    remove.bind(no).bind(step);
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, remove.step());
        if (!isRow) {
            return keys;
        }
        keys.push_back(remove.textAt(0));
    }
}

// The latest and best values of metrics whose newest or best points a resume has just dropped.
Status recomputeLatest(Database& db, std::int64_t no, std::int64_t resumeStep) {
    ASSIGN_OR_RETURN(const std::vector<std::string> keys, takeLatestAfter(db, no, resumeStep));
    MetricReader reader(db, no, "");
    ASSIGN_OR_RETURN(Statement insert,
                     db.prepare("INSERT INTO latest_metric(run_no, key, step, attempt, epoch, "
                                "rows, time_ms, value) VALUES(?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const std::string& key : keys) {
        ASSIGN_OR_RETURN(const std::optional<MetricPoint> last, reader.last(key));
        if (last) {
            insert.bind(no).bind(key).bind(last->step).bind(last->attempt).bind(last->epoch);
            RETURN_IF_ERROR(insert.bind(last->rows).bind(last->timeMs).bind(last->value).run());
            if (isBestKept(key)) {
                ASSIGN_OR_RETURN(const auto best, readBest(db, no, key));
                RETURN_IF_ERROR(setBest(db, no, key, best));
            }
        }
    }
    return okStatus();
}

CheckpointRecord readCheckpoint(const Statement& row) {
    CheckpointRecord c;
    c.step = row.intAt(0);
    c.attempt = static_cast<int>(row.intAt(1));
    c.seq = row.intAt(2);
    c.epoch = row.intAt(3);
    c.name = row.textAt(4);
    c.bytes = row.intAt(5);
    c.hash = row.textAt(6);
    c.cursor = row.textAt(7);
    c.timeMs = row.intAt(8);
    c.isDeleted = row.intAt(9) != 0;
    return c;
}

Status dropCheckpoint(Database& db, std::int64_t no, const std::string& name) {
    ASSIGN_OR_RETURN(Statement update, db.prepare("UPDATE checkpoint SET is_deleted = 1 "
                                                  "WHERE run_no = ? AND name = ?"));
    return update.bind(no).bind(name).run();
}

// Whether the lines show that the attempt goes its own way: a rank has trained or evaluated. The
// feed counts rows before any rank has loaded its weights, and a rank says that it waits.
bool showsWork(const LineBatch& batch, std::int64_t resumeStep) {
    if (batch.worker == "feed") {
        return false;
    }
    return !batch.metrics.empty() || !batch.checkpoints.empty() ||
           (batch.progress && batch.progress->step > resumeStep);
}

// What the attempt replaces goes at the moment that it begins; nothing happens when it has.
Status beginOnce(Database& db, std::int64_t no, int attempt) {
    ASSIGN_OR_RETURN(Statement begin,
                     db.prepare("UPDATE attempt SET has_begun = 1 WHERE run_no = ? AND "
                                "attempt = ? AND has_begun = 0 RETURNING resume_step"));
    ASSIGN_OR_RETURN(const bool isFirst, begin.bind(no).bind(attempt).step());
    if (!isFirst) {
        return okStatus();
    }
    const std::int64_t resumeStep = begin.intAt(0);
    ASSIGN_OR_RETURN(const bool isMore, begin.step());
    INVARIANT(!isMore, "an attempt of a run is one row");
    ASSIGN_OR_RETURN(Statement step, db.prepare("UPDATE run SET step = ? WHERE no = ?"));
    RETURN_IF_ERROR(step.bind(resumeStep).bind(no).run());
    ASSIGN_OR_RETURN(Statement drop, db.prepare("UPDATE checkpoint SET is_deleted = 1 WHERE "
                                                "run_no = ? AND step > ? AND attempt < ?"));
    RETURN_IF_ERROR(drop.bind(no).bind(resumeStep).bind(attempt).run());
    RETURN_IF_ERROR(MetricWriter(db, no).cutAfter(resumeStep));
    return recomputeLatest(db, no, resumeStep);
}

// Begins the newest attempt with lines that show work. Until it has begun, what its feed counts
// stands at the step that it goes on from: the limit that is returned, else INT64_MAX.
Result<std::int64_t> beginWith(Database& db, std::int64_t no, const LineBatch& batch) {
    ASSIGN_OR_RETURN(Statement query, db.prepare("SELECT resume_step FROM attempt WHERE run_no = ? "
                                                 "AND attempt = ? AND has_begun = 0"));
    ASSIGN_OR_RETURN(const bool isWaiting, query.bind(no).bind(batch.attempt).step());
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

Result<std::int64_t> currentAttempt(Database& db, std::int64_t no) {
    return db.queryInt(strCat("SELECT attempt FROM run WHERE no = ", no));
}

}  // namespace

Status RunStore::beginAttempt(std::string_view id, int attempt, std::int64_t resumeStep,
                              bool isRestart) {
    MutexLock lock(writeMutex_);
    Database& db = *writer_;
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
    ASSIGN_OR_RETURN(Statement insert, db.prepare("INSERT INTO attempt(run_no, attempt, "
                                                  "resume_step, started_ms, has_begun) "
                                                  "VALUES(?, ?, ?, ?, 0)"));
    RETURN_IF_ERROR(insert.bind(no).bind(attempt).bind(resumeStep).bind(clock_.wallMs()).run());
    ASSIGN_OR_RETURN(Statement update,
                     db.prepare("UPDATE run SET attempt = ?1, restarts = restarts + ?2, "
                                "resume_from = 0, phase = '' WHERE no = ?3"));
    update.bind(attempt).bind(isRestart ? 1 : 0).bind(no);
    RETURN_IF_ERROR(update.run());
    RETURN_IF_ERROR(touchRun(db, no));
    return transaction.commit();
}

Result<LineCommit> RunStore::commitLines(const LineBatch& batch) {
    MutexLock lock(writeMutex_);
    Database& db = *writer_;
    ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(db, batch.runId));
    ASSIGN_OR_RETURN(const std::int64_t current, currentAttempt(db, no));
    if (batch.attempt > current) {
        return failedPrecondition("run ", batch.runId, ": attempt ", batch.attempt,
                                  " has not begun");
    }
    ASSIGN_OR_RETURN(const std::int64_t acked,
                     workerNumber(db, no, batch.attempt, batch.worker, "acked_seq"));
    LineCommit commit{std::max(acked, batch.lastSeq), batch.attempt < current};
    std::int64_t lastStep = INT64_MAX;  // that the lines may stand at
    if (!commit.isOldAttempt) {
        ASSIGN_OR_RETURN(lastStep, beginWith(db, no, batch));
    }
    ASSIGN_OR_RETURN(AttemptLimits limits, AttemptLimits::read(db, no));
    std::deque<MetricLine> early;  // the writer looks at its lines until it has finished
    LineWriter writer(db, no, batch.attempt, std::move(limits));
    std::unordered_set<std::int64_t> seen;
    for (const MetricLine& line : batch.metrics) {
        if (line.seq <= acked || !seen.insert(line.seq).second) {
            ++commit.numIgnored;
            continue;
        }
        if (line.step <= lastStep) {
            RETURN_IF_ERROR(writer.write(line));
            continue;
        }
        early.push_back(line);
        early.back().step = lastStep;
        RETURN_IF_ERROR(writer.write(early.back()));
    }
    for (const MetricLine& line : batch.own) {
        RETURN_IF_ERROR(writer.write(line));
    }
    RETURN_IF_ERROR(writer.finish(commit.isOldAttempt));
    commit.refusedKey = writer.refusedKey();
    for (const CheckpointRecord& checkpoint : batch.checkpoints) {
        if (checkpoint.seq <= acked || commit.isOldAttempt) {
            ++commit.numIgnored;
            continue;
        }
        RETURN_IF_ERROR(writeCheckpoint(db, no, batch.attempt, checkpoint));
    }
    if (!commit.isOldAttempt && batch.lastSeq > acked) {
        if (batch.progress) {
            RETURN_IF_ERROR(writeProgress(db, no, *batch.progress));
        }
        if (!batch.receipt.empty()) {
            RETURN_IF_ERROR(writeReceipt(db, no, batch.receipt));
        }
    }
    if (batch.lastSeq > acked) {
        RETURN_IF_ERROR(
            setWorkerNumber(db, no, batch.attempt, batch.worker, "acked_seq", batch.lastSeq));
    }
    if (batch.lastSeq > acked || !batch.own.empty()) {
        RETURN_IF_ERROR(touchRun(db, no));
    }
    RETURN_IF_ERROR(transaction.commit());
    return commit;
}

Result<bool> RunStore::quarantine(std::string_view id, const std::vector<QuarantinedLine>& lines) {
    MutexLock lock(writeMutex_);
    Database& db = *writer_;
    ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
    ASSIGN_OR_RETURN(Statement count,
                     db.prepare("SELECT count(*), coalesce(sum(length(CAST(line AS BLOB))), 0) "
                                "FROM quarantine WHERE run_id = ?"));
    RETURN_IF_ERROR(count.bind(id).step().status());
    std::int64_t numLeft = kQuarantineMax - count.intAt(0);
    std::int64_t bytesLeft = kQuarantineBytesMax - count.intAt(1);
    bool areAllKept = true;
    const Result<std::int64_t> no = runNo(db, id);
    ASSIGN_OR_RETURN(Statement insert,
                     db.prepare("INSERT INTO quarantine(run_id, attempt, worker, seq, time_ms, "
                                "reason, line) VALUES(?, ?, ?, ?, ?, ?, ?)"));
    for (const QuarantinedLine& line : lines) {
        const auto bytes = static_cast<std::int64_t>(line.text.size());
        const bool hasRoom = numLeft > 0 && bytes <= bytesLeft;
        areAllKept = areAllKept && hasRoom;
        if (hasRoom) {
            --numLeft;
            bytesLeft -= bytes;
            insert.bind(id).bind(line.attempt).bind(line.worker).bind(line.seq);
            RETURN_IF_ERROR(insert.bind(clock_.wallMs()).bind(line.reason).bind(line.text).run());
        }
        if (!no.ok()) {
            continue;
        }
        ASSIGN_OR_RETURN(const std::int64_t acked,
                         workerNumber(db, *no, line.attempt, line.worker, "acked_seq"));
        if (line.seq > acked) {
            RETURN_IF_ERROR(
                setWorkerNumber(db, *no, line.attempt, line.worker, "acked_seq", line.seq));
        }
    }
    RETURN_IF_ERROR(transaction.commit());
    return areAllKept;
}

Result<std::vector<QuarantinedLine>> RunStore::quarantined(std::string_view id) const {
    MutexLock lock(readMutex_);
    ASSIGN_OR_RETURN(Statement query,
                     reader_->prepare("SELECT attempt, worker, seq, time_ms, reason, line FROM "
                                      "quarantine WHERE run_id = ? ORDER BY no"));
    query.bind(id);
    std::vector<QuarantinedLine> lines;
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, query.step());
        if (!isRow) {
            return lines;
        }
        lines.push_back({static_cast<int>(query.intAt(0)), query.textAt(1), query.intAt(2),
                         query.intAt(3), query.textAt(4), query.textAt(5)});
    }
}

Result<std::int64_t> RunStore::ackedSeq(std::string_view id, int attempt,
                                        std::string_view worker) const {
    MutexLock lock(readMutex_);
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(*reader_, id));
    return workerNumber(*reader_, no, attempt, worker, "acked_seq");
}

Result<std::int64_t> RunStore::logOffset(std::string_view id, int attempt,
                                         std::string_view worker) const {
    MutexLock lock(readMutex_);
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(*reader_, id));
    return workerNumber(*reader_, no, attempt, worker, "log_offset");
}

Status RunStore::setLogOffset(std::string_view id, int attempt, std::string_view worker,
                              std::int64_t offset) {
    MutexLock lock(writeMutex_);
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(*writer_, id));
    return setWorkerNumber(*writer_, no, attempt, worker, "log_offset", offset);
}

Result<std::vector<AttemptRecord>> RunStore::attempts(std::string_view id) const {
    MutexLock lock(readMutex_);
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(*reader_, id));
    ASSIGN_OR_RETURN(Statement query,
                     reader_->prepare("SELECT attempt, resume_step, has_begun FROM attempt WHERE "
                                      "run_no = ? ORDER BY attempt"));
    query.bind(no);
    std::vector<AttemptRecord> all;
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, query.step());
        if (!isRow) {
            return all;
        }
        all.push_back({static_cast<int>(query.intAt(0)), query.intAt(1), query.intAt(2) != 0});
    }
}

Result<std::vector<CheckpointRecord>> RunStore::checkpoints(std::string_view id,
                                                            bool withDeleted) const {
    MutexLock lock(readMutex_);
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(*reader_, id));
    ASSIGN_OR_RETURN(
        Statement query,
        reader_->prepare("SELECT step, attempt, seq, epoch, name, bytes, hash, cursor, time_ms, "
                         "is_deleted FROM checkpoint WHERE run_no = ? AND is_deleted <= ? "
                         "ORDER BY step DESC"));
    query.bind(no).bind(withDeleted ? 1 : 0);
    std::vector<CheckpointRecord> all;
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, query.step());
        if (!isRow) {
            return all;
        }
        all.push_back(readCheckpoint(query));
    }
}

Status RunStore::reconcileCheckpoints(std::string_view id,
                                      const std::vector<CheckpointRecord>& found,
                                      const std::vector<std::string>& gone) {
    MutexLock lock(writeMutex_);
    Database& db = *writer_;
    ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(db, id));
    for (const std::string& name : gone) {
        RETURN_IF_ERROR(dropCheckpoint(db, no, name));
    }
    ASSIGN_OR_RETURN(const std::int64_t current, currentAttempt(db, no));
    for (const CheckpointRecord& one : found) {
        if (one.attempt == current) {
            RETURN_IF_ERROR(beginOnce(db, no, one.attempt));  // a file is work, too
        }
        RETURN_IF_ERROR(writeCheckpoint(db, no, one.attempt, one));
    }
    RETURN_IF_ERROR(touchRun(db, no));
    return transaction.commit();
}

}  // namespace millrace::runs

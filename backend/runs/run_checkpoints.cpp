#include "backend/runs/run_checkpoints.h"

#include "backend/runs/run_lines.h"
#include "backend/runs/run_rows.h"

namespace millrace::runs {
namespace {

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
    c.isWaiting = row.intAt(10) != 0;
    return c;
}

Status dropCheckpoint(Database& db, std::int64_t no, const std::string& name) {
    return db.run("UPDATE checkpoint SET is_deleted = 1 WHERE run_no = ? AND name = ?", no, name);
}

}  // namespace

Status writeCheckpoint(Database& db, std::int64_t no, int attempt, const CheckpointRecord& c) {
    return db.run("INSERT OR REPLACE INTO checkpoint VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)", no,
                  c.step, attempt, c.seq, c.epoch, c.name, c.bytes, c.hash, c.cursor, c.timeMs);
}

Result<std::vector<CheckpointRecord>> RunCheckpoints::checkpoints(std::string_view id,
                                                                  bool withRest) const {
    MutexLock lock(file_.readMutex);
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(*file_.reader, id));
    return file_.reader->select(
        readCheckpoint,
        "SELECT c.step, c.attempt, seq, epoch, name, bytes, hash, cursor, time_ms, is_deleted, "
        "coalesce(c.step > settled_step, 0) AS is_waiting FROM checkpoint c LEFT JOIN attempt "
        "a ON a.run_no = c.run_no AND a.attempt = c.attempt WHERE c.run_no = ?1 AND (?2 OR "
        "(is_deleted = 0 AND is_waiting = 0)) ORDER BY c.step DESC",
        no, withRest ? 1 : 0);
}

Status RunCheckpoints::addCheckpoint(std::string_view id, const CheckpointRecord& checkpoint) {
    return changeRun(file_, id, [&](Database& db, std::int64_t no) -> Status {
        ASSIGN_OR_RETURN(const std::int64_t current, currentAttempt(db, no));
        if (checkpoint.attempt != current) {
            return failedPrecondition("run ", id, ": a checkpoint of attempt ", checkpoint.attempt,
                                      " came, and the newest attempt is ", current);
        }
        RETURN_IF_ERROR(beginOnce(db, no, checkpoint.attempt));  // a file shows work, too
        RETURN_IF_ERROR(writeCheckpoint(db, no, checkpoint.attempt, checkpoint));
        return settleCheckpoints(db, no, checkpoint.attempt).status();
    });
}

Status RunCheckpoints::reconcileCheckpoints(std::string_view id,
                                            const std::vector<CheckpointRecord>& found,
                                            const std::vector<std::string>& gone) {
    return changeRun(file_, id, [&](Database& db, std::int64_t no) -> Status {
        for (const std::string& name : gone) {
            RETURN_IF_ERROR(dropCheckpoint(db, no, name));
        }
        ASSIGN_OR_RETURN(const std::int64_t current, currentAttempt(db, no));
        for (const CheckpointRecord& one : found) {
            if (one.attempt == current) {
                RETURN_IF_ERROR(beginOnce(db, no, one.attempt));  // a file shows work, too
            }
            RETURN_IF_ERROR(writeCheckpoint(db, no, one.attempt, one));
            RETURN_IF_ERROR(settleUpTo(db, no, one.attempt, one.step));
        }
        return okStatus();
    });
}

Status RunCheckpoints::dropCheckpoints(std::string_view id) {
    return changeRun(file_, id, [&](Database& db, std::int64_t no) -> Status {
        RETURN_IF_ERROR(checkIsDeleted(db, no, id));
        return db.run("UPDATE checkpoint SET is_deleted = 1 WHERE run_no = ?", no);
    });
}

}  // namespace millrace::runs

#pragma once
// Converts rows of the run store to values, for the store's .cpp files. Callers hold the lock,
// except of changeRun() of a file.
#include <string>
#include <string_view>
#include <vector>

#include "backend/runs/database.h"
#include "backend/runs/run_record.h"
#include "backend/runs/store_file.h"

namespace millrace::runs {

/// The declaration of the table `run`.
std::string runTableSql();
/// Inserts the row of a new run, without the values that are set later.
Status insertRun(Database& db, const RunRecord& run);
/// The columns of `run r` that readRun() expects: those that lists show, the run's key first.
const std::string& runColumns();
values::RunSummary readRun(const Statement& row, std::int64_t& no);
/// The columns that readRest() expects behind those: used only by the store and to start a run.
const std::string& restColumns();
void readRest(const Statement& row, RunRecord& run);

/// The columns of latest_metric that readMetric() expects from `column` on.
extern const std::string_view kMetricColumns;
/// Adds a metric's newest and, if it is kept, best value; in the order of their names.
void readMetric(const Statement& row, int column, values::RunSummary& run);

/// The key of a run inside the file; kNotFound names the id.
Result<std::int64_t> runNo(Database& db, std::string_view id);
/// Does nothing for an empty text.
Status writeDocument(Database& db, std::int64_t no, std::string_view kind, std::string_view text);
/// Writes the document and the columns that lists read; does nothing for an empty text.
Status writeReceipt(Database& db, std::int64_t no, std::string_view text);
/// A run's state, to be checked before it is changed.
struct Standing {
    values::RunState state = values::RunState::kUnknown;
    bool isDeleted = false, isPurged = false;
    bool hasEnded() const { return values::isEnded(state); }
};
Result<Standing> standingOf(Database& db, std::int64_t no);
/// kFailedPrecondition unless the run is deleted and has ended.
Status checkIsDeleted(Database& db, std::int64_t no, std::string_view id);
/// Stores the times that rank 0 has counted in a running attempt. Time since the attempt was made
/// that they do not cover is its start.
Status writeTimes(Database& db, std::int64_t no, int attempt, const values::PhaseTimes& counted,
                  std::int64_t nowMs);
/// All ranks of the attempt have ended that step: checkpoints up to it count.
Status settleUpTo(Database& db, std::int64_t no, std::int64_t attempt, std::int64_t step);
/// Closes an attempt. `isEnd`: the run is over too, and the time since rank 0's last report counts
/// as its ending. Otherwise, and if no rank began to train, that time counts as the start.
Status closeTimes(Database& db, std::int64_t no, std::int64_t attempt, std::int64_t nowMs,
                  bool isEnd);
/// Takes the next change number and assigns it to the run.
Status touchRun(Database& db, std::int64_t no);
/// The newest attempt of a run; 0 before the first.
Result<std::int64_t> currentAttempt(Database& db, std::int64_t no);

/// Runs `body` on a run inside a transaction, and counts the change.
template <class Body>
Status changeRun(Database& db, std::string_view id, Body body) {
    ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(db, id));
    RETURN_IF_ERROR(body(db, no));
    RETURN_IF_ERROR(touchRun(db, no));
    return transaction.commit();
}
/// Likewise, for callers that do not hold the lock.
template <class Body>
Status changeRun(StoreFile& file, std::string_view id, Body body) {
    MutexLock lock(file.writeMutex);
    return changeRun(*file.writer, id, body);
}

/// The first column, for Database::select().
std::string firstText(const Statement& row);

/// All statements of `read` see the store at one moment.
template <class T, class Read>
Result<T> inSnapshot(Database& db, Read read) {
    RETURN_IF_ERROR(db.exec("BEGIN"));
    Result<T> result = read();
    // Some errors have ended the transaction already: returns the original error.
    const Status ended = db.exec("ROLLBACK");
    RETURN_IF_ERROR(result.status());
    RETURN_IF_ERROR(ended);
    return result;
}

/// Decides what readers see of older attempts: nothing after the step from which a newer one
/// resumed.
class AttemptLimits {
 public:
    static Result<AttemptLimits> read(Database& db, std::int64_t no);
    bool isVisible(int attempt, std::int64_t step) const;

 private:
    std::vector<AttemptRecord> begun_;
};

}  // namespace millrace::runs

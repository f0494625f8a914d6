#pragma once
// Rows of the run store as values: what its .cpp files share. Callers hold the lock.
#include <string>
#include <string_view>
#include <vector>

#include "backend/runs/database.h"
#include "backend/runs/run_record.h"

namespace millrace::runs {

/// The declaration of the table `run`.
std::string runTableSql();
/// A row of a new run, without what comes while it goes on.
Status insertRun(Database& db, const RunRecord& run);
/// The columns that readRun expects, of `run r`: what lists show, the run's key first.
const std::string& runColumns();
values::RunSummary readRun(const Statement& row, std::int64_t& no);
/// The columns that readRest expects behind those: what only the store and who starts a run know.
const std::string& restColumns();
void readRest(const Statement& row, RunRecord& run);

/// The columns that readMetric expects from `column` on, of latest_metric.
extern const std::string_view kMetricColumns;
/// Adds a metric's newest and, where it is kept, best value; in the order of their names.
void readMetric(const Statement& row, int column, values::RunSummary& run);

/// The key of a run inside the file; kNotFound names the id.
Result<std::int64_t> runNo(Database& db, std::string_view id);
/// Nothing for an empty text.
Status writeDocument(Database& db, std::int64_t no, std::string_view kind, std::string_view text);
/// The document and the columns that lists read; nothing for an empty text.
Status writeReceipt(Database& db, std::int64_t no, std::string_view text);
/// Where a run stands, for those who ask before they change it.
struct Standing {
    values::RunState state = values::RunState::kUnknown;
    bool isDeleted = false, isPurged = false;
    bool hasEnded() const { return values::isEnded(state); }
};
Result<Standing> standingOf(Database& db, std::int64_t no);
/// kFailedPrecondition unless the run is deleted and has ended.
Status checkIsDeleted(Database& db, std::int64_t no, std::string_view id);
/// What rank 0 has counted in an attempt that goes on. What it does not name of the time since the
/// attempt was made is its start.
Status writeTimes(Database& db, std::int64_t no, int attempt, const values::PhaseTimes& counted,
                  std::int64_t nowMs);
/// All ranks of the attempt have ended that step: checkpoints up to it count.
Status settleUpTo(Database& db, std::int64_t no, std::int64_t attempt, std::int64_t step);
/// The attempt is over. `isEnd`: so is the run, and the time since rank 0's last report is its
/// ending. Else, and where no rank began to train, that time is the start of what follows.
Status closeTimes(Database& db, std::int64_t no, std::int64_t attempt, std::int64_t nowMs,
                  bool isEnd);
/// Takes the next change number and gives it to the run.
Status touchRun(Database& db, std::int64_t no);
/// The newest attempt of a run; 0 before the first.
Result<std::int64_t> currentAttempt(Database& db, std::int64_t no);

/// The first column of all rows that are left, as texts.
Result<std::vector<std::string>> textsOf(Statement& query);

/// All statements of `read` see the store at one moment.
template <class T, class Read>
Result<T> inSnapshot(Database& db, Read read) {
    RETURN_IF_ERROR(db.exec("BEGIN"));
    Result<T> result = read();
    // Some errors have ended the transaction already: what is told is the error.
    const Status ended = db.exec("ROLLBACK");
    RETURN_IF_ERROR(result.status());
    RETURN_IF_ERROR(ended);
    return result;
}

/// What readers see of older attempts: nothing after the step that a newer one began at.
class AttemptLimits {
 public:
    static Result<AttemptLimits> read(Database& db, std::int64_t no);
    bool isVisible(int attempt, std::int64_t step) const;

 private:
    std::vector<AttemptRecord> begun_;
};

}  // namespace millrace::runs

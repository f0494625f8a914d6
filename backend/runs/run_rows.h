#pragma once
// Rows of the run store as values: what its .cpp files share. Callers hold the lock.
#include <string>
#include <string_view>
#include <vector>

#include "backend/runs/database.h"
#include "backend/runs/run_record.h"

namespace millrace::runs {

/// The columns that readRun expects, of `run r`: what lists show, the run's key first.
extern const std::string_view kRunColumns;
values::RunSummary readRun(const Statement& row, std::int64_t& no);
/// The columns that readRest expects behind those: what only the store and who starts a run know.
extern const std::string_view kRestColumns;
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
/// kFailedPrecondition unless the run is deleted and has ended.
Status checkIsDeleted(Database& db, std::int64_t no, std::string_view id);
/// Takes the next change number and gives it to the run.
Status touchRun(Database& db, std::int64_t no);

// All statements of `read` see the store at one moment.
template <class T, class Read>
Result<T> inSnapshot(Database& db, Read read) {
    RETURN_IF_ERROR(db.exec("BEGIN"));
    Result<T> result = read();
    RETURN_IF_ERROR(db.exec("ROLLBACK"));
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

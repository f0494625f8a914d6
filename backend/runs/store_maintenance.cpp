#include "backend/runs/store_maintenance.h"

#include <algorithm>
#include <utility>

#include "backend/runs/metrics/metric_table.h"
#include "backend/runs/run_rows.h"
#include "backend/text/json.h"

namespace millrace::runs {
namespace {

Status dropPoints(Database& db, std::int64_t no) {
    RETURN_IF_ERROR(db.run("DELETE FROM metric_chunk WHERE run_no = ?", no));
    const TailRows rows = tailRowsOf(no);
    RETURN_IF_ERROR(db.run("DELETE FROM metric_open WHERE run_no = ?", no));
    return db.run("DELETE FROM metric_line WHERE no BETWEEN ? AND ?", rows.first, rows.last);
}

// A plan that other runs share stays for them.
Status dropPlan(Database& db, std::int64_t no) {
    RETURN_IF_ERROR(db.run("DELETE FROM run_document WHERE run_no = ? AND kind = 'plan@'", no));
    return db.exec(
        "DELETE FROM shared_text WHERE hash NOT IN (SELECT text FROM run_document WHERE kind = "
        "'plan@')");
}

Status lookForDamage(Database& db, bool isWhole, values::StoreCheck& check) {
    RETURN_IF_ERROR(db.exec("PRAGMA query_only = 1"));
    ASSIGN_OR_RETURN(const std::int64_t pageBytes, db.queryInt("PRAGMA page_size"));
    ASSIGN_OR_RETURN(const std::int64_t pages, db.queryInt("PRAGMA page_count"));
    check.bytes = pageBytes * pages;
    ASSIGN_OR_RETURN(Statement query, db.prepare(strCat("PRAGMA ", isWhole ? "integrity" : "quick",
                                                        "_check(", kDamageMax, ")")));
    RETURN_IF_ERROR(query.forEach([&](const Statement& row) {
        if (std::string found = row.textAt(0); found != "ok") {
            std::ranges::replace(found, '\n', ' ');  // SQLite adds a heading line
            check.damage.push_back(std::move(found));
        }
    }));
    ASSIGN_OR_RETURN(check.runs, db.queryInt("SELECT count(*) FROM run"));
    return okStatus();
}

}  // namespace

Status StoreMaintenance::purge(std::string_view id) {
    return changeRun(file_, id, [&](Database& db, std::int64_t no) -> Status {
        RETURN_IF_ERROR(checkIsDeleted(db, no, id));
        RETURN_IF_ERROR(dropPoints(db, no));
        RETURN_IF_ERROR(dropPlan(db, no));
        RETURN_IF_ERROR(db.run("UPDATE checkpoint SET is_deleted = 1 WHERE run_no = ?", no));
        return db.run("UPDATE run SET purged_ms = ?1 WHERE no = ?2 AND purged_ms = 0",
                      file_.clock.wallMs(), no);
    });
}

Status StoreMaintenance::addRunningTime(std::int64_t ms) {
    MutexLock lock(file_.writeMutex);
    return file_.writer->run("UPDATE counter SET value = value + ? WHERE name = 'running_ms'", ms);
}

Result<std::vector<std::string>> StoreMaintenance::deletedBefore(std::int64_t ms,
                                                                 std::int64_t runningMs) const {
    MutexLock lock(file_.browseMutex);
    return file_.browser->select(
        firstText,
        "SELECT id FROM run WHERE is_deleted = 1 AND purged_ms = 0 AND deleted_ms < ? AND "
        "deleted_running_ms + ? <= (SELECT value FROM counter WHERE name = 'running_ms')",
        ms, runningMs);
}

Result<std::vector<std::string>> StoreMaintenance::purgedAmong(
    const std::vector<std::string>& ids) const {
    MutexLock lock(file_.browseMutex);
    return file_.browser->select(
        firstText,
        "SELECT id FROM run WHERE purged_ms > 0 AND id IN (SELECT value FROM json_each(?))",
        dumpJson(Json(ids)));
}

Result<values::StoreCheck> StoreMaintenance::check(bool isWhole,
                                                   const std::function<bool()>& isUnwanted) const {
    ASSIGN_OR_RETURN(const auto db, Database::open(file_.path, Database::Mode::kReadOnly));
    const Interrupter interrupter(*db, isUnwanted);
    if (isUnwanted()) {
        return deadlineExceeded(file_.path, ": not looked through: it took too long");
    }
    values::StoreCheck check;
    const Status status = lookForDamage(*db, isWhole, check);
    // An unreadable page is damage like any other.
    if (absl::IsDataLoss(status)) {
        check.damage.emplace_back(messageOf(status));
        return check;
    }
    RETURN_IF_ERROR(status);
    return check;
}

}  // namespace millrace::runs

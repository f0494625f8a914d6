// RunStore, the part that frees what deleted runs take, and looks for damage.
#include <algorithm>
#include <utility>

#include "backend/core/json.h"
#include "backend/runs/database.h"
#include "backend/runs/metric_table.h"
#include "backend/runs/run_rows.h"
#include "backend/runs/run_store.h"

namespace millrace::runs {
namespace {

Status runOn(Database& db, std::string_view sql, std::int64_t no) {
    ASSIGN_OR_RETURN(Statement statement, db.prepare(sql));
    return statement.bind(no).run();
}

Status dropPoints(Database& db, std::int64_t no) {
    RETURN_IF_ERROR(runOn(db, "DELETE FROM metric_chunk WHERE run_no = ?", no));
    const TailRows rows = tailRowsOf(no);
    ASSIGN_OR_RETURN(Statement tail, db.prepare("DELETE FROM metric_line WHERE no BETWEEN ? AND ?"));
    return tail.bind(rows.first).bind(rows.last).run();
}

// A plan that other runs share stays for them.
Status dropPlan(Database& db, std::int64_t no) {
    RETURN_IF_ERROR(
        runOn(db, "DELETE FROM run_document WHERE run_no = ? AND kind IN ('plan', 'plan@')", no));
    return db.exec("DELETE FROM shared_text WHERE hash NOT IN "
                   "(SELECT text FROM run_document WHERE kind = 'plan@')");
}

Status checkIsDeleted(Database& db, std::int64_t no, std::string_view id) {
    ASSIGN_OR_RETURN(Statement query, db.prepare("SELECT is_deleted, state FROM run WHERE no = ?"));
    ASSIGN_OR_RETURN(const bool isThere, query.bind(no).step());
    const auto state = isThere ? runStateOf(query.textAt(1)) : std::nullopt;
    if (!isThere || query.intAt(0) == 0 || !state || !isTerminal(*state)) {
        return failedPrecondition("run ", id, ": only a deleted run is purged");
    }
    return okStatus();
}

Result<std::vector<std::string>> idsOf(Statement& query) {
    std::vector<std::string> ids;
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, query.step());
        if (!isRow) {
            return ids;
        }
        ids.push_back(query.textAt(0));
    }
}

Status lookForDamage(Database& db, bool isWhole, StoreCheck& check) {
    RETURN_IF_ERROR(db.exec("PRAGMA query_only = 1"));
    ASSIGN_OR_RETURN(const std::int64_t pageBytes, db.queryInt("PRAGMA page_size"));
    ASSIGN_OR_RETURN(const std::int64_t pages, db.queryInt("PRAGMA page_count"));
    check.bytes = pageBytes * pages;
    ASSIGN_OR_RETURN(Statement query, db.prepare(strCat("PRAGMA ", isWhole ? "integrity" : "quick",
                                                        "_check(", kDamageMax, ")")));
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, query.step());
        if (!isRow) {
            break;
        }
        if (std::string found = query.textAt(0); found != "ok") {
            std::replace(found.begin(), found.end(), '\n', ' ');  // SQLite's heading stands above
            check.damage.push_back(std::move(found));
        }
    }
    ASSIGN_OR_RETURN(check.runs, db.queryInt("SELECT count(*) FROM run"));
    return okStatus();
}

}  // namespace

Status RunStore::purge(std::string_view id) {
    MutexLock lock(writeMutex_);
    Database& db = *writer_;
    ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(db, id));
    RETURN_IF_ERROR(checkIsDeleted(db, no, id));
    RETURN_IF_ERROR(dropPoints(db, no));
    RETURN_IF_ERROR(dropPlan(db, no));
    RETURN_IF_ERROR(runOn(db, "UPDATE checkpoint SET is_deleted = 1 WHERE run_no = ?", no));
    ASSIGN_OR_RETURN(Statement lines, db.prepare("DELETE FROM quarantine WHERE run_id = ?"));
    RETURN_IF_ERROR(lines.bind(id).run());
    ASSIGN_OR_RETURN(Statement mark, db.prepare("UPDATE run SET purged_ms = ?1 WHERE no = ?2 AND "
                                                "purged_ms = 0"));
    RETURN_IF_ERROR(mark.bind(clock_.wallMs()).bind(no).run());
    RETURN_IF_ERROR(touchRun(db, no));
    return transaction.commit();
}

Status RunStore::dropCheckpoints(std::string_view id) {
    MutexLock lock(writeMutex_);
    Database& db = *writer_;
    ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
    ASSIGN_OR_RETURN(const std::int64_t no, runNo(db, id));
    RETURN_IF_ERROR(checkIsDeleted(db, no, id));
    RETURN_IF_ERROR(runOn(db, "UPDATE checkpoint SET is_deleted = 1 WHERE run_no = ?", no));
    RETURN_IF_ERROR(touchRun(db, no));
    return transaction.commit();
}

Result<std::vector<std::string>> RunStore::deletedBefore(std::int64_t ms) const {
    MutexLock lock(browseMutex_);
    ASSIGN_OR_RETURN(Statement query,
                     browser_->prepare("SELECT id FROM run WHERE is_deleted = 1 AND purged_ms = 0 "
                                       "AND deleted_ms < ?"));
    query.bind(ms);
    return idsOf(query);
}

Result<std::vector<std::string>> RunStore::purgedAmong(const std::vector<std::string>& ids) const {
    MutexLock lock(browseMutex_);
    ASSIGN_OR_RETURN(Statement query,
                     browser_->prepare("SELECT id FROM run WHERE purged_ms > 0 AND id IN "
                                       "(SELECT value FROM json_each(?))"));
    query.bind(dumpJson(Json(ids)));
    return idsOf(query);
}

Result<StoreCheck> RunStore::check(bool isWhole, const std::function<bool()>& isUnwanted) const {
    ASSIGN_OR_RETURN(const auto db, Database::open(path_, Database::Mode::kReadOnly));
    const Interrupter interrupter(*db, isUnwanted);
    if (isUnwanted()) {
        return deadlineExceeded(path_, ": not looked through: it took too long");
    }
    StoreCheck check;
    const Status status = lookForDamage(*db, isWhole, check);
    // A page that cannot be read at all is damage like any other.
    if (absl::IsDataLoss(status)) {
        check.damage.emplace_back(messageOf(status));
        return check;
    }
    RETURN_IF_ERROR(status);
    return check;
}

}  // namespace millrace::runs

#include "backend/runs/run_rows.h"

#include <algorithm>

#include "backend/core/json.h"
#include "backend/core/json_slices.h"

namespace millrace::runs {

const std::string_view kRunColumns =
    "r.no, r.id, r.uid, r.name, r.owner, r.project, r.note, r.variation, r.base_run_id, "
    "r.parent_run_id, r.spec_hash, r.stream_hash, r.plan_hash, r.submit_key, r.state, "
    "r.exit_reason, r.created_ms, r.started_ms, r.ended_ms, r.attempt, r.restarts, r.git_commit, "
    "r.is_git_dirty, r.host, r.seed, r.step, r.steps_total, r.epoch, r.rows_trained, r.phase, "
    "r.change, r.model, r.dataset, r.rows_read, r.rows_kept, r.order_hash, r.eval_order_hash, "
    "r.deleted_ms, r.purged_ms, r.timed_rows, r.timed_ms";

values::RunSummary readRun(const Statement& row, std::int64_t& no) {
    int column = 0;
    const auto text = [&] { return row.textAt(column++); };
    const auto number = [&] { return row.intAt(column++); };
    values::RunSummary run;
    no = number();
    for (std::string* member : {&run.id, &run.uid, &run.name, &run.owner, &run.project, &run.note,
                                &run.variation, &run.variationOf, &run.parentRun, &run.specHash,
                                &run.streamHash, &run.planHash, &run.submitKey}) {
        *member = text();
    }
    run.group = run.variationOf.empty() ? run.id : run.variationOf;
    run.state = values::runStateOf(text()).value_or(values::RunState::kFailed);
    run.exitReason = text();
    run.createdMs = number();
    run.startedMs = number();
    run.endedMs = number();
    run.attempt = static_cast<int>(number());
    run.restarts = static_cast<int>(number());
    run.gitCommit = text();
    run.isGitDirty = number() != 0;
    run.host = text();
    run.seed = static_cast<std::uint64_t>(number());
    run.progress.step = number();
    run.progress.stepsTotal = number();
    run.progress.epoch = number();
    run.progress.rows = run.rowsTrained = number();
    run.progress.phase = values::phaseOf(text());
    run.revision = static_cast<std::uint64_t>(number());
    run.model = text();
    run.dataset = text();
    run.rowsRead = number();
    run.rowsKept = number();
    run.orderHash = text();
    run.evalOrderHash = text();
    run.deletedMs = number();
    run.purgedMs = number();
    const auto timedRows = static_cast<double>(number()), timedMs = static_cast<double>(number());
    if (timedRows > 0 && timedMs > 0) {
        run.meanRate = timedRows / timedMs * 1e3;
    }
    return run;
}

const std::string_view kRestColumns = "r.base_dir, r.resume_from, r.queue_no, r.group_size";

void readRest(const Statement& row, RunRecord& run) {
    int column = 1 + static_cast<int>(std::count(kRunColumns.begin(), kRunColumns.end(), ','));
    run.baseDir = row.textAt(column++);
    run.resumeFrom = row.intAt(column++);
    run.queueNo = row.intAt(column++);
    run.groupSize = static_cast<int>(row.intAt(column));
}

namespace {

void addInOrder(std::vector<values::RunFigure>& metrics, values::RunFigure metric) {
    const auto at =
        std::upper_bound(metrics.begin(), metrics.end(), metric,
                         [](const auto& one, const auto& other) { return one.name < other.name; });
    metrics.insert(at, std::move(metric));
}

}  // namespace

const std::string_view kMetricColumns =
    "key, step, epoch, rows, time_ms, value, attempt, best_step, best_value";

void readMetric(const Statement& row, int column, values::RunSummary& run) {
    values::RunFigure newest;
    newest.name = row.textAt(column);
    newest.step = row.intAt(column + 1);
    newest.epoch = row.intAt(column + 2);
    newest.rows = row.intAt(column + 3);
    newest.timeMs = row.intAt(column + 4);
    newest.value = row.doubleAt(column + 5);
    newest.attempt = static_cast<int>(row.intAt(column + 6));
    if (!row.isNullAt(column + 7)) {
        values::RunFigure best;
        best.name = newest.name;
        best.step = row.intAt(column + 7);
        best.value = row.doubleAt(column + 8);
        addInOrder(run.bestMetrics, std::move(best));
    }
    addInOrder(run.latestMetrics, std::move(newest));
}

Status writeDocument(Database& db, std::int64_t no, std::string_view kind, std::string_view text) {
    if (text.empty()) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(Statement insert,
                     db.prepare("INSERT OR REPLACE INTO run_document VALUES(?, ?, ?)"));
    return insert.bind(no).bind(kind).bind(text).run();
}

Status writeReceipt(Database& db, std::int64_t no, std::string_view text) {
    if (text.empty()) {
        return okStatus();
    }
    // The files may be very many, and nobody asks for them here.
    ASSIGN_OR_RETURN(const Json receipt, parseJson(withJsonMember(text, "files", "[]"), "receipt"));
    RETURN_IF_ERROR(writeDocument(db, no, "receipt", text));
    ASSIGN_OR_RETURN(Statement update,
                     db.prepare("UPDATE run SET rows_read = ?, rows_kept = ?, order_hash = ?, "
                                "eval_order_hash = ? WHERE no = ?"));
    update.bind(jsonInt(receipt, "rows_scanned")).bind(jsonInt(receipt, "rows_kept"));
    update.bind(jsonString(receipt, "order_hash")).bind(jsonString(receipt, "eval_order_hash"));
    return update.bind(no).run();
}

Result<std::int64_t> runNo(Database& db, std::string_view id) {
    ASSIGN_OR_RETURN(Statement query, db.prepare("SELECT no FROM run WHERE id = ?"));
    ASSIGN_OR_RETURN(const bool isThere, query.bind(id).step());
    if (!isThere) {
        return notFound("run '", id, "': not known");
    }
    return query.intAt(0);
}

Status checkIsDeleted(Database& db, std::int64_t no, std::string_view id) {
    ASSIGN_OR_RETURN(Statement query, db.prepare("SELECT is_deleted, state FROM run WHERE no = ?"));
    ASSIGN_OR_RETURN(const bool isThere, query.bind(no).step());
    const auto state = isThere ? values::runStateOf(query.textAt(1)) : std::nullopt;
    if (!isThere || query.intAt(0) == 0 || !state || !values::isEnded(*state)) {
        return failedPrecondition("run ", id, ": only a deleted run is purged");
    }
    return okStatus();
}

Status touchRun(Database& db, std::int64_t no) {
    ASSIGN_OR_RETURN(Statement count,
                     db.prepare("UPDATE counter SET value = value + 1 WHERE name = 'change'"));
    RETURN_IF_ERROR(count.run());
    ASSIGN_OR_RETURN(Statement update,
                     db.prepare("UPDATE run SET change = (SELECT value FROM counter "
                                "WHERE name = 'change') WHERE no = ?"));
    return update.bind(no).run();
}

Result<AttemptLimits> AttemptLimits::read(Database& db, std::int64_t no) {
    ASSIGN_OR_RETURN(Statement query,
                     db.prepare("SELECT attempt, resume_step FROM attempt WHERE run_no = ? AND "
                                "has_begun = 1"));
    query.bind(no);
    AttemptLimits limits;
    for (;;) {
        ASSIGN_OR_RETURN(const bool isRow, query.step());
        if (!isRow) {
            return limits;
        }
        limits.begun_.push_back({static_cast<int>(query.intAt(0)), query.intAt(1), true});
    }
}

bool AttemptLimits::isVisible(int attempt, std::int64_t step) const {
    return isOnCourse(begun_, attempt, step);
}

}  // namespace millrace::runs

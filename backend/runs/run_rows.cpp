#include "backend/runs/run_rows.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "backend/text/json.h"
#include "backend/text/json_slices.h"

namespace millrace::runs {
namespace {

using values::RunSummary;

// An unknown state is read as failed.
values::RunState stateOf(std::string_view word) {
    return values::runStateOf(word).value_or(values::RunState::kFailed);
}

template <class T>
void readInto(const Statement& row, int at, T& into) {
    if constexpr (std::is_same_v<T, std::string>) {
        into = row.textAt(at);
    } else if constexpr (std::is_same_v<T, values::RunState>) {
        into = stateOf(row.textAt(at));
    } else if constexpr (std::is_same_v<T, values::Phase>) {
        into = values::phaseOf(row.textAt(at));
    } else {
        into = static_cast<T>(row.intAt(at));
    }
}

template <class T>
void bindFrom(Statement& insert, const T& from) {
    if constexpr (std::is_same_v<T, std::string>) {
        insert.bind(from);
    } else if constexpr (std::is_same_v<T, values::RunState>) {
        insert.bind(values::nameOf(from));
    } else {
        insert.bind(static_cast<std::int64_t>(from));
    }
}

// A column of `run`: its declaration, its readers, and its value in a new row. Columns that are
// neither read nor written here have statements of their own.
struct RunColumn {
    std::string_view name, type;
    void (*read)(const Statement& row, int at, RunSummary& run) = nullptr;
    void (*readRest)(const Statement& row, int at, RunRecord& run) = nullptr;
    void (*bind)(Statement& insert, const RunRecord& run) = nullptr;  // null: the type's default
};

// `kMember`: a member, or a function that returns a reference to it.
template <auto kMember>
void readMember(const Statement& row, int at, RunSummary& run) {
    readInto(row, at, std::invoke(kMember, run));
}
template <auto kMember>
void readRestMember(const Statement& row, int at, RunRecord& run) {
    readInto(row, at, std::invoke(kMember, run));
}
template <auto kMember>
void bindMember(Statement& insert, const RunRecord& run) {
    bindFrom(insert, std::invoke(kMember, run));
}

// Set when the run is made, and shown.
template <auto kMember>
constexpr RunColumn told(std::string_view name, std::string_view type) {
    return {name, type, readMember<kMember>, nullptr, bindMember<kMember>};
}
// Shown; set while the run is under way.
template <auto kMember>
constexpr RunColumn shown(std::string_view name, std::string_view type) {
    return {name, type, readMember<kMember>};
}
// Set when the run is made, and read only to start it.
template <auto kMember>
constexpr RunColumn kept(std::string_view name, std::string_view type) {
    return {name, type, nullptr, readRestMember<kMember>, bindMember<kMember>};
}

// Keys are unique, but any number of runs has none.
void bindKey(Statement& insert, const RunRecord& run) {
    run.submitKey.empty() ? insert.bindNull() : insert.bind(run.submitKey);
}

// An order hash is stored with its version behind a slash; version 1 has none.
std::string keptHash(const std::string& hash, std::int64_t version) {
    return hash.empty() || version <= 1 ? hash : strCat(hash, "/", version);
}
template <std::string RunSummary::* kHash>
void readOrderHash(const Statement& row, int at, RunSummary& run) {
    const std::string kept = row.textAt(at);
    const std::size_t slash = std::min(kept.find('/'), kept.size());
    run.*kHash = kept.substr(0, slash);
    if (!kept.empty()) {
        const std::string version = kept.substr(std::min(slash + 1, kept.size()));
        run.orderHashVersion = version.empty() ? 1 : std::atoi(version.c_str());
    }
}

void readRowsTrained(const Statement& row, int at, RunSummary& run) {
    run.progress.rows = run.rowsTrained = row.intAt(at);
}

template <double values::PhaseTimes::* kPart>
void readTimes(const Statement& row, int at, RunSummary& run) {
    if (!row.isNullAt(at)) {
        run.progress.times = run.progress.times.value_or(values::PhaseTimes());
        (*run.progress.times).*kPart = row.doubleAt(at);
    }
}

// The mean rate comes from two columns: the rows, and behind them the milliseconds that they took.
void readTimedRows(const Statement& row, int at, RunSummary& run) {
    run.meanRate = static_cast<double>(row.intAt(at));
}
void readTimedMs(const Statement& row, int at, RunSummary& run) {
    const auto rows = run.meanRate.value_or(0), ms = static_cast<double>(row.intAt(at));
    run.meanRate = rows > 0 && ms > 0 ? std::optional(rows / ms * 1e3) : std::nullopt;
}

constexpr auto kStep = [](auto& run) -> auto& { return run.progress.step; };
constexpr auto kStepsTotal = [](auto& run) -> auto& { return run.progress.stepsTotal; };
constexpr auto kEpoch = [](auto& run) -> auto& { return run.progress.epoch; };
constexpr auto kPhase = [](auto& run) -> auto& { return run.progress.phase; };

constexpr std::string_view kText = "TEXT NOT NULL", kEmpty = "TEXT NOT NULL DEFAULT ''",
                           kNumber = "INTEGER NOT NULL", kZero = "INTEGER NOT NULL DEFAULT 0",
                           kMaybe = "REAL";

// (Not constexpr: GCC 12 rejects functions in constexpr objects with UndefinedBehaviorSanitizer.)
// In the order of the table. `no` is the key inside the file; elsewhere runs have ids and uids.
const RunColumn kRunColumns[] = {
    {"no", "INTEGER PRIMARY KEY AUTOINCREMENT"},
    told<&RunSummary::id>("id", "TEXT NOT NULL UNIQUE"),
    told<&RunSummary::uid>("uid", "TEXT NOT NULL UNIQUE"),
    {"submit_key", "TEXT UNIQUE", readMember<&RunSummary::submitKey>, nullptr, bindKey},
    told<&RunSummary::name>("name", kText),
    told<&RunSummary::owner>("owner", kText),
    told<&RunSummary::project>("project", kText),
    told<&RunSummary::note>("note", kText),
    told<&RunSummary::variation>("variation", kText),
    told<&RunSummary::variationOf>("base_run_id", kText),
    told<&RunSummary::specHash>("spec_hash", kText),
    told<&RunSummary::streamHash>("stream_hash", kText),
    told<&RunSummary::planHash>("plan_hash", kText),
    kept<&RunRecord::baseDir>("base_dir", kText),
    told<&RunSummary::model>("model", kEmpty),
    told<&RunSummary::dataset>("dataset", kEmpty),
    told<&RunSummary::state>("state", kText),
    told<&RunSummary::exitReason>("exit_reason", kText),
    told<&RunSummary::createdMs>("created_ms", kNumber),
    shown<&RunSummary::startedMs>("started_ms", kZero),
    shown<&RunSummary::endedMs>("ended_ms", kZero),
    shown<&RunSummary::attempt>("attempt", kZero),
    shown<&RunSummary::restarts>("restarts", kZero),
    {"resume_from", kZero, nullptr, readRestMember<&RunRecord::resumeFrom>},
    {"queue_no", kZero, nullptr, readRestMember<&RunRecord::queueNo>},
    told<&RunSummary::gitCommit>("git_commit", kText),
    told<&RunSummary::isGitDirty>("is_git_dirty", kNumber),
    told<&RunSummary::host>("host", kText),
    told<&RunSummary::seed>("seed", kNumber),
    shown<kStep>("step", kZero),
    told<kStepsTotal>("steps_total", kZero),
    shown<kEpoch>("epoch", kZero),
    {"rows_trained", kZero, readRowsTrained},
    shown<kPhase>("phase", kEmpty),
    shown<&RunSummary::rowsRead>("rows_read", kZero),
    shown<&RunSummary::rowsKept>("rows_kept", kZero),
    {"order_hash", kEmpty, readOrderHash<&RunSummary::orderHash>},
    {"eval_order_hash", kEmpty, readOrderHash<&RunSummary::evalOrderHash>},
    {"busy_ms", kMaybe, readTimes<&values::PhaseTimes::busyMs>},
    {"stall_ms", kMaybe, readTimes<&values::PhaseTimes::stallMs>},
    {"evaluate_ms", kMaybe, readTimes<&values::PhaseTimes::evaluateMs>},
    {"checkpoint_ms", kMaybe, readTimes<&values::PhaseTimes::checkpointMs>},
    {"start_ms", kMaybe, readTimes<&values::PhaseTimes::startMs>},
    {"ending_ms", kMaybe, readTimes<&values::PhaseTimes::endingMs>},
    {"timed_rows", kZero, readTimedRows},
    {"timed_ms", kZero, readTimedMs},
    {"sealed_line", kZero},
    {"is_deleted", kZero},
    {"deleted_running_ms", kZero},
    shown<&RunSummary::deletedMs>("deleted_ms", kZero),
    shown<&RunSummary::purgedMs>("purged_ms", kZero),
    told<&RunSummary::revision>("change", kNumber),
};

constexpr bool isAny(const RunColumn&) {
    return true;
}
constexpr bool isRead(const RunColumn& column) {
    return column.read != nullptr;
}
constexpr bool isRest(const RunColumn& column) {
    return column.readRest != nullptr;
}
constexpr bool isBound(const RunColumn& column) {
    return column.bind != nullptr;
}

// Lists the text of each selected column.
template <class IsWanted, class Text>
std::string listed(IsWanted isWanted, std::string_view between, Text text) {
    std::string list;
    for (const RunColumn& column : kRunColumns) {
        if (isWanted(column)) {
            strAppend(&list, list.empty() ? "" : between, text(column));
        }
    }
    return list;
}

std::string nameInQuery(const RunColumn& column) {
    return strCat("r.", column.name);
}

}  // namespace

std::string runTableSql() {
    const auto declared = [](const RunColumn& column) {
        return strCat("    ", column.name, " ", column.type);
    };
    return strCat("CREATE TABLE run(\n", listed(isAny, ",\n", declared), "\n);\n");
}

const std::string& runColumns() {
    static const std::string kList = strCat("r.no, ", listed(isRead, ", ", nameInQuery));
    return kList;
}

const std::string& restColumns() {
    static const std::string kList = listed(isRest, ", ", nameInQuery);
    return kList;
}

values::RunSummary readRun(const Statement& row, std::int64_t& no) {
    int at = 0;
    no = row.intAt(at++);
    values::RunSummary run;
    for (const RunColumn& column : kRunColumns) {
        if (isRead(column)) {
            column.read(row, at++, run);
        }
    }
    run.group = run.variationOf.empty() ? run.id : run.variationOf;
    return run;
}

void readRest(const Statement& row, RunRecord& run) {
    static const auto kNumRead =
        std::count_if(std::begin(kRunColumns), std::end(kRunColumns), isRead);
    int at = 1 + static_cast<int>(kNumRead);
    for (const RunColumn& column : kRunColumns) {
        if (isRest(column)) {
            column.readRest(row, at++, run);
        }
    }
}

Status insertRun(Database& db, const RunRecord& run) {
    static const std::string kSql =
        strCat("INSERT INTO run(", listed(isBound, ", ", [](const RunColumn& c) { return c.name; }),
               ") VALUES(", listed(isBound, ", ", [](const RunColumn&) { return "?"; }), ")");
    ASSIGN_OR_RETURN(Statement insert, db.prepare(kSql));
    for (const RunColumn& column : kRunColumns) {
        if (isBound(column)) {
            column.bind(insert, run);
        }
    }
    return insert.run();
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
    return db.run("INSERT OR REPLACE INTO run_document VALUES(?, ?, ?)", no, kind, text);
}

Status writeReceipt(Database& db, std::int64_t no, std::string_view text) {
    if (text.empty()) {
        return okStatus();
    }
    // There may be very many files, and they are not needed here.
    ASSIGN_OR_RETURN(const Json receipt, parseJson(withJsonMember(text, "files", "[]"), "receipt"));
    RETURN_IF_ERROR(writeDocument(db, no, "receipt", text));
    // Progress lines also counted the rows of steps after the last checkpoint of a run that failed.
    ASSIGN_OR_RETURN(
        Statement update,
        db.prepare(
            "UPDATE run SET rows_read = ?, rows_kept = ?, rows_trained = CASE WHEN ?3 < 0 THEN "
            "rows_trained ELSE ?3 END, order_hash = ?4, eval_order_hash = ?5 WHERE no = ?6",
            jsonInt(receipt, "rows_scanned"), jsonInt(receipt, "rows_kept"),
            jsonInt(receipt, "rows_trained", -1)));
    const std::int64_t version = jsonInt(receipt, "order_hash_version", 1);
    for (const char* hash : {"order_hash", "eval_order_hash"}) {
        update.bind(keptHash(jsonString(receipt, hash), version));
    }
    return update.bind(no).run();
}

Result<std::int64_t> runNo(Database& db, std::string_view id) {
    ASSIGN_OR_RETURN(Statement query, db.prepare("SELECT no FROM run WHERE id = ?", id));
    ASSIGN_OR_RETURN(const bool isThere, query.step());
    if (!isThere) {
        return notFound("run '", id, "': not known");
    }
    return query.intAt(0);
}

Result<Standing> standingOf(Database& db, std::int64_t no) {
    ASSIGN_OR_RETURN(Statement query,
                     db.prepare("SELECT state, is_deleted, purged_ms FROM run WHERE no = ?", no));
    ASSIGN_OR_RETURN(const bool isThere, query.step());
    if (!isThere) {
        return notFound(db.path(), ": no run ", no);
    }
    return Standing{stateOf(query.textAt(0)), query.intAt(1) != 0, query.intAt(2) > 0};
}

Status checkIsDeleted(Database& db, std::int64_t no, std::string_view id) {
    ASSIGN_OR_RETURN(const Standing run, standingOf(db, no));
    if (!run.isDeleted || !run.hasEnded()) {
        return failedPrecondition("run ", id, ": only a deleted run is purged");
    }
    return okStatus();
}

namespace {

// Sums over all attempts; does nothing if there are none.
Status sumTimes(Database& db, std::int64_t no) {
    return db.run(
        "UPDATE run SET busy_ms = s.busy, stall_ms = s.stall, evaluate_ms = s.evaluate, "
        "checkpoint_ms = s.checkpoint, start_ms = s.start, ending_ms = s.ending FROM (SELECT "
        "sum(busy_ms) AS busy, sum(stall_ms) AS stall, sum(evaluate_ms) AS evaluate, "
        "sum(checkpoint_ms) AS checkpoint, sum(start_ms) AS start, sum(ending_ms) AS ending FROM "
        "attempt WHERE run_no = ?1) AS s WHERE no = ?1",
        no);
}

}  // namespace

Status writeTimes(Database& db, std::int64_t no, int attempt, const values::PhaseTimes& counted,
                  std::int64_t nowMs) {
    ASSIGN_OR_RETURN(
        Statement update,
        db.prepare("UPDATE attempt SET busy_ms = ?1, stall_ms = ?2, evaluate_ms = ?3, "
                   "checkpoint_ms = ?4, start_ms = max(?5, ?7 - started_ms - ?1 - ?2 - ?3 - ?4 - "
                   "?6), ending_ms = ?6 WHERE run_no = ?8 AND attempt = ?9 AND ended_ms = 0"));
    for (const auto part : values::PhaseTimes::parts()) {
        update.bind(counted.*part);
    }
    RETURN_IF_ERROR(update.bind(nowMs).bind(no).bind(attempt).run());
    return sumTimes(db, no);
}

Status settleUpTo(Database& db, std::int64_t no, std::int64_t attempt, std::int64_t step) {
    ASSIGN_OR_RETURN(Statement update,
                     db.prepare("UPDATE attempt SET settled_step = max(settled_step, ?) WHERE "
                                "run_no = ? AND attempt = ?"));
    return update.bind(step).bind(no).bind(attempt).run();
}

Status closeTimes(Database& db, std::int64_t no, std::int64_t attempt, std::int64_t nowMs,
                  bool isEnd) {
    RETURN_IF_ERROR(
        db.run("UPDATE attempt SET ended_ms = ?1, start_ms = start_ms + CASE WHEN ?2 AND c.worked "
               "> 0 THEN 0 ELSE c.left END, ending_ms = ending_ms + CASE WHEN ?2 AND c.worked > 0 "
               "THEN c.left ELSE 0 END FROM (SELECT worked, max(0, ?1 - started_ms - start_ms - "
               "worked) AS left FROM (SELECT started_ms, start_ms, busy_ms + stall_ms + "
               "evaluate_ms + checkpoint_ms + ending_ms AS worked FROM attempt WHERE run_no = ?3 "
               "AND attempt = ?4)) AS c WHERE run_no = ?3 AND attempt = ?4 AND ended_ms = 0",
               nowMs, isEnd ? 1 : 0, no, attempt));
    return sumTimes(db, no);
}

Status touchRun(Database& db, std::int64_t no) {
    RETURN_IF_ERROR(db.run("UPDATE counter SET value = value + 1 WHERE name = 'change'"));
    return db.run(
        "UPDATE run SET change = (SELECT value FROM counter WHERE name = 'change') WHERE no = ?",
        no);
}

Result<std::int64_t> currentAttempt(Database& db, std::int64_t no) {
    return db.queryInt("SELECT attempt FROM run WHERE no = ?", no);
}

std::string firstText(const Statement& row) {
    return row.textAt(0);
}

Result<AttemptLimits> AttemptLimits::read(Database& db, std::int64_t no) {
    ASSIGN_OR_RETURN(
        Statement query,
        db.prepare("SELECT attempt, resume_step FROM attempt WHERE run_no = ? AND has_begun = 1",
                   no));
    AttemptLimits limits;
    RETURN_IF_ERROR(query.forEach([&](const Statement& row) {
        limits.begun_.push_back({static_cast<int>(row.intAt(0)), row.intAt(1), true});
    }));
    return limits;
}

bool AttemptLimits::isVisible(int attempt, std::int64_t step) const {
    return isOnCourse(begun_, attempt, step);
}

}  // namespace millrace::runs

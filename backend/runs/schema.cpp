#include "backend/runs/schema.h"

#include "backend/runs/run_rows.h"

namespace millrace::runs {
namespace {

constexpr std::string_view kCounter = R"sql(
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counter VALUES('change', 0), ('running_ms', 0);
)sql";

// Tables for a run's data beside its row (run_rows.h). Documents are in a separate table, so that a
// list reads small rows only.
constexpr std::string_view kRunTables = R"sql(
CREATE INDEX run_by_created ON run(created_ms DESC, id);
CREATE INDEX run_by_change ON run(change);
CREATE INDEX run_by_name ON run(name);
CREATE INDEX run_by_base ON run(base_run_id) WHERE base_run_id <> '';
CREATE INDEX run_waiting ON run(queue_no) WHERE state = 'queued';
CREATE TABLE run_document(
    run_no INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY(run_no, kind)
);
CREATE TABLE shared_text(hash TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE run_tag(
    run_no INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(run_no, key)
) WITHOUT ROWID;
CREATE TABLE run_param(
    run_no INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(run_no, key)
) WITHOUT ROWID;
CREATE TABLE attempt(
    run_no INTEGER NOT NULL, attempt INTEGER NOT NULL, resume_step INTEGER NOT NULL,
    started_ms INTEGER NOT NULL, has_begun INTEGER NOT NULL, num_ranks INTEGER NOT NULL,
    settled_step INTEGER NOT NULL,
    ended_ms INTEGER NOT NULL DEFAULT 0, busy_ms REAL NOT NULL DEFAULT 0,
    stall_ms REAL NOT NULL DEFAULT 0, evaluate_ms REAL NOT NULL DEFAULT 0,
    checkpoint_ms REAL NOT NULL DEFAULT 0, start_ms REAL NOT NULL DEFAULT 0,
    ending_ms REAL NOT NULL DEFAULT 0,
    PRIMARY KEY(run_no, attempt)
) WITHOUT ROWID;
CREATE TABLE worker(
    run_no INTEGER NOT NULL, attempt INTEGER NOT NULL, worker TEXT NOT NULL,
    acked_seq INTEGER NOT NULL DEFAULT 0, step INTEGER NOT NULL DEFAULT 0,
    ended_step INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY(run_no, attempt, worker)
) WITHOUT ROWID;
CREATE TABLE checkpoint(
    run_no INTEGER NOT NULL, step INTEGER NOT NULL, attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL, epoch INTEGER NOT NULL, name TEXT NOT NULL, bytes INTEGER NOT NULL,
    hash TEXT NOT NULL, cursor TEXT NOT NULL, time_ms INTEGER NOT NULL,
    is_deleted INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(run_no, step)
);
)sql";

// metric_table.h and rank_fold.h document their content.
constexpr std::string_view kMetricTables = R"sql(
CREATE TABLE metric_key(no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE latest_metric(
    run_no INTEGER NOT NULL, key TEXT NOT NULL, step INTEGER NOT NULL, attempt INTEGER NOT NULL,
    epoch INTEGER NOT NULL, rows INTEGER NOT NULL, time_ms INTEGER NOT NULL, value REAL,
    best_step INTEGER, best_value REAL, PRIMARY KEY(run_no, key)
) WITHOUT ROWID;
CREATE TABLE metric_open(
    run_no INTEGER NOT NULL, attempt INTEGER NOT NULL, step INTEGER NOT NULL,
    rank INTEGER NOT NULL, seq INTEGER NOT NULL, epoch INTEGER NOT NULL, rows INTEGER NOT NULL,
    time_ms INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(run_no, attempt, step, rank, seq)
) WITHOUT ROWID;
CREATE TABLE metric_line(
    no INTEGER PRIMARY KEY, attempt INTEGER NOT NULL, rank INTEGER NOT NULL, step INTEGER NOT NULL,
    epoch INTEGER NOT NULL, rows INTEGER NOT NULL, time_ms INTEGER NOT NULL, data BLOB NOT NULL,
    summaries BLOB
);
CREATE TABLE metric_chunk(
    no INTEGER PRIMARY KEY, run_no INTEGER NOT NULL, key_no INTEGER NOT NULL, rank INTEGER NOT NULL,
    position INTEGER NOT NULL, first_step INTEGER NOT NULL, last_step INTEGER NOT NULL,
    num_points INTEGER NOT NULL, num_ranks INTEGER NOT NULL, first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL, level1024 BLOB, level256 BLOB, level64 BLOB, level16 BLOB,
    points BLOB NOT NULL
);
CREATE UNIQUE INDEX metric_chunk_head ON metric_chunk(
    run_no, key_no, rank, position, first_step, last_step, num_points, num_ranks
);
CREATE INDEX metric_chunk_lines ON metric_chunk(run_no, last_line, first_line, rank);
)sql";

Status makeTables(Database& db) {
    ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
    // Another process may have created them between the first check and the lock.
    ASSIGN_OR_RETURN(const std::int64_t current, db.queryInt("PRAGMA user_version"));
    if (current == kSchema) {
        return okStatus();
    }
    RETURN_IF_ERROR(db.exec(strCat(kCounter, runTableSql(), kRunTables, kMetricTables)));
    RETURN_IF_ERROR(db.exec(strCat("PRAGMA application_id = ", kApplicationId)));
    RETURN_IF_ERROR(db.exec(strCat("PRAGMA user_version = ", kSchema)));
    return transaction.commit();
}

}  // namespace

Status makeSchema(Database& db) {
    ASSIGN_OR_RETURN(const std::int64_t current, db.queryInt("PRAGMA user_version"));
    ASSIGN_OR_RETURN(const std::int64_t owner, db.queryInt("PRAGMA application_id"));
    ASSIGN_OR_RETURN(const std::int64_t numTables,
                     db.queryInt("SELECT count(*) FROM sqlite_schema"));
    if (numTables > 0 && owner != kApplicationId) {
        return failedPrecondition(db.path(), ": is an SQLite file, but not a run store");
    }
    if (current > kSchema) {
        return failedPrecondition(db.path(), ": was written by a newer Millrace (schema ", current,
                                  "; this one reads ", kSchema,
                                  "); use that version or another state directory");
    }
    if (numTables > 0 && current < kSchema) {
        return failedPrecondition(db.path(), ": was written by a development version (schema ",
                                  current, "; this one reads ", kSchema,
                                  "); set it aside and a new store is made: mv ", db.path(), " ",
                                  db.path(), ".old (with ", db.path(), "-wal, if it is there)");
    }
    return current == kSchema ? okStatus() : makeTables(db);
}

}  // namespace millrace::runs

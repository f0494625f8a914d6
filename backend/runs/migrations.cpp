#include "backend/runs/migrations.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/unique_fd.h"
#include "backend/runs/metric_table.h"
#include "backend/runs/run_figures.h"

namespace millrace::runs {
namespace {

// Documents stand apart from `run`, so that a list reads small rows only. `no` is the key inside
// the file; ids and uids are what everyone else sees.
constexpr std::string_view kSchema1 = R"sql(
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counter VALUES('change', 0);
CREATE TABLE run(
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    uid TEXT NOT NULL UNIQUE,
    submit_key TEXT UNIQUE,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    project TEXT NOT NULL,
    note TEXT NOT NULL,
    variation TEXT NOT NULL,
    base_run_id TEXT NOT NULL,
    parent_run_id TEXT NOT NULL,
    spec_hash TEXT NOT NULL,
    stream_hash TEXT NOT NULL,
    plan_hash TEXT NOT NULL,
    base_dir TEXT NOT NULL,
    state TEXT NOT NULL,
    exit_reason TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    started_ms INTEGER NOT NULL DEFAULT 0,
    ended_ms INTEGER NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 0,
    restarts INTEGER NOT NULL DEFAULT 0,
    git_commit TEXT NOT NULL,
    is_git_dirty INTEGER NOT NULL,
    host TEXT NOT NULL,
    seed INTEGER NOT NULL,
    step INTEGER NOT NULL DEFAULT 0,
    steps_total INTEGER NOT NULL DEFAULT 0,
    epoch INTEGER NOT NULL DEFAULT 0,
    rows_trained INTEGER NOT NULL DEFAULT 0,
    phase TEXT NOT NULL DEFAULT '',
    is_deleted INTEGER NOT NULL DEFAULT 0,
    change INTEGER NOT NULL
);
CREATE INDEX run_by_created ON run(created_ms DESC, id);
CREATE INDEX run_by_change ON run(change);
CREATE INDEX run_by_name ON run(name);
CREATE TABLE run_document(
    run_no INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY(run_no, kind)
);
CREATE TABLE run_tag(
    run_no INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(run_no, key)
) WITHOUT ROWID;
CREATE TABLE run_param(
    run_no INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(run_no, key)
) WITHOUT ROWID;
CREATE TABLE attempt(
    run_no INTEGER NOT NULL, attempt INTEGER NOT NULL, resume_step INTEGER NOT NULL,
    started_ms INTEGER NOT NULL, PRIMARY KEY(run_no, attempt)
) WITHOUT ROWID;
CREATE TABLE worker(
    run_no INTEGER NOT NULL, attempt INTEGER NOT NULL, worker TEXT NOT NULL,
    acked_seq INTEGER NOT NULL DEFAULT 0, log_offset INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY(run_no, attempt, worker)
) WITHOUT ROWID;
CREATE TABLE metric_key(no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE metric_point(
    run_no INTEGER NOT NULL, key_no INTEGER NOT NULL, step INTEGER NOT NULL,
    attempt INTEGER NOT NULL, worker TEXT NOT NULL, seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL, rows INTEGER NOT NULL, time_ms INTEGER NOT NULL, value REAL,
    PRIMARY KEY(run_no, key_no, step, attempt, worker, seq)
) WITHOUT ROWID;
CREATE TABLE latest_metric(
    run_no INTEGER NOT NULL, key TEXT NOT NULL, step INTEGER NOT NULL, attempt INTEGER NOT NULL,
    epoch INTEGER NOT NULL, rows INTEGER NOT NULL, time_ms INTEGER NOT NULL, value REAL,
    PRIMARY KEY(run_no, key)
) WITHOUT ROWID;
CREATE TABLE checkpoint(
    run_no INTEGER NOT NULL, step INTEGER NOT NULL, attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL, epoch INTEGER NOT NULL, path TEXT NOT NULL, bytes INTEGER NOT NULL,
    hash TEXT NOT NULL, cursor TEXT NOT NULL, time_ms INTEGER NOT NULL,
    is_deleted INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(run_no, step)
);
)sql";

// What lists show of receipt and spec, and what a resume asked for, stand in the row.
constexpr std::string_view kSchema2 = R"sql(
ALTER TABLE run ADD COLUMN resume_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN queue_no INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN dataset TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN rows_read INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN rows_kept INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN order_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN eval_order_hash TEXT NOT NULL DEFAULT '';
UPDATE run SET queue_no = no,
    model = coalesce((SELECT value FROM run_param WHERE run_no = run.no AND key = 'model.type'), ''),
    dataset = coalesce((SELECT value FROM run_param
                        WHERE run_no = run.no AND key = 'dataset.path'), '');
UPDATE run SET rows_read = coalesce(json_extract(d.text, '$.rows_scanned'), 0),
    rows_kept = coalesce(json_extract(d.text, '$.rows_kept'), 0),
    order_hash = coalesce(json_extract(d.text, '$.order_hash'), ''),
    eval_order_hash = coalesce(json_extract(d.text, '$.eval_order_hash'), '')
FROM run_document d WHERE d.run_no = run.no AND d.kind = 'receipt' AND json_valid(d.text);
)sql";

// Metric points in a tail of lines and sealed chunks instead of a row each: metric_table.h.
constexpr std::string_view kSchema3 = R"sql(
CREATE TABLE metric_line(
    no INTEGER PRIMARY KEY, attempt INTEGER NOT NULL, step INTEGER NOT NULL,
    epoch INTEGER NOT NULL, rows INTEGER NOT NULL, time_ms INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE TABLE metric_chunk(
    no INTEGER PRIMARY KEY, run_no INTEGER NOT NULL, key_no INTEGER NOT NULL,
    position INTEGER NOT NULL, first_step INTEGER NOT NULL, last_step INTEGER NOT NULL,
    num_points INTEGER NOT NULL, level1024 BLOB, level256 BLOB, level64 BLOB, level16 BLOB,
    points BLOB NOT NULL
);
CREATE UNIQUE INDEX metric_chunk_head ON metric_chunk(
    run_no, key_no, position, first_step, last_step, num_points
);
)sql";

// Submits as groups, the time of a deletion, plans stored once however many runs share them, and
// lines that never went in. When an older version deleted a run is not known: from now on counts.
// Checkpoints by base name. An attempt replaces what older ones reported when it begins: those of
// before did so when they were made.
constexpr std::string_view kSchema4 = R"sql(
ALTER TABLE run ADD COLUMN group_size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN deleted_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN purged_ms INTEGER NOT NULL DEFAULT 0;
UPDATE run SET deleted_ms = strftime('%s', 'now') * 1000 WHERE is_deleted = 1;
CREATE INDEX run_waiting ON run(queue_no) WHERE state = 'queued';
CREATE INDEX run_by_base ON run(base_run_id) WHERE base_run_id <> '';
CREATE TABLE shared_text(hash TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE quarantine(
    no INTEGER PRIMARY KEY, run_id TEXT NOT NULL, attempt INTEGER NOT NULL, worker TEXT NOT NULL,
    seq INTEGER NOT NULL, time_ms INTEGER NOT NULL, reason TEXT NOT NULL, line TEXT NOT NULL
);
CREATE INDEX quarantine_by_run ON quarantine(run_id);
ALTER TABLE attempt ADD COLUMN has_begun INTEGER NOT NULL DEFAULT 1;
ALTER TABLE checkpoint RENAME COLUMN path TO name;
UPDATE checkpoint SET name = replace(name, rtrim(name, replace(name, '/', '')), '');
)sql";

// The best of each evaluation metric and the time that steps took: what lists show is read from
// rows, not from series.
constexpr std::string_view kSchema5 = R"sql(
ALTER TABLE latest_metric ADD COLUMN best_step INTEGER;
ALTER TABLE latest_metric ADD COLUMN best_value REAL;
ALTER TABLE run ADD COLUMN timed_rows INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN timed_ms INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr std::array<std::string_view, 5> kSchemas = {kSchema1, kSchema2, kSchema3, kSchema4,
                                                      kSchema5};
constexpr int kChunkSchema = 3, kBestSchema = 5;

Status moveOldPoints(Database& db) {
    RETURN_IF_ERROR(sealOldPoints(db));
    return db.exec("DROP TABLE metric_point");
}

Status applyStep(Database& db, int version) {
    ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
    // Another process may have been faster between the first look and the lock.
    ASSIGN_OR_RETURN(const std::int64_t current, db.queryInt("PRAGMA user_version"));
    if (current >= version) {
        return okStatus();
    }
    RETURN_IF_ERROR(db.exec(std::string(kSchemas[static_cast<std::size_t>(version) - 1])));
    if (version == kChunkSchema) {
        RETURN_IF_ERROR(moveOldPoints(db));
    }
    if (version == kBestSchema) {
        RETURN_IF_ERROR(gatherOldRuns(db));
    }
    RETURN_IF_ERROR(db.exec(strCat("PRAGMA application_id = ", kApplicationId)));
    RETURN_IF_ERROR(db.exec(strCat("PRAGMA user_version = ", version)));
    return transaction.commit();
}

Status syncFile(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return fd.isOpen() && ::fsync(fd.get()) == 0 ? okStatus() : errnoStatus(errno, path);
}

// A step that went wrong has a way back: the store as it was stands beside it, "PATH.schema3". One
// copy is kept, the newest.
Status keepCopy(Database& db, std::int64_t version) {
    namespace fs = std::filesystem;
    const std::string copy = copyBeforeMigration(db.path(), static_cast<int>(version));
    const std::string aside = copy + ".part";
    std::error_code ignored;
    fs::remove(aside, ignored);
    const Status status = [&]() -> Status {
        ASSIGN_OR_RETURN(Statement vacuum, db.prepare("VACUUM INTO ?"));
        RETURN_IF_ERROR(vacuum.bind(aside).run());
        RETURN_IF_ERROR(syncFile(aside));
        if (::chmod(aside.c_str(), 0600) != 0 || ::rename(aside.c_str(), copy.c_str()) != 0) {
            return errnoStatus(errno, copy);
        }
        return syncFile(fs::path(copy).parent_path().string());
    }();
    if (!status.ok()) {
        fs::remove(aside, ignored);
        return annotate(status, strCat("no copy of the run store before it is brought to schema ",
                                       newestSchema()));
    }
    for (int older = 1; older < version; ++older) {
        fs::remove(copyBeforeMigration(db.path(), older), ignored);
    }
    return okStatus();
}

}  // namespace

std::string copyBeforeMigration(const std::string& path, int version) {
    return strCat(path, ".schema", version);
}

int newestSchema() {
    return static_cast<int>(kSchemas.size());
}

Status migrate(Database& db) {
    ASSIGN_OR_RETURN(const std::int64_t current, db.queryInt("PRAGMA user_version"));
    ASSIGN_OR_RETURN(const std::int64_t owner, db.queryInt("PRAGMA application_id"));
    ASSIGN_OR_RETURN(const std::int64_t numTables,
                     db.queryInt("SELECT count(*) FROM sqlite_schema"));
    if (numTables > 0 && owner != kApplicationId) {
        return failedPrecondition(db.path(), ": is an SQLite file, but not a run store");
    }
    if (current > newestSchema()) {
        return failedPrecondition(db.path(), ": was written by a newer Millrace (schema ", current,
                                  "; this one knows up to ", newestSchema(),
                                  "); use that version or another state directory");
    }
    if (current > 0 && current < newestSchema()) {
        RETURN_IF_ERROR(keepCopy(db, current));
    }
    for (int version = static_cast<int>(current) + 1; version <= newestSchema(); ++version) {
        RETURN_IF_ERROR(applyStep(db, version));
    }
    return okStatus();
}

}  // namespace millrace::runs

#include "backend/runs/database.h"

#include <cerrno>
#include <iterator>
#include <limits>

#include <sqlite3.h>

#include "backend/core/stop_wait.h"
#include "backend/core/thread.h"
#include "backend/core/transient.h"
#include "backend/text/utf8.h"

namespace millrace::runs {
namespace {

constexpr int kBusyTimeoutMs = 5000;
constexpr int kPatternBytesMax = 1000;

bool isNoSpace(int systemError) {
    return systemError == ENOSPC || systemError == EDQUOT || systemError == EFBIG;
}

// SQLite keeps the system's error of a statement, but not that of a failed COMMIT.
bool isDiskFull(int code, int keptError, int lastError) {
    return code == SQLITE_FULL ||
           (code == SQLITE_IOERR && (isNoSpace(keptError) || isNoSpace(lastError)));
}

}  // namespace

Statement::~Statement() {
    if (stmt_ != nullptr) {
        db_.giveBack(stmt_);
    }
}

Statement& Statement::bind(std::int64_t value) {
    sqlite3_bind_int64(stmt_, next_++, value);
    return *this;
}

Statement& Statement::bind(double value) {
    sqlite3_bind_double(stmt_, next_++, value);
    return *this;
}

// Text in the store is UTF-8: invalid bytes of one worker would make every list with its run
// unreadable for clients.
Statement& Statement::bind(std::string_view value) {
    if (!isUtf8(value)) {
        const std::string text = toUtf8(value);
        sqlite3_bind_text64(stmt_, next_++, text.data(), text.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8);
        return *this;
    }
    sqlite3_bind_text64(stmt_, next_++, value.data() == nullptr ? "" : value.data(), value.size(),
                        SQLITE_TRANSIENT, SQLITE_UTF8);
    return *this;
}

Statement& Statement::bindBlob(std::string_view bytes) {
    sqlite3_bind_blob64(stmt_, next_++, bytes.data() == nullptr ? "" : bytes.data(), bytes.size(),
                        SQLITE_STATIC);
    return *this;
}

Statement& Statement::bindNull() {
    sqlite3_bind_null(stmt_, next_++);
    return *this;
}

Result<bool> Statement::step() {
    errno = 0;
    const int code = sqlite3_step(stmt_);
    if (code == SQLITE_ROW) {
        return true;
    }
    if (code == SQLITE_DONE) {
        return false;
    }
    return db_.error(code);
}

Status Statement::run() {
    Result<bool> row = true;
    while (row.ok() && *row) {
        row = step();
    }
    sqlite3_reset(stmt_);
    next_ = 1;
    return row.status();
}

std::int64_t Statement::intAt(int column) const {
    return sqlite3_column_int64(stmt_, column);
}

double Statement::doubleAt(int column) const {
    return isNullAt(column) ? std::numeric_limits<double>::quiet_NaN()
                            : sqlite3_column_double(stmt_, column);
}

std::string Statement::textAt(int column) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(stmt_, column));
    // A damaged file may have other bytes.
    return text == nullptr
               ? std::string()
               : toUtf8({text, static_cast<std::size_t>(sqlite3_column_bytes(stmt_, column))});
}

std::string_view Statement::blobAt(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(stmt_, column));
    return bytes == nullptr
               ? std::string_view()
               : std::string_view(bytes,
                                  static_cast<std::size_t>(sqlite3_column_bytes(stmt_, column)));
}

bool Statement::isNullAt(int column) const {
    return sqlite3_column_type(stmt_, column) == SQLITE_NULL;
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, Mode mode) {
    sqlite3* handle = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                      (mode == Mode::kWrite ? SQLITE_OPEN_CREATE : 0);
    const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
    if (handle == nullptr) {
        return resourceExhausted(path, ": no memory to open the run store");
    }
    std::unique_ptr<Database> db(new Database(path, handle));
    if (code != SQLITE_OK) {
        return db->error(code);
    }
    sqlite3_extended_result_codes(handle, 1);
    sqlite3_busy_timeout(handle, kBusyTimeoutMs);
    sqlite3_limit(handle, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kPatternBytesMax);
    return db;
}

Database::~Database() {
    for (sqlite3_stmt* stmt : idle_) {
        sqlite3_finalize(stmt);
    }
    sqlite3_close(db_);
}

Result<Statement> Database::find(std::string_view sql) {
    // Newest first: statements in constant use are found at once.
    for (auto it = idle_.rbegin(); it != idle_.rend(); ++it) {
        if (sql == sqlite3_sql(*it)) {
            sqlite3_stmt* stmt = *it;
            idle_.erase(std::next(it).base());
            return Statement(*this, stmt);
        }
    }
    sqlite3_stmt* stmt = nullptr;
    const int code =
        sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &stmt, nullptr);
    if (code != SQLITE_OK) {
        return error(code);
    }
    return Statement(*this, stmt);
}

// Filters make statements that are used once: evicts the statement idle for longest.
void Database::giveBack(sqlite3_stmt* stmt) {
    if (std::string_view(sqlite3_sql(stmt)).size() > kIdleStatementBytesMax) {
        sqlite3_finalize(stmt);
        return;
    }
    if (idle_.size() >= kIdleStatementsMax) {
        sqlite3_finalize(idle_.front());
        idle_.erase(idle_.begin());
    }
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    idle_.push_back(stmt);
}

Status Database::exec(const std::string& sql) {
    errno = 0;
    const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? okStatus() : error(code);
}

Result<std::int64_t> Database::firstInt(Statement& query) const {
    ASSIGN_OR_RETURN(const bool hasRow, query.step());
    if (!hasRow) {
        return notFound(path_, ": no row");
    }
    return query.intAt(0);
}

Status Database::error(int code) const {
    const int lastError = errno;
    const int primary = code & 0xff;
    const std::string detail = strCat(" (", sqlite3_errmsg(db_), ")");
    if (isDiskFull(primary, sqlite3_system_errno(db_), lastError)) {
        return resourceExhausted(path_, ": the disk is full, nothing was stored; free some space",
                                 detail);
    }
    switch (primary) {
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
            return dataLoss(path_, ": the run store is corrupt", detail,
                            "; restore it from a copy, or move it away to start an empty one");
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return unavailable(path_, ": another process holds the run store", detail);
        case SQLITE_CANTOPEN:
        case SQLITE_PERM:
        case SQLITE_READONLY:
            return permissionDenied(path_, ": cannot be opened for writing", detail);
        case SQLITE_CONSTRAINT:
            return alreadyExists(path_, ": already stored", detail);
        case SQLITE_TOOBIG:
            return invalidArgument(path_, ": too big to store", detail);
        case SQLITE_NOMEM:
            return resourceExhausted(path_, ": no memory to store it", detail);
        case SQLITE_IOERR:
            return transient(internalError(path_, ": the disk of the run store failed", detail));
        case SQLITE_INTERRUPT:
            return deadlineExceeded(path_, ": reading took too long", detail);
        default:
            return internalError(path_, ": the run store failed", detail);
    }
}

TimeLimit::TimeLimit(Database& db, std::chrono::milliseconds time)
    : db_(db), end_(std::chrono::steady_clock::now() + time) {
    constexpr int kOperations = 10'000;  // between two checks of the clock
    const auto isOver = [](void* end) {
        const auto* limit = static_cast<const std::chrono::steady_clock::time_point*>(end);
        return std::chrono::steady_clock::now() > *limit ? 1 : 0;
    };
    sqlite3_progress_handler(db_.db_, kOperations, isOver,
                             const_cast<std::chrono::steady_clock::time_point*>(&end_));
}

TimeLimit::~TimeLimit() {
    sqlite3_progress_handler(db_.db_, 0, nullptr, nullptr);
}

Interrupter::Interrupter(Database& db, std::function<bool()> isUnwanted)
    : thread_(startThread("store-watch",
                          [&db, isUnwanted = std::move(isUnwanted)](const std::stop_token& stop) {
                              constexpr std::chrono::milliseconds kBetweenLooks{50};
                              do {  // repeated, as it does not stop later statements
                                  if (isUnwanted()) {
                                      sqlite3_interrupt(db.db_);
                                  }
                              } while (!waitForStop(stop, kBetweenLooks));
                          })) {}

Result<Transaction> Transaction::begin(Database& db) {
    RETURN_IF_ERROR(db.exec("BEGIN IMMEDIATE"));
    return Transaction(db);
}

Transaction::~Transaction() {
    if (db_ != nullptr && sqlite3_get_autocommit(db_->db_) == 0) {
        (void)db_->exec("ROLLBACK");
    }
}

Status Transaction::commit() {
    RETURN_IF_ERROR(db_->exec("COMMIT"));
    db_ = nullptr;
    return okStatus();
}

}  // namespace millrace::runs

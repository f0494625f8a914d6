#pragma once
// Database and Statement: SQLite connections and statements with owners and Status.
//
// Threads: one at a time; the owner locks. Failure: every error names the file; a full disk is
// kResourceExhausted, corruption kDataLoss, a violated constraint kAlreadyExists.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/core/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace millrace::runs {

class Database;

/// A prepared statement in use. Bind from left to right, then step. The destructor returns it to
/// its database's cache.
class Statement {
 public:
    Statement(Statement&& other) noexcept
        : db_(other.db_), stmt_(std::exchange(other.stmt_, nullptr)), next_(other.next_) {}
    Statement& operator=(Statement&&) = delete;
    ~Statement();

    Statement& bind(std::int64_t value);
    Statement& bind(int value) { return bind(static_cast<std::int64_t>(value)); }
    Statement& bind(double value);            ///< NaN becomes NULL
    Statement& bind(std::string_view value);  ///< invalid UTF-8 is replaced
    Statement& bind(const std::string& value) { return bind(std::string_view(value)); }
    Statement& bind(const char* value) { return bind(std::string_view(value)); }
    /// Not copied: `bytes` must live until the statement has run.
    Statement& bindBlob(std::string_view bytes);
    Statement& bindBlob(std::string&&) = delete;
    Statement& bindNull();

    /// Returns true if there is a row.
    Result<bool> step();
    /// Steps to the end and resets the statement for other values.
    Status run();
    /// Calls `each` with the statement at each remaining row.
    template <class Each>
    Status forEach(Each each) {
        Result<bool> isRow = step();
        for (; isRow.ok() && *isRow; isRow = step()) {
            each(*this);
        }
        return isRow.status();
    }
    /// Returns what `read` makes of each remaining row.
    template <class Read, class T = std::invoke_result_t<Read, const Statement&>>
    Result<std::vector<T>> collect(Read read) {
        std::vector<T> all;
        RETURN_IF_ERROR(forEach([&](const Statement& row) { all.push_back(read(row)); }));
        return all;
    }

    std::int64_t intAt(int column) const;
    double doubleAt(int column) const;          ///< NaN for NULL
    std::string textAt(int column) const;       ///< always UTF-8
    std::string_view blobAt(int column) const;  ///< valid until the next step
    bool isNullAt(int column) const;

 private:
    friend class Database;
    Statement(Database& db, sqlite3_stmt* stmt) : db_(db), stmt_(stmt) {}
    Database& db_;
    sqlite3_stmt* stmt_;
    int next_ = 1;
};

class Database {
 public:
    static constexpr std::size_t kIdleStatementsMax = 64;
    static constexpr std::size_t kIdleStatementBytesMax = 4 << 10;  ///< of its text

    enum class Mode { kWrite, kReadOnly };
    static Result<std::unique_ptr<Database>> open(const std::string& path, Mode mode);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    const std::string& path() const { return path_; }
    /// Takes a cached statement for the text unless it is in use, otherwise prepares one, and binds
    /// `values` from left to right.
    template <class... Values>
    Result<Statement> prepare(std::string_view sql, const Values&... values) {
        ASSIGN_OR_RETURN(Statement statement, find(sql));
        (statement.bind(values), ...);
        return statement;
    }
    /// Prepares the statement with the values, and runs it.
    template <class... Values>
    Status run(std::string_view sql, const Values&... values) {
        ASSIGN_OR_RETURN(Statement statement, prepare(sql, values...));
        return statement.run();
    }
    /// Returns what `read` makes of each row.
    template <class Read, class... Values, class T = std::invoke_result_t<Read, const Statement&>>
    Result<std::vector<T>> select(Read read, std::string_view sql, const Values&... values) {
        ASSIGN_OR_RETURN(Statement query, prepare(sql, values...));
        return query.collect(read);
    }
    /// Executes several statements without values.
    Status exec(const std::string& sql);
    /// The first column of the first row; kNotFound without a row.
    template <class... Values>
    Result<std::int64_t> queryInt(std::string_view sql, const Values&... values) {
        ASSIGN_OR_RETURN(Statement query, prepare(sql, values...));
        return firstInt(query);
    }
    Status error(int code) const;
    /// Number of cached statements.
    std::size_t numIdle() const { return idle_.size(); }

 private:
    friend class Statement;
    friend class Interrupter;
    friend class TimeLimit;
    friend class Transaction;
    Database(std::string path, sqlite3* db) : path_(std::move(path)), db_(db) {}
    Result<Statement> find(std::string_view sql);
    void giveBack(sqlite3_stmt* stmt);
    Result<std::int64_t> firstInt(Statement& query) const;

    std::string path_;
    sqlite3* db_;
    std::vector<sqlite3_stmt*> idle_;  // longest idle first
};

/// During its lifetime, statements of `db` that run past the time limit fail with
/// kDeadlineExceeded.
class TimeLimit {
 public:
    TimeLimit(Database& db, std::chrono::milliseconds time);
    ~TimeLimit();
    TimeLimit(const TimeLimit&) = delete;
    TimeLimit& operator=(const TimeLimit&) = delete;

 private:
    Database& db_;
    const std::chrono::steady_clock::time_point end_;
};

/// During its lifetime, statements of `db` fail with kDeadlineExceeded once `isUnwanted` is true.
/// That includes those that TimeLimit cannot end: a check for damage is one operation. Threads:
/// calls `isUnwanted` on a thread of its own.
class Interrupter {
 public:
    Interrupter(Database& db, std::function<bool()> isUnwanted);

 private:
    std::jthread thread_;
};

/// Rolls back in the destructor unless committed.
class Transaction {
 public:
    static Result<Transaction> begin(Database& db);
    Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();
    Status commit();

 private:
    explicit Transaction(Database& db) : db_(&db) {}
    Database* db_;
};

}  // namespace millrace::runs

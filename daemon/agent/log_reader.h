#pragma once
// LogReader: the workers' logs of a run as one stream of lines, merged by time. A cursor lets a
// later reader continue where this one stopped. Used by LogFollower.
//
// It reads through job::WorkerLogs. Threads: one owner. Bounded: a chunk of lines and a buffer for
// each worker; a call reads about a megabyte, however long the logs are and however fast they grow.
// Failure: a worker whose file cannot be read has no lines.
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/job/worker_logs.h"
#include "backend/values/log_line.h"

namespace millrace::agent {

struct LogQuery {
    std::vector<std::string> workers;  ///< empty: all
    int attempt = 0;                   ///< 0: all
    values::LogLevel minLevel = values::LogLevel::kNone;
    std::size_t tailLines = 0;  ///< 0: all; else at most kMostTailLines
    std::string cursor;         ///< of LogPage; "": from the start
    bool isFollowing = true;    ///< false: reads only the lines that exist at its first read
};

inline constexpr std::size_t kMostTailLines = 100'000;

struct LogPage {
    std::vector<values::LogLine> lines;
    std::string cursor;
    std::uint64_t droppedLines = 0;  ///< lines that a rotation removed before they were read
    bool isAtEnd = false;            ///< there is nothing more now
};

class LogReader {
 public:
    /// Opens the logs of the run `runId`; `logs` outlives it. kInvalidArgument for a cursor that is
    /// not valid.
    static Result<LogReader> open(const job::WorkerLogs& logs, std::string runId, LogQuery query);
    /// Returns the next lines, at most `most` and about a megabyte. `looksForWorkers`: also finds
    /// new workers and attempts, which takes a while if there are many. A page without lines that
    /// is not at the end: call again, this call's budget was spent.
    LogPage next(std::size_t most, bool looksForWorkers = true);

 private:
    struct Buffered {
        values::LogLine line;
        std::uint64_t end = 0;  // offset of its end
    };
    /// The position of a line of the tail.
    struct Mark {
        std::int64_t timeMs = 0;
        std::uint64_t start = 0;
    };
    struct Source {
        job::LogKey key;
        std::uint64_t offset = 0;  // end of the last line that was returned
        std::uint64_t readTo = 0;  // end of the last line that was buffered
        std::uint64_t stopAt = 0;  // later lines are not for this reader
        std::deque<Buffered> buffer;
        // For the search for the tail, from the end backwards:
        std::uint64_t lookedTo = 0;
        bool isLookedThrough = false;
        std::deque<Mark> marks;
    };
    enum class Fill { kReady, kAtEnd, kTurnOver };

    LogReader(const job::WorkerLogs& logs, std::string runId, LogQuery query)
        : logs_(&logs), runId_(std::move(runId)), query_(std::move(query)) {}
    Status readCursor();
    void findSources();
    Fill fill(Source& source, LogPage& page);
    void keep(Source& source, std::string_view bytes, std::uint64_t start);
    bool findTail();
    void lookBack(Source& source);
    void startAtTail();
    Source* earliest(LogPage& page, bool& isTurnOver);
    std::string cursorText() const;
    bool isWanted(const values::LogLine& line) const;

    const job::WorkerLogs* logs_;
    std::string runId_;
    LogQuery query_;
    std::map<std::string, Source> sources_;              // "1/feed"
    std::map<std::string, std::uint64_t> startOffsets_;  // of the cursor, until found
    bool isTailDone_ = false;
    std::size_t turnBytes_ = 0;  // bytes that this call may still read
};

/// Parses "TIME o|e|m text"; returns nullopt for anything else. The guardian's own lines (m) have
/// the level info; its lines about offsets are left out.
std::optional<values::LogLine> parseLogLine(std::string_view text);

}  // namespace millrace::agent

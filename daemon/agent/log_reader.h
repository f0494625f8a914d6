#pragma once
// The workers' logs of a run as one stream of lines, merged by time, that can be read again from
// where one stopped.
//
// Reads what job::WorkerLogs has of them.
// Threads: one owner. Bounded: a chunk of lines and a buffer for each worker; a call reads about a
// megabyte, however long the logs are and however fast they grow. Failure: a worker whose file
// cannot be read has no lines.
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
    std::vector<std::string> workers;  ///< none: all
    int attempt = 0;                   ///< 0: all
    values::LogLevel minLevel = values::LogLevel::kNone;
    std::size_t tailLines = 0;  ///< 0: all; else at most kMostTailLines
    std::string cursor;         ///< of LogPage; "": from the start
    bool isFollowing = true;    ///< false: no further than what is there when it is first looked at
};

inline constexpr std::size_t kMostTailLines = 100'000;

struct LogPage {
    std::vector<values::LogLine> lines;
    std::string cursor;
    std::uint64_t droppedLines = 0;  ///< gaps that a rotation made before it was read
    bool isAtEnd = false;            ///< nothing more now
};

class LogReader {
 public:
    /// Of the run `runId`; `logs` outlives it. kInvalidArgument for a cursor that is none.
    static Result<LogReader> open(const job::WorkerLogs& logs, std::string runId, LogQuery query);
    /// The next lines, at most `most` and about a megabyte. `looksForWorkers`: workers and attempts
    /// that have come since join; of many that takes a while. A page without lines that is not at
    /// the end: ask again, there was more to look at.
    LogPage next(std::size_t most, bool looksForWorkers = true);

 private:
    struct Buffered {
        values::LogLine line;
        std::uint64_t end = 0;  // offset behind it
    };
    /// A line of the tail.
    struct Mark {
        std::int64_t timeMs = 0;
        std::uint64_t start = 0;
    };
    struct Source {
        job::LogKey key;
        std::uint64_t offset = 0;  // behind the last line handed out
        std::uint64_t readTo = 0;  // behind the last line buffered
        std::uint64_t stopAt = 0;  // lines behind it are not this reader's
        std::deque<Buffered> buffer;
        // While the tail is looked for, from the end backwards:
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
    std::size_t turnBytes_ = 0;  // that this call may still read
};

/// "TIME o|e|m text" -> a line; nothing for what is none. The guardian's own lines (m) have the
/// level info, those about offsets are left out.
std::optional<values::LogLine> parseLogLine(std::string_view text);

}  // namespace millrace::agent

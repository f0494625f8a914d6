#pragma once
// Lines of the workers' logs, and requests for them.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::values {

/// kNone: the line has no level. In ascending severity.
enum class LogLevel { kNone, kDebug, kInfo, kWarn, kError };

struct LogLine {
    std::int64_t timeMs = 0;
    std::string worker;  ///< "feed", "rank0"
    std::string text;    ///< without the line end
    bool isStderr = false;
    int attempt = 1;
    LogLevel level = LogLevel::kNone;
    std::optional<int> rank;  ///< of a rank's line; the feed has none
    bool operator==(const LogLine&) const = default;
};

struct LogsRequest {
    std::string run;
    std::vector<std::string> workers;  ///< empty: all
    std::int64_t tailLines = 0;        ///< only the last N existing lines; 0: all
    bool follow = false;
    std::string cursor;  ///< from a LogChunk; "": from the start
    int attempt = 0;     ///< 0: all
    LogLevel minLevel = LogLevel::kNone;
    bool operator==(const LogsRequest&) const = default;
};

struct LogChunk {
    std::vector<LogLine> lines;
    std::string cursor;
    bool isEnd = false;              ///< nothing follows
    std::uint64_t droppedLines = 0;  ///< dropped from the bounded log before they were read; at
                                     ///< least one per gap
    bool operator==(const LogChunk&) const = default;
};

}  // namespace millrace::values

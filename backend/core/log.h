#pragma once
// Structured log lines on stderr: "2026-03-01T12:34:56.789Z info stream: starved run=r-81
// waitedMs=5".
//
// Threads: any; a line is one write. The level is read once from MILLRACE_LOG (debug, info, warn,
// error; default info). Log an error where it is handled, not where it is made.
#include <initializer_list>
#include <string>
#include <string_view>

#include "backend/core/status.h"

namespace millrace {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

/// One key=value of a line; values with blanks, quotes or line ends are quoted as JSON strings.
struct LogField {
    LogField(std::string_view key, std::string_view value) : key(key), value(value) {}
    LogField(std::string_view key, const char* value) : key(key), value(value) {}
    template <class T>
    LogField(std::string_view key, T value) : key(key), value(strCat(value)) {}
    std::string_view key;
    std::string value;
};

void logLine(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});
/// A line's text without time, level and line end (what logLine writes after the level).
std::string formatLogLine(std::string_view event, std::initializer_list<LogField> fields);

inline void logDebug(std::string_view e, std::initializer_list<LogField> f = {}) {
    logLine(LogLevel::kDebug, e, f);
}
inline void logInfo(std::string_view e, std::initializer_list<LogField> f = {}) {
    logLine(LogLevel::kInfo, e, f);
}
inline void logWarn(std::string_view e, std::initializer_list<LogField> f = {}) {
    logLine(LogLevel::kWarn, e, f);
}
inline void logError(std::string_view e, std::initializer_list<LogField> f = {}) {
    logLine(LogLevel::kError, e, f);
}

}  // namespace millrace

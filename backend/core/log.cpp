#include "backend/core/log.h"

#include <cstdlib>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "backend/core/clock.h"

namespace millrace {
namespace {

LogLevel thresholdFromEnvironment() {
    const char* text = std::getenv("MILLRACE_LOG");
    const std::string_view level = text == nullptr ? "info" : text;
    if (level == "debug") {
        return LogLevel::kDebug;
    }
    if (level == "warn") {
        return LogLevel::kWarn;
    }
    return level == "error" ? LogLevel::kError : LogLevel::kInfo;
}

std::string_view levelName(LogLevel level) {
    constexpr std::string_view kNames[] = {"debug", "info", "warn", "error"};
    return kNames[static_cast<int>(level)];
}

bool needsQuotes(std::string_view value) {
    if (value.empty()) {
        return true;
    }
    for (const char c : value) {
        if (static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '=') {
            return true;
        }
    }
    return false;
}

}  // namespace

std::string formatLogLine(std::string_view event, std::initializer_list<LogField> fields) {
    std::string line(event);
    for (const LogField& field : fields) {
        strAppend(&line, " ", field.key, "=");
        if (needsQuotes(field.value)) {
            line += nlohmann::json(field.value)
                        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        } else {
            line += field.value;
        }
    }
    return line;
}

void logLine(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
    static const LogLevel kThreshold = thresholdFromEnvironment();
    if (level < kThreshold) {
        return;
    }
    const std::string line = strCat(formatTime(SystemClock().wallMs()), " ", levelName(level), " ",
                                    formatLogLine(event, fields), "\n");
    [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace millrace

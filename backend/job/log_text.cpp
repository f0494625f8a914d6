#include "backend/job/log_text.h"

#include <algorithm>
#include <array>

#include "backend/core/clock.h"

namespace millrace::job {
namespace {

constexpr std::size_t kLeastTime = 20;  // bytes of a time with seconds
constexpr std::array<std::string_view, 5> kLevels = {"debug", "info", "warn", "warning", "error"};

std::string_view nextWord(std::string_view& rest) {
    const std::size_t blank = rest.find(' ');
    const std::string_view word = rest.substr(0, blank);
    rest = blank == std::string_view::npos ? std::string_view() : rest.substr(blank + 1);
    return word;
}

void takeOwnPrefix(LogText& line) {
    std::string_view rest(line.text);
    const std::string_view time = nextWord(rest);
    if (time.size() < kLeastTime || !parseTime(time).ok()) {
        return;
    }
    const std::string_view level = nextWord(rest);
    if (std::ranges::find(kLevels, level) != kLevels.end()) {
        line.level = level;
        line.text = rest;
    }
}

}  // namespace

std::optional<LogText> splitLogLine(std::string_view line) {
    std::string_view rest = line;
    const Result<std::int64_t> time = parseTime(nextWord(rest));
    const std::string_view origin = nextWord(rest);
    if (!time.ok() || (origin != "o" && origin != "e" && origin != "m")) {
        return std::nullopt;
    }
    LogText found{*time, origin[0], "", rest};
    if (origin != "m") {
        takeOwnPrefix(found);
    } else if (rest.rfind("log-offset", 0) == 0) {
        return std::nullopt;
    }
    return found;
}

std::string_view takeLastLine(std::string_view& bytes) {
    bytes.remove_suffix(1);
    const std::size_t start = bytes.rfind('\n') + 1;
    const std::string_view line = bytes.substr(start);
    bytes = bytes.substr(0, start);
    return line;
}

}  // namespace millrace::job

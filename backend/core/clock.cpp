#include "backend/core/clock.h"

#include <chrono>
#include <cmath>
#include <ctime>

#include <absl/strings/str_format.h>

namespace millrace {

std::int64_t SystemClock::wallMs() const {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::int64_t SystemClock::steadyNs() const {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

std::string formatTime(std::int64_t utcMs) {
    std::int64_t seconds = utcMs / 1000;
    std::int64_t ms = utcMs % 1000;
    if (ms < 0) {
        ms += 1000;
        seconds -= 1;
    }
    const std::time_t t = seconds;
    std::tm parts{};
    gmtime_r(&t, &parts);
    return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                           parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
                           parts.tm_sec, ms);
}

Result<std::int64_t> parseTime(std::string_view text) {
    std::tm parts{};
    int ms = 0, used = 0;
    const std::string copy(text);
    const int n =
        std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
                    &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &used);
    std::string_view rest = std::string_view(copy).substr(n == 6 ? used : 0);
    if (n == 6 && rest.size() == 5 && std::sscanf(copy.c_str() + used, ".%3d", &ms) == 1) {
        rest = rest.substr(4);
    }
    if (n != 6 || rest != "Z") {
        return invalidArgument("'", text, "' is not a time like 2026-03-01T12:34:56.789Z");
    }
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    const std::int64_t time = static_cast<std::int64_t>(timegm(&parts)) * 1000 + ms;
    constexpr std::size_t kSeconds = 19;  // length of "2026-03-01T12:34:56"; rejects dates like
                                          // February 30th
    if (formatTime(time).substr(0, kSeconds) != text.substr(0, kSeconds)) {
        return invalidArgument("'", text, "' does not exist in the calendar");
    }
    return time;
}

std::string formatDuration(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0) {
        return "n/a";
    }
    if (seconds < 59.95) {
        return absl::StrFormat("%.1f s", seconds);
    }
    const auto whole = static_cast<std::int64_t>(seconds + 0.5);
    if (whole < 3600) {
        return absl::StrFormat("%d m %02d s", whole / 60, whole % 60);
    }
    const std::int64_t hours = whole / 3600;
    return hours < 24 ? absl::StrFormat("%d h %02d m", hours, whole / 60 % 60)
                      : absl::StrFormat("%d d %02d h", hours / 24, hours % 24);
}

}  // namespace millrace

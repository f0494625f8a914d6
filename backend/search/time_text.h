#pragma once
// Times and durations as people write them in a filter.
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::search {

/// From `beginMs` to before `endMs`, ms since 1970, UTC; equal ones are a moment.
struct TimeSpan {
    std::int64_t beginMs = 0, endMs = 0;
    bool isDay() const { return beginMs != endMs; }
};

/// "2026-03-01" (a whole day), "2026-03-01T12:00:00Z" (seconds, fraction and Z may be absent, a
/// blank may stand for T), "today", "yesterday" (days in UTC), "now", "90m", "7d ago" (moments
/// before `nowMs`), milliseconds since 1970. Null: none of these.
std::optional<TimeSpan> timeOf(std::string_view text, std::int64_t nowMs);

/// "90" and "90s" (seconds), "1.5h", "2d", "1w". Null: no duration, or beyond 10,000 years.
std::optional<double> secondsOf(std::string_view text);

}  // namespace millrace::search

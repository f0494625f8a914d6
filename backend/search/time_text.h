#pragma once
// Parses times and durations as people write them in a filter.
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::search {

/// From `beginMs` until before `endMs`, ms since 1970, UTC; a moment if they are equal.
struct TimeSpan {
    std::int64_t beginMs = 0, endMs = 0;
    bool isDay() const { return beginMs != endMs; }
};

/// Parses "2026-03-01" (a whole day), "2026-03-01T12:00:00Z" (seconds, fraction and Z are optional,
/// a blank may replace T), "today", "yesterday" (days in UTC), "now", "90m", "7d ago" (moments
/// before `nowMs`), milliseconds since 1970. Returns nothing for other text.
std::optional<TimeSpan> timeOf(std::string_view text, std::int64_t nowMs);

/// Parses "90" and "90s" (seconds), "1.5h", "2d", "1w". Returns nothing for other text, or beyond
/// 10,000 years.
std::optional<double> secondsOf(std::string_view text);

}  // namespace millrace::search

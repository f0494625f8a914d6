#include "backend/search/time_text.h"

#include <charconv>
#include <string>

#include "backend/core/clock.h"
#include "backend/text/numbers.h"

namespace millrace::search {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;
constexpr double kSecondsMost = 1e4 * 366 * 86'400;

std::optional<double> factorOf(std::string_view unit) {
    constexpr std::pair<std::string_view, double> kUnits[] = {
        {"", 1}, {"s", 1}, {"m", 60}, {"h", 3'600}, {"d", 86'400}, {"w", 604'800}};
    for (const auto& [name, factor] : kUnits) {
        if (name == unit) {
            return factor;
        }
    }
    return std::nullopt;
}

std::optional<std::int64_t> momentOf(std::string_view text) {
    constexpr std::size_t kDate = 10, kMinutes = 16;  // lengths of "2026-03-01" and
                                                      // "2026-03-01T12:00"
    if (text.size() < kDate) {
        return std::nullopt;
    }
    std::string time(text);
    if (time.size() == kDate) {
        time += "T00:00:00";
    }
    if (time[kDate] == ' ') {
        time[kDate] = 'T';
    }
    if (time.size() == kMinutes) {
        time += ":00";
    }
    if (time.back() != 'Z') {
        time += 'Z';
    }
    const Result<std::int64_t> moment = parseTime(time);
    return moment.ok() ? std::optional(*moment) : std::nullopt;
}

TimeSpan dayOf(std::int64_t ms) {
    const std::int64_t day = ms - (ms % kDayMs + kDayMs) % kDayMs;
    return {day, day + kDayMs};
}

}  // namespace

std::optional<double> secondsOf(std::string_view text) {
    double number = 0;
    const auto parsed =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    const auto used = static_cast<std::size_t>(parsed.ptr - text.data());
    const std::optional<double> factor = factorOf(text.substr(used));
    if (parsed.ec != std::errc() || !factor || !(number >= 0) || number * *factor > kSecondsMost) {
        return std::nullopt;
    }
    return number * *factor;
}

std::optional<TimeSpan> timeOf(std::string_view text, std::int64_t nowMs) {
    if (text == "now") {
        return TimeSpan{nowMs, nowMs};
    }
    if (text == "today" || text == "yesterday") {
        return dayOf(text == "today" ? nowMs : nowMs - kDayMs);
    }
    if (const auto ms = parseNumber<std::int64_t>(text)) {
        return TimeSpan{*ms, *ms};
    }
    constexpr std::string_view kAgo = " ago";
    const bool isAgo = text.ends_with(kAgo);
    if (const auto age = secondsOf(isAgo ? text.substr(0, text.size() - kAgo.size()) : text)) {
        const std::int64_t moment = nowMs - static_cast<std::int64_t>(*age * 1e3);
        return TimeSpan{moment, moment};
    }
    if (const auto moment = momentOf(text)) {
        constexpr std::size_t kDate = 10;
        return text.size() == kDate ? dayOf(*moment) : TimeSpan{*moment, *moment};
    }
    return std::nullopt;
}

}  // namespace millrace::search

#include "app/session/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>

#include <absl/strings/str_format.h>

#include "backend/core/clock.h"
#include "backend/core/status.h"
#include "backend/text/text.h"

namespace millrace::session {
namespace {

constexpr std::array kPrefixes = {"", "k", "M", "G", "T", "P"};
constexpr std::array kByteUnits = {"B", "kB", "MB", "GB", "TB", "PB"};

std::string notFinite(double value, const char* nan) {
    return std::isnan(value) ? nan : value > 0 ? "inf" : "-inf";
}

// "0.4900" becomes "0.49", "3.0" becomes "3".
std::string withoutZeros(std::string text) {
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') {
            text.pop_back();
        }
    }
    return text;
}

// "1e-05" becomes "1e-5".
std::string exponentText(double value, int digits) {
    const std::string text = absl::StrFormat("%.*e", digits - 1, value);
    const std::size_t e = text.find('e');
    return strCat(withoutZeros(text.substr(0, e)), "e", std::atoi(text.c_str() + e + 1));
}

// Divides `value` until it is below `most` or the last unit is reached. Returns the unit's index.
// `most` is a half of the last shown digit below 1000, so that rounding never shows "1000 k".
std::size_t scale(double& value, double most, std::size_t numUnits) {
    std::size_t unit = 0;
    while (std::fabs(value) >= most && unit + 1 < numUnits) {
        value /= 1000;
        ++unit;
    }
    return unit;
}

// About four or five significant digits.
int decimalsBeside(double size) {
    return size < 10 ? 4 : size < 100 ? 2 : size < 1000 ? 1 : 0;
}

std::tm localCalendar(std::int64_t utcMs) {
    const std::time_t seconds = utcMs / 1000;
    std::tm local{};
    ::localtime_r(&seconds, &local);
    return local;
}

}  // namespace

std::string groupedNumber(double value, int decimals) {
    // Negative values that round to 0 lose their sign.
    const double rounded = std::fabs(value) * std::pow(10, decimals) < 0.5 ? 0 : value;
    std::string text = absl::StrFormat("%.*f", decimals, rounded);
    const std::size_t first = text.front() == '-' ? 1 : 0;
    for (std::size_t at = std::min(text.find('.'), text.size()); at > first + 3;) {
        at -= 3;
        text.insert(at, ",");
    }
    return text;
}

std::string shortNumber(double value) {
    if (!std::isfinite(value)) {
        return notFinite(value, "n/a");
    }
    const double size = std::fabs(value);
    if (size >= 999.5 && size < 999'999.5) {
        return formatCount(static_cast<std::int64_t>(std::llround(value)));
    }
    if (size >= 999.5) {
        const std::size_t unit = scale(value, 999.5, kPrefixes.size());
        return absl::StrFormat("%.3g %s", value, kPrefixes.at(unit));
    }
    if (size == std::floor(size)) {
        return absl::StrFormat("%.0f", value);
    }
    if (size < 1e-4) {
        return absl::StrFormat("%.1e", value);
    }
    const int digits = size >= 100 ? 1 : size >= 10 ? 2 : 4;
    return absl::StrFormat("%.*f", digits, value);
}

std::string numberText(const std::optional<double>& value, const char* unknown) {
    return value ? shortNumber(*value) : unknown;
}

std::string figureText(double value) {
    if (!std::isfinite(value)) {
        return notFinite(value, "NaN");
    }
    const double size = std::fabs(value);
    if (size != 0 && (size < 1e-4 || size >= 1e9)) {
        return absl::StrFormat("%.4g", value);
    }
    const bool isWhole = value == std::floor(value) && size >= 10;
    return groupedNumber(value, isWhole ? 0 : decimalsBeside(size));
}

std::string differenceText(double difference, double value) {
    if (!std::isfinite(difference)) {
        return notFinite(difference, "NaN");
    }
    if (difference == 0) {
        return "0";
    }
    const double size = std::fabs(difference);
    const int decimals = decimalsBeside(std::fabs(value));
    const bool isLost = size < 0.5 * std::pow(10, -decimals);
    return (difference > 0 ? "+" : "-") +
           (isLost ? absl::StrFormat("%.2g", size) : groupedNumber(size, decimals));
}

std::string significantNumber(double value, int digits) {
    const double size = std::fabs(value);
    if (size == 0) {
        return "0";
    }
    if (size < 1e-4 || size >= 1e15) {
        return exponentText(value, digits);
    }
    const int before = static_cast<int>(std::floor(std::log10(size))) + 1;
    return withoutZeros(groupedNumber(value, std::max(0, digits - before)));
}

std::string loggedNumber(double value) {
    const double size = std::fabs(value);
    if (size != 0 && (size < 1e-4 || size >= 1e15)) {
        return exponentText(value, 6);
    }
    if (std::nearbyint(value) == value) {
        return significantNumber(value, 15);
    }
    // Scripts log floats, which arrive as doubles: 0.1f is 0.100000001490116. The fewest digits
    // that read back to the same float are what was logged.
    const auto asFloat = static_cast<float>(value);
    for (int digits = 1; digits < 7 && static_cast<double>(asFloat) == value; ++digits) {
        const std::string shorter = absl::StrFormat("%.*g", digits, value);
        if (std::strtof(shorter.c_str(), nullptr) == asFloat) {
            return significantNumber(std::strtod(shorter.c_str(), nullptr), digits);
        }
    }
    return significantNumber(value, 7);
}

std::string prefixedNumber(double value, int digits) {
    const std::size_t unit = scale(value, 999.95, kPrefixes.size());
    const std::string number = significantNumber(value, digits);
    return unit == 0 ? number : strCat(number, " ", kPrefixes.at(unit));
}

std::string shortCount(double value) {
    if (!std::isfinite(value)) {
        return notFinite(value, "NaN");
    }
    const std::size_t unit = scale(value, 999.5, kPrefixes.size());
    const bool isWhole = unit == 0 || std::fabs(value) >= 99.95;
    const std::string number = groupedNumber(value, isWhole ? 0 : 1);
    return unit == 0 ? number : strCat(number, " ", kPrefixes.at(unit));
}

std::string countText(std::int64_t count, std::string_view noun) {
    return strCat(formatCount(count), " ", noun, count == 1 ? "" : "s");
}

std::string percentText(const std::optional<double>& value) {
    if (!value || !std::isfinite(*value)) {
        return "n/a";
    }
    return absl::StrFormat("%.*f %%", *value >= 9.95 || std::fabs(*value) < 0.05 ? 0 : 1, *value);
}

std::string preciseBytes(double bytes, int digits) {
    const std::size_t unit = scale(bytes, 999.95, kByteUnits.size());
    return strCat(significantNumber(bytes, digits), " ", kByteUnits.at(unit));
}

std::string rateText(const std::optional<double>& bytesPerSecond) {
    return bytesPerSecond ? formatBytes(*bytesPerSecond) + "/s" : "n/a";
}

std::string usedText(const std::optional<std::uint64_t>& used,
                     const std::optional<std::uint64_t>& total) {
    if (!used || !total) {
        return "n/a";
    }
    const std::string all = formatBytes(static_cast<double>(*total));
    const std::size_t blank = all.find(' ');
    // Both numbers have the total's unit, which is found from its own text.
    const double unit = static_cast<double>(*total) / std::max(1e-9, std::atof(all.c_str()));
    return absl::StrFormat("%.1f/%s %s", static_cast<double>(*used) / unit, all.substr(0, blank),
                           all.substr(blank + 1));
}

std::string durationText(double ms) {
    if (!(ms >= 0)) {
        return "";
    }
    return ms > 0 && ms < 50 ? "< 0.1 s" : formatDuration(ms / 1000);  // something, not nothing
}

std::string preciseDuration(double ms) {
    const double size = std::fabs(ms);
    const std::string sign = ms < 0 ? "-" : "";
    if (size == 0) {
        return "0 s";
    }
    if (size < 1) {
        return sign + significantNumber(1000 * size, 3) + " µs";
    }
    if (size < 999.5) {
        return sign + significantNumber(size, 3) + " ms";
    }
    return sign +
           (size < 59'950 ? significantNumber(size / 1000, 3) + " s" : formatDuration(size / 1000));
}

std::string secondsText(const std::optional<double>& seconds) {
    return seconds && std::isfinite(*seconds) ? durationText(1000 * std::max(0.0, *seconds)) : "-";
}

std::string localTime(std::int64_t utcMs) {
    const std::tm local = localCalendar(utcMs);
    return absl::StrFormat("%04d-%02d-%02d %s", local.tm_year + 1900, local.tm_mon + 1,
                           local.tm_mday, timeOfDay(utcMs));
}

std::string timeOfDay(std::int64_t utcMs) {
    const std::tm local = localCalendar(utcMs);
    return absl::StrFormat("%02d:%02d:%02d", local.tm_hour, local.tm_min, local.tm_sec);
}

std::string zoneText(std::int64_t utcMs) {
    const long minutes = localCalendar(utcMs).tm_gmtoff / 60;
    return minutes == 0 ? "UTC"
                        : absl::StrFormat("%c%02d:%02d", minutes < 0 ? '-' : '+',
                                          std::labs(minutes) / 60, std::labs(minutes) % 60);
}

std::string ageText(std::int64_t utcMs, std::int64_t nowMs) {
    if (utcMs == 0) {
        return "-";
    }
    const std::int64_t seconds = std::max<std::int64_t>(0, nowMs - utcMs) / 1000;
    // Each unit begins at one and a half of it: smaller numbers would lose too much to rounding.
    if (seconds < 90) {
        return strCat(seconds, " s ago");
    }
    if (seconds < 90 * 60) {
        return strCat(seconds / 60, " min ago");
    }
    return seconds < 36 * 3600 ? strCat(seconds / 3600, " h ago")
                               : strCat(seconds / 86400, " d ago");
}

std::string withAge(const std::string& text, const std::optional<double>& oldSeconds) {
    return oldSeconds ? strCat(text, ", ", secondsText(oldSeconds), " old") : text;
}

}  // namespace millrace::session

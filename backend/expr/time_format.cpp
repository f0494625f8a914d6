#include "backend/expr/time_format.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <utility>

#include <absl/strings/ascii.h>

namespace millrace::expr {
namespace {

constexpr std::string_view kFieldNames = "YymbBdjHIpMSgfnzaA";
constexpr std::string_view kBareFieldNames = "ymdjHIMS";  // also with a minus, as in %-d
constexpr std::string_view kKnownFields =
    "known are %Y %y %m %b %B %d %j %H %I %p %M %S %g %f %n %z %a %A %%, and with a minus %-y %-m "
    "%-d %-j %-H %-I %-M %-S";
constexpr std::array<std::string_view, 12> kMonthNames{
    "january", "february", "march",     "april",   "may",      "june",
    "july",    "august",   "september", "october", "november", "december"};
constexpr std::array<std::string_view, 7> kDayNames{"monday", "tuesday",  "wednesday", "thursday",
                                                    "friday", "saturday", "sunday"};
constexpr std::array<std::string_view, 2> kHalves{"am", "pm"};
constexpr std::size_t kShortName = 3;  // letters of %b and %a
constexpr int kPivotYear = 69;         // of %y: 69 to 99 are 19xx, as in POSIX

/// The fields that were read, and the text that is left.
struct TimeReader {
    std::string_view rest;
    int year = 1900, month = 1, day = 1, dayOfYear = 1;
    int hour = 0, minute = 0, second = 0, micros = 0;
    int offset = 0;  ///< seconds
    int half = -1;   ///< 0: AM, 1: PM, -1: none

    void skipBlanks();
    bool takeLiteral(std::string_view literal);
    bool take(char field);
    std::optional<std::int64_t> time(bool isDayOfYear) const;

 private:
    std::size_t takeDigits(std::size_t width, int& number);
    bool takeWithin(std::size_t width, int least, int most, int& number);
    bool takeTwo(int& number);
    bool takeYear(std::size_t width);
    bool takeFraction(std::size_t width);
    bool takeName(std::span<const std::string_view> names, bool isShort, int& index);
    bool takeOffset();
};

void TimeReader::skipBlanks() {
    while (!rest.empty() && absl::ascii_isspace(static_cast<unsigned char>(rest.front()))) {
        rest.remove_prefix(1);
    }
}

bool TimeReader::takeLiteral(std::string_view literal) {
    for (std::size_t i = 0; i < literal.size(); ++i) {
        const auto isBlank = [](char c) {
            return absl::ascii_isspace(static_cast<unsigned char>(c));
        };
        if (rest.empty() || (isBlank(literal[i]) ? !isBlank(rest[0]) : rest[0] != literal[i])) {
            return false;
        }
        rest.remove_prefix(1);
        if (isBlank(literal[i])) {
            skipBlanks();
            while (i + 1 < literal.size() && isBlank(literal[i + 1])) {
                ++i;
            }
        }
    }
    return true;
}

/// Takes up to `width` digits; returns how many.
std::size_t TimeReader::takeDigits(std::size_t width, int& number) {
    number = 0;
    std::size_t taken = 0;
    while (taken < width && taken < rest.size() && rest[taken] >= '0' && rest[taken] <= '9') {
        number = 10 * number + (rest[taken++] - '0');
    }
    rest.remove_prefix(taken);
    return taken;
}

bool TimeReader::takeWithin(std::size_t width, int least, int most, int& number) {
    return takeDigits(width, number) > 0 && number >= least && number <= most;
}

/// Takes exactly two digits, or nothing.
bool TimeReader::takeTwo(int& number) {
    const std::string_view before = rest;
    const bool isTaken = takeDigits(2, number) == 2;
    rest = isTaken ? rest : before;
    return isTaken;
}

bool TimeReader::takeYear(std::size_t width) {
    if (takeDigits(width, year) == 0) {
        return false;
    }
    year += width > 2 ? 0 : year >= kPivotYear ? 1900 : 2000;
    return true;
}

/// The digits behind the point of a second; digits below a microsecond are cut off.
bool TimeReader::takeFraction(std::size_t width) {
    constexpr std::size_t kMicroDigits = 6;
    std::size_t digits = takeDigits(width, micros);
    if (digits == 0) {
        return false;
    }
    for (; digits < kMicroDigits; ++digits) {
        micros *= 10;
    }
    for (; digits > kMicroDigits; --digits) {
        micros /= 10;
    }
    return true;
}

bool TimeReader::takeName(std::span<const std::string_view> names, bool isShort, int& index) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string_view name = names[i].substr(0, isShort ? kShortName : names[i].size());
        const bool isIt = std::ranges::equal(name, rest.substr(0, name.size()), {}, {}, [](char c) {
            return absl::ascii_tolower(static_cast<unsigned char>(c));
        });
        if (isIt) {
            rest.remove_prefix(name.size());
            index = static_cast<int>(i);
            return true;
        }
    }
    return false;
}

/// "+02", "+0230", "+02:30" or "+02:30:15".
bool TimeReader::takeOffset() {
    const bool isBehind = rest.starts_with('-');
    if (!isBehind && !rest.starts_with('+')) {
        return false;
    }
    const auto takeColon = [this] {
        const bool isColon = rest.starts_with(':');
        rest.remove_prefix(isColon ? 1 : 0);
        return isColon;
    };
    rest.remove_prefix(1);
    int hours = 0, minutes = 0, seconds = 0;
    if (!takeTwo(hours)) {
        return false;
    }
    const bool hasColons = takeColon();
    if (!takeTwo(minutes)) {
        minutes = 0;
    } else if (hasColons && takeColon() && !takeTwo(seconds)) {
        seconds = 0;
    }
    offset = (isBehind ? -1 : 1) * (3600 * hours + 60 * minutes + seconds);
    return true;
}

bool TimeReader::take(char field) {
    int ignored = 0;
    switch (field) {
        case 'Y':
            return takeYear(4);
        case 'y':
            return takeYear(2);
        case 'm':
            return takeWithin(2, 1, 12, month);
        case 'b':
        case 'B':
            return takeName(kMonthNames, field == 'b', month) && ++month > 0;
        case 'd':
            return takeWithin(2, 1, 31, day);
        case 'j':
            return takeWithin(3, 1, 366, dayOfYear);
        case 'H':
            return takeWithin(2, 0, 23, hour);
        case 'I':
            return takeWithin(2, 1, 12, hour);
        case 'M':
            return takeWithin(2, 0, 59, minute);
        case 'S':
            return takeWithin(2, 0, 59, second);
        case 'g':
            return takeFraction(3);
        case 'f':
            return takeFraction(6);
        case 'n':
            return takeFraction(9);
        case 'p':
            return takeName(kHalves, false, half);
        case 'z':
            return takeOffset();
        default:
            return takeName(kDayNames, field == 'a', ignored);
    }
}

std::optional<std::int64_t> TimeReader::time(bool isDayOfYear) const {
    const std::chrono::year ofYear{year};
    const std::chrono::year_month_day date{ofYear, std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    const bool isDay = isDayOfYear ? dayOfYear <= (ofYear.is_leap() ? 366 : 365) : date.ok();
    if (!isDay || (half >= 0 && hour > 12)) {
        return std::nullopt;
    }
    const std::chrono::sys_days days =
        isDayOfYear ? std::chrono::sys_days(ofYear / 1 / 1) + std::chrono::days(dayOfYear - 1)
                    : std::chrono::sys_days(date);
    const int hours = half < 0 ? hour : hour % 12 + 12 * half;
    const std::int64_t seconds = std::int64_t{days.time_since_epoch().count()} * 86'400 +
                                 3600 * hours + 60 * minute + second - offset;
    return 1'000'000 * seconds + micros;
}

/// The character that begins at `at`, whole even if it has several bytes.
std::string_view characterAt(std::string_view text, std::size_t at) {
    std::size_t end = at + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
        ++end;
    }
    return text.substr(at, end - at);
}

Status unknownField(std::string_view format, std::size_t at, bool isBare) {
    if (at >= format.size()) {
        return invalidArgument("the format ends after %", isBare ? "-" : "", "; ", kKnownFields);
    }
    if (format[at] == 'Z' && !isBare) {
        return invalidArgument(
            "%Z is not supported, since a zone's name has no single offset ('IST' is three zones); "
            "%z reads an offset such as +02:00");
    }
    return invalidArgument("unknown %", isBare ? "-" : "", characterAt(format, at),
                           " in the format; ", kKnownFields);
}

}  // namespace

bool TimeFormat::has(char field) const {
    return std::ranges::find(parts_, field, &Part::field) != parts_.end();
}

Result<TimeFormat> TimeFormat::make(std::string_view format) {
    TimeFormat made;
    Part part;
    for (std::size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%' || format.substr(i, 2) == "%%") {
            part.literal += format[i];
            i += format[i] == '%' ? 1 : 0;
            continue;
        }
        const bool isBare = format.substr(i + 1).starts_with('-');
        i += isBare ? 2 : 1;
        const std::string_view fields = isBare ? kBareFieldNames : kFieldNames;
        if (i >= format.size() || fields.find(format[i]) == std::string_view::npos) {
            return unknownField(format, i, isBare);
        }
        part.field = format[i];
        made.parts_.push_back(std::exchange(part, {}));
    }
    if (made.parts_.empty()) {
        return invalidArgument("the format has no fields; '%Y-%m-%d' reads 2024-01-31, and ",
                               kKnownFields);
    }
    made.parts_.push_back(std::move(part));
    made.isDayOfYear_ = made.has('j') && !made.has('d') && !made.has('m');
    return made;
}

std::optional<std::int64_t> TimeFormat::parse(std::string_view text) const {
    TimeReader reader{text};
    reader.skipBlanks();
    for (const Part& part : parts_) {
        if (!reader.takeLiteral(part.literal) || (part.field != 0 && !reader.take(part.field))) {
            return std::nullopt;
        }
    }
    reader.skipBlanks();
    return reader.rest.empty() ? reader.time(isDayOfYear_) : std::nullopt;
}

}  // namespace millrace::expr

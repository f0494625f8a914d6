#include "backend/csv/csv_values.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <system_error>
#include <type_traits>

#include "backend/arrays/value_text.h"
#include "backend/spec/data_format.h"

namespace millrace::csv {
namespace {

constexpr std::size_t kNumberBytes = 64;  // with a comma: longer ones are none

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
    const auto isBlank = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && isBlank(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && isBlank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

/// Without the plus that some programs write before a number.
std::string_view withoutPlus(std::string_view text) {
    const bool isNumber =
        text.size() > 1 && text[0] == '+' &&
        (isDigit(text[1]) || std::string_view(".,iI").find(text[1]) != std::string_view::npos);
    return isNumber ? text.substr(1) : text;
}

/// "243" of "243.0", as pandas writes whole numbers of a column that has missing values.
std::string_view withoutZeroFraction(std::string_view text) {
    const std::size_t point = text.find('.');
    const bool isWhole = point != text.npos && point > 0 && point + 1 < text.size() &&
                         text.find_first_not_of('0', point + 1) == text.npos;
    return isWhole ? text.substr(0, point) : text;
}

template <class T>
bool parseWhole(std::string_view text, T& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

/// Reads `count` digits at `at`; returns false if they are missing.
bool digitsAt(std::string_view text, std::size_t& at, int count, int& value) {
    value = 0;
    for (int i = 0; i < count; ++i, ++at) {
        if (at >= text.size() || !isDigit(text[at])) {
            return false;
        }
        value = value * 10 + (text[at] - '0');
    }
    return true;
}

bool take(std::string_view text, std::size_t& at, char c) {
    if (at < text.size() && text[at] == c) {
        ++at;
        return true;
    }
    return false;
}

bool dayAt(std::string_view text, std::size_t& at, std::int32_t& days) {
    int year = 0, month = 0, day = 0;
    if (!digitsAt(text, at, 4, year) || !take(text, at, '-') || !digitsAt(text, at, 2, month) ||
        !take(text, at, '-') || !digitsAt(text, at, 2, day)) {
        return false;
    }
    const std::chrono::year_month_day date{std::chrono::year(year),
                                           std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    days = date.ok() ? std::chrono::sys_days(date).time_since_epoch().count() : 0;
    return date.ok();
}

/// Parses Z, +HH, +HHMM or +HH:MM; no offset means UTC.
bool offsetAt(std::string_view text, std::size_t& at, int& minutes) {
    minutes = 0;
    if (at == text.size() || take(text, at, 'Z')) {
        return true;
    }
    const char sign = text[at++];
    int hours = 0, rest = 0;
    if ((sign != '+' && sign != '-') || !digitsAt(text, at, 2, hours) || hours > 23) {
        return false;
    }
    if (at < text.size()) {
        take(text, at, ':');
        if (!digitsAt(text, at, 2, rest) || rest > 59) {
            return false;
        }
    }
    minutes = (hours * 60 + rest) * (sign == '-' ? -1 : 1);
    return true;
}

/// Parses a fraction; only the first six digits after the point count.
bool fractionAt(std::string_view text, std::size_t& at, std::int64_t& micros) {
    micros = 0;
    if (!take(text, at, '.')) {
        return true;
    }
    int digits = 0;
    for (; at < text.size() && isDigit(text[at]); ++at, ++digits) {
        if (digits < 6) {
            micros = micros * 10 + (text[at] - '0');
        }
    }
    for (int i = digits; i < 6; ++i) {
        micros *= 10;
    }
    return digits > 0 && digits <= 9;
}

CsvValueForm lookOfWhole(std::string_view digits) {
    CsvValueForm look;
    std::int64_t value = 0;
    std::uint64_t large = 0;
    if (parseWhole(digits, value)) {
        look.form = files::CsvForm::kInt;
        look.isNegative = value < 0;
        const auto rounded = static_cast<double>(value);
        // 2^63 itself would overflow the conversion back.
        look.isInexact = rounded >= 0x1p63 || static_cast<std::int64_t>(rounded) != value;
        return look;
    }
    look.form = parseWhole(digits, large) ? files::CsvForm::kUint : files::CsvForm::kTooLarge;
    return look;
}

bool isHeldByDouble(std::string_view digits) {
    const CsvValueForm look = lookOfWhole(digits);
    return look.form == files::CsvForm::kInt && !look.isInexact;
}

}  // namespace

CsvValueForm lookOf(std::string_view value, bool hasDecimalComma) {
    const std::string_view text = trimmed(value);
    if (text.empty()) {
        return {};
    }
    const std::string_view number = withoutPlus(text);
    const char first = number[0];
    if (isDigit(first) || first == '-' || first == '.' || first == ',' || first == 'i' ||
        first == 'I') {
        const std::string_view digits = first == '-' ? number.substr(1) : number;
        if (!digits.empty() && std::ranges::all_of(digits, isDigit)) {
            return lookOfWhole(number);
        }
        double real = 0;
        if (hasDecimalComma ? csvCommaNumber(number, real) : parseWhole(number, real)) {
            return {files::CsvForm::kDouble};
        }
        std::int32_t days = 0;
        std::int64_t micros = 0;
        if (csvDate(text, days)) {
            return {files::CsvForm::kDate};
        }
        return csvTime(text, micros) ? CsvValueForm{files::CsvForm::kTime} : CsvValueForm{};
    }
    const bool isWord = text == "true" || text == "false" || text == "True" || text == "False" ||
                        text == "TRUE" || text == "FALSE";
    return isWord ? CsvValueForm{files::CsvForm::kBool} : CsvValueForm{};
}

bool csvNumber(std::string_view text, double& value) {
    text = withoutPlus(trimmed(text));
    if (!parseWhole(text, value)) {
        return false;
    }
    const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
    // Up to 15 digits every integer is exact in a double. Longer ones are tested, because an id
    // that is rounded would silently become another one.
    constexpr std::size_t kExactDigits = 15;
    return digits.size() <= kExactDigits || !std::ranges::all_of(digits, isDigit) ||
           isHeldByDouble(text);
}

bool csvCommaNumber(std::string_view text, double& value) {
    text = trimmed(text);
    if (text.size() > kNumberBytes || text.find('.') != std::string_view::npos) {
        return false;
    }
    std::array<char, kNumberBytes> pointed{};
    // Two commas become two points, which are not a number.
    std::replace_copy(text.begin(), text.end(), pointed.begin(), ',', '.');
    return csvNumber({pointed.data(), text.size()}, value);
}

template <class T>
bool csvInteger(std::string_view text, T& value) {
    text = withoutZeroFraction(withoutPlus(trimmed(text)));
    if (std::is_unsigned_v<T> && text.starts_with('-')) {
        // Among numbers with a minus sign, only zero fits an unsigned type.
        std::int64_t zero = 0;
        value = 0;
        return parseWhole(text, zero) && zero == 0;
    }
    return parseWhole(text, value);
}
template bool csvInteger(std::string_view, std::int8_t&);
template bool csvInteger(std::string_view, std::int16_t&);
template bool csvInteger(std::string_view, std::int32_t&);
template bool csvInteger(std::string_view, std::int64_t&);
template bool csvInteger(std::string_view, std::uint8_t&);
template bool csvInteger(std::string_view, std::uint16_t&);
template bool csvInteger(std::string_view, std::uint32_t&);
template bool csvInteger(std::string_view, std::uint64_t&);

bool csvBool(std::string_view text, bool& value) {
    text = trimmed(text);
    value = text == "true" || text == "True" || text == "TRUE" || text == "1";
    return value || text == "false" || text == "False" || text == "FALSE" || text == "0";
}

bool csvDate(std::string_view text, std::int32_t& days) {
    text = trimmed(text);
    std::size_t at = 0;
    return dayAt(text, at, days) && at == text.size();
}

bool csvTime(std::string_view text, std::int64_t& micros) {
    text = trimmed(text);
    std::size_t at = 0;
    std::int32_t days = 0;
    if (!dayAt(text, at, days)) {
        return false;
    }
    micros = std::int64_t{days} * 86'400'000'000;
    if (at == text.size()) {
        return true;
    }
    int hour = 0, minute = 0, second = 0, offset = 0;
    std::int64_t fraction = 0;
    if ((!take(text, at, ' ') && !take(text, at, 'T')) || !digitsAt(text, at, 2, hour) ||
        !take(text, at, ':') || !digitsAt(text, at, 2, minute) || hour > 23 || minute > 59) {
        return false;
    }
    if (take(text, at, ':') &&
        (!digitsAt(text, at, 2, second) || second > 59 || !fractionAt(text, at, fraction))) {
        return false;
    }
    if (!offsetAt(text, at, offset) || at != text.size()) {
        return false;
    }
    micros += ((hour * 60 + minute - offset) * std::int64_t{60} + second) * 1'000'000 + fraction;
    return true;
}

std::string csvMisfit(std::string_view column, std::string_view value, const expr::DataType& type) {
    constexpr std::size_t kShown = 60;
    return strCat("column '", column, "': '", arrays::shownText(value, kShown), "' is not of type ",
                  type.name());
}

bool csvFits(expr::TypeKind kind, std::string_view text, bool hasDecimalComma) {
    using K = expr::TypeKind;
    const auto isWhole = [text](auto value) { return csvInteger(text, value); };
    double number = 0;
    bool truth = false;
    std::int32_t days = 0;
    std::int64_t micros = 0;
    switch (kind) {
        case K::kInt8:
            return isWhole(std::int8_t{});
        case K::kInt16:
            return isWhole(std::int16_t{});
        case K::kInt32:
            return isWhole(std::int32_t{});
        case K::kInt64:
            return isWhole(std::int64_t{});
        case K::kUint8:
            return isWhole(std::uint8_t{});
        case K::kUint16:
            return isWhole(std::uint16_t{});
        case K::kUint32:
            return isWhole(std::uint32_t{});
        case K::kUint64:
            return isWhole(std::uint64_t{});
        case K::kFloat:
        case K::kDouble:
            return hasDecimalComma ? csvCommaNumber(text, number) : csvNumber(text, number);
        case K::kBool:
            return csvBool(text, truth);
        case K::kDate:
            return csvDate(text, days);
        case K::kTimestamp:
            return csvTime(text, micros);
        default:
            return true;
    }
}

CsvNulls::CsvNulls(const files::ReadOptions& options)
    : words_(options.csvNullValues), isGiven_(!options.csvNullValues.empty()) {
    if (!isGiven_) {
        words_.assign(spec::kCsvNulls.begin(), spec::kCsvNulls.end());
    }
    for (const std::string& word : words_) {
        if (!word.empty()) {
            // Nearly all values are ruled out by their first and last byte.
            begins_[byteOf(word.front())] = true;
            ends_[byteOf(word.back())] = true;
        }
    }
}

bool CsvNulls::isWord(std::string_view value) const {
    return std::ranges::find(words_, value) != words_.end();
}

}  // namespace millrace::csv

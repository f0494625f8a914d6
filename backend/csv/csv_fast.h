#pragma once
// Fast parsers for the common forms of numbers and times, without a branch per digit. Accepted text
// has the value that csv_values.h gives it, bit for bit; rejected text may still be valid. Private
// to csv.
//
// 16 bytes after a text must be readable. Threads: pure. Failure: false; `value` is undefined then.
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace millrace::csv::fast {

inline constexpr std::uint64_t kHighBits = 0x8080808080808080U;
/// 10^0 to 10^19, which is below 2^64; doubles hold them too.
template <class T>
inline constexpr std::array<T, 20> kPowersOf = [] {
    std::array<T, 20> powers{};
    std::uint64_t power = 1;
    for (T& one : powers) {
        one = static_cast<T>(power);
        power *= 10;
    }
    return powers;
}();
inline std::uint64_t powerOf(int exponent) {
    return kPowersOf<std::uint64_t>[static_cast<std::size_t>(exponent)];
}

inline std::uint64_t load(const char* text) {
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t word = 0;
    std::memcpy(&word, text, sizeof word);
    return word;
}

/// Number of leading digits among the eight characters.
inline int leadingDigits(std::uint64_t word) {
    const std::uint64_t values = word ^ 0x3030303030303030U;
    const std::uint64_t wrong = ((values + 0x7676767676767676U) | values) & kHighBits;
    return wrong == 0 ? 8 : std::countr_zero(wrong) / 8;
}

/// The number formed by the first `count` (1 to 8) digits of a word.
inline std::uint64_t digitsOf(std::uint64_t word, int count) {
    word = (word << (64 - 8 * count)) & 0x0f0f0f0f0f0f0f0fU;
    word = (word * 10) + (word >> 8);
    word = ((word & 0x000000ff000000ffU) * 0x000f424000000064U +
            ((word >> 16) & 0x000000ff000000ffU) * 0x0000271000000001U) >>
           32;
    return word & 0xffffffffU;
}

/// Takes the digits before `end`, at most 19 including those already in `value`; moves `at` past
/// them. Returns false if there are more.
inline bool takeDigits(const char*& at, const char* end, int& count, std::uint64_t& value) {
    while (at < end) {
        const auto left = static_cast<int>(end - at < 8 ? end - at : 8);
        const std::uint64_t word = load(at);
        int digits = leadingDigits(word);
        digits = digits < left ? digits : left;
        if (digits == 0) {
            break;
        }
        count += digits;
        if (count > 19) {
            return false;
        }
        value = value * powerOf(digits) + digitsOf(word, digits);
        at += digits;
        if (digits < 8) {
            break;
        }
    }
    return true;
}

/// Parses at most 16 digits, with or without a minus.
inline bool whole(const char* text, std::size_t size, std::int64_t& value) {
    const bool isNegative = *text == '-';
    text += isNegative ? 1 : 0;
    const int count = static_cast<int>(size < 32 ? size : 32) - (isNegative ? 1 : 0);
    const std::uint64_t word = load(text);
    std::uint64_t digits = 0;
    if (count <= 8) {
        if (count < 1 || leadingDigits(word) < count) {
            return false;
        }
        digits = digitsOf(word, count);
    } else {
        const std::uint64_t rest = load(text + 8);
        if (count > 16 || leadingDigits(word) < 8 || leadingDigits(rest) < count - 8) {
            return false;
        }
        digits = digitsOf(word, 8) * powerOf(count - 8) + digitsOf(rest, count - 8);
    }
    value = isNegative ? -static_cast<std::int64_t>(digits) : static_cast<std::int64_t>(digits);
    return true;
}

/// The double nearest to digits / 10^power (digits not 0, power from 1 to 19), ties to even.
inline double quotient(std::uint64_t digits, int power) {
    // Both have their highest bit set, so with 63 fractional bits the quotient has 63 or 64 bits;
    // the remainder of the division decides ties.
    const int up = std::countl_zero(digits), upPower = std::countl_zero(powerOf(power));
    const std::uint64_t divisor = powerOf(power) << upPower;
    const unsigned __int128 dividend = static_cast<unsigned __int128>(digits << up) << 63;
    const auto result = static_cast<std::uint64_t>(dividend / divisor);
    const bool isExact = static_cast<unsigned __int128>(result) * divisor == dividend;
    const int shift = 11 - std::countl_zero(result);
    std::uint64_t mantissa = result >> shift;
    const std::uint64_t rest = result & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    const bool isUp = rest > half || (rest == half && (!isExact || (mantissa & 1) != 0));
    mantissa += isUp ? 1 : 0;
    // A carry out of the mantissa correctly increments the exponent.
    const auto exponent = static_cast<std::uint64_t>(1023 + 52 - 63 + shift + upPower - up - 1);
    return std::bit_cast<double>((exponent << 52) + mantissa);
}

/// Parses digits, optionally a point and digits; no exponent.
inline bool number(const char* text, std::size_t size, double& value) {
    const char* const end = text + size;
    const bool isNegative = *text == '-';
    text += isNegative ? 1 : 0;
    std::uint64_t digits = 0;
    int count = 0;
    if (!takeDigits(text, end, count, digits) || count == 0) {
        return false;
    }
    int power = 0;
    if (text != end) {
        const int before = count;
        ++text;
        if (text[-1] != '.' || !takeDigits(text, end, count, digits) || text != end) {
            return false;
        }
        power = count - before;
        if (power == 0) {
            return false;
        }
    }
    constexpr std::uint64_t kExact = std::uint64_t{1} << 53;
    if (digits <= kExact) {
        value = static_cast<double>(digits) / kPowersOf<double>[static_cast<std::size_t>(power)];
    } else if (power > 0) {
        value = quotient(digits, power);
    } else {
        return false;
    }
    value = isNegative ? -value : value;
    return true;
}

/// Accepts digits, a point and digits, with or without a minus: the form that std::from_chars
/// reads.
inline bool isFraction(const char* text, std::size_t size) {
    constexpr std::size_t kWithinDouble = 300;
    const char* const end = text + size;
    text += *text == '-' ? 1 : 0;
    const auto passDigits = [&] {
        const char* const begin = text;
        for (int digits = 8; digits == 8 && text < end; text += digits) {
            digits = leadingDigits(load(text));
        }
        text = text < end ? text : end;
        return text > begin;
    };
    if (!passDigits() || text == end || *text++ != '.') {
        return false;
    }
    return passDigits() && text == end && size < kWithinDouble;
}

inline bool dayOf(std::uint64_t word, std::uint64_t later, std::int32_t& days) {
    // YYYY-MM- and DD: the value at a digit's place is at most 9, at a dash's place 0.
    const std::uint64_t values = word ^ 0x2d30302d30303030U;
    const std::uint64_t dayValues = later ^ 0x3030U;
    const std::uint64_t wrong = (((values + 0x7f76767f76767676U) | values) & kHighBits) |
                                (((dayValues + 0x7676U) | dayValues) & 0x8080U);
    const auto digit = [values](int place) {
        return static_cast<int>((values >> (8 * place)) & 0xff);
    };
    const int year = digit(0) * 1000 + digit(1) * 100 + digit(2) * 10 + digit(3);
    const auto month = static_cast<unsigned>(digit(5) * 10 + digit(6));
    const auto day = static_cast<unsigned>((dayValues & 0xff) * 10 + ((dayValues >> 8) & 0xff));
    if (wrong != 0) {
        return false;
    }
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                           std::chrono::day(day)};
    days = date.ok() ? std::chrono::sys_days(date).time_since_epoch().count() : 0;
    return date.ok();
}

/// Parses YYYY-MM-DD.
inline bool date(const char* text, std::size_t size, std::int32_t& days) {
    return size == 10 && dayOf(load(text), load(text + 8) & 0xffffU, days);
}

/// Parses .f to .ffffff, as microseconds.
inline bool fraction(const char* text, std::size_t size, std::int64_t& micros) {
    std::uint64_t digits = 0;
    const auto count = static_cast<int>(size) - 1;
    if (*text != '.' || count < 1 || count > 6 || leadingDigits(load(text + 1)) < count) {
        return false;
    }
    digits = digitsOf(load(text + 1), count) * powerOf(6 - count);
    micros = static_cast<std::int64_t>(digits);
    return true;
}

/// Parses YYYY-MM-DD HH:MM:SS[.f] with a blank or a T, optionally followed by Z; also a date.
inline bool time(const char* text, std::size_t size, std::int64_t& micros) {
    std::int32_t days = 0;
    const std::uint64_t later = load(text + 8);  // DD HH:MM
    if (size < 10 || !dayOf(load(text), later & 0xffffU, days)) {
        return false;
    }
    micros = std::int64_t{days} * 86'400'000'000;
    if (size == 10) {
        return true;
    }
    size -= size > 19 && text[size - 1] == 'Z' ? 1 : 0;
    if (size < 19 || (text[10] != ' ' && text[10] != 'T')) {
        return false;
    }
    // HH:MM:SS
    const std::uint64_t values = load(text + 11) ^ 0x30303a30303a3030U;
    if ((((values + 0x76767f76767f7676U) | values) & kHighBits) != 0) {
        return false;
    }
    const auto pair = [values](int place) {
        return static_cast<std::int64_t>(((values >> (8 * place)) & 0xff) * 10 +
                                         ((values >> (8 * place + 8)) & 0xff));
    };
    const std::int64_t hour = pair(0), minute = pair(3), second = pair(6);
    std::int64_t part = 0;
    if (hour > 23 || minute > 59 || second > 59 ||
        (size > 19 && !fraction(text + 19, size - 19, part))) {
        return false;
    }
    micros += ((hour * 60 + minute) * 60 + second) * 1'000'000 + part;
    return true;
}

}  // namespace millrace::csv::fast

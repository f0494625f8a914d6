#pragma once
// Converts days since 1970 to years, months and days of the Gregorian calendar and back, for every
// day that a timestamp can express. Private to eval. Threads: pure.
//
// All divisions are by 32-bit constants (Neri and Schneider, "Euclidean affine functions and their
// application to calendar algorithms", 2022): a few ns per value, and no table.
#include <cstdint>

namespace millrace::eval {

struct CivilDay {
    std::int32_t year;
    std::int32_t month;  ///< 1 to 12
    std::int32_t day;    ///< 1 to 31
};

/// floor(us / unit), also for negative us.
constexpr std::int64_t floorUnits(std::int64_t us, std::int64_t unit) {
    return us / unit - (us % unit < 0 ? 1 : 0);
}

inline constexpr std::int64_t kMicrosOfDay = 86'400'000'000;

/// `days`: within the 107 million days that a timestamp's 64 bits of microseconds cover.
constexpr CivilDay civilOfDays(std::int32_t days) {
    constexpr std::uint32_t kEras = 745;  // eras of 400 years: an offset that makes all numbers
                                          // positive
    constexpr std::uint32_t kEraDays = 146097, kDaysTo1970 = 719468;
    const std::uint32_t n = static_cast<std::uint32_t>(days) + kDaysTo1970 + kEraDays * kEras;
    const std::uint32_t n1 = 4 * n + 3;
    const std::uint32_t century = n1 / kEraDays;
    const std::uint32_t n2 = 4 * (n1 % kEraDays / 4) + 3;
    const std::uint64_t product = std::uint64_t{2939745} * n2;
    const auto ofCentury = static_cast<std::uint32_t>(product >> 32);
    const std::uint32_t dayOfYear =
        static_cast<std::uint32_t>(product) / 2939745 / 4;  // March 1: 0
    const std::uint32_t n3 = 2141 * dayOfYear + 197913;
    const bool isNextYear = dayOfYear >= 306;  // January and February
    const std::uint32_t year = 100 * century + ofCentury + (isNextYear ? 1 : 0);
    const std::uint32_t month = (n3 >> 16) - (isNextYear ? 12 : 0);
    return {static_cast<std::int32_t>(year) - static_cast<std::int32_t>(400 * kEras),
            static_cast<std::int32_t>(month), static_cast<std::int32_t>((n3 & 0xffff) / 2141 + 1)};
}

/// Days since 1970 of a day in any month; `month` 1 to 12.
constexpr std::int32_t daysOfCivil(std::int32_t year, std::int32_t month, std::int32_t day) {
    constexpr std::int64_t kEras = 745;
    const std::int64_t y = year + 400 * kEras - (month <= 2 ? 1 : 0);
    const std::int64_t m = month + (month <= 2 ? 9 : -3);  // March: 0
    const std::int64_t days = y * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
    return static_cast<std::int32_t>(days - 719468 - 146097 * kEras);
}

/// Monday is 0.
constexpr std::int32_t weekdayOf(std::int32_t days) {
    // 1970-01-01 was a Thursday, and so was the day this many weeks earlier.
    constexpr std::uint32_t kBefore = 7U * 20'000'000;
    return static_cast<std::int32_t>((static_cast<std::uint32_t>(days) + kBefore + 3) % 7);
}

}  // namespace millrace::eval

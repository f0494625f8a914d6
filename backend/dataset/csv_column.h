#pragma once
// What the first pass over a CSV file saw of a column: how many values look like what.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace millrace::dataset {

enum class CsvForm {
    kInt,     ///< a whole number of 64 bits with a sign
    kUint,    ///< from 2^63 on, below 2^64
    kDouble,  ///< a fraction, an exponent, inf
    kBool,    ///< true, false and their usual writings
    kDate,
    kTime,
    kTooLarge,  ///< a whole number of more than 64 bits
    kText
};
inline constexpr std::size_t kCsvForms = 8;

/// A value and the line of its record, from 1; 0: there is none.
struct CsvPlace {
    std::int64_t line = 0;
    std::string value;
};

struct CsvColumn {
    std::array<std::int64_t, kCsvForms> counts{};  ///< values that are not null, by form
    std::int64_t negatives = 0;                    ///< whole numbers below 0
    std::int64_t words = 0;  ///< values that are null unless the column is text
    // The first text or too large number, whole number that no double holds, fraction and word.
    CsvPlace text, inexact, fraction, word;

    std::int64_t count(CsvForm form) const { return counts[static_cast<std::size_t>(form)]; }
};

}  // namespace millrace::dataset

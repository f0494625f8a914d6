#pragma once
// What the first pass over a CSV file saw of a column: how many values look like what, and the
// first of each.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::files {

enum class CsvForm {
    kInt,     ///< a whole number of 64 bits with a sign
    kUint,    ///< from 2^63 on, below 2^64
    kDouble,  ///< a fraction, an exponent, inf
    kBool,    ///< true, false and their usual writings
    kDate,
    kTime,
    kTooLarge,  ///< a whole number of more than 64 bits
    kText,
    // Counted beside these.
    kNegative,  ///< of kInt: below 0
    kInexact,   ///< of kInt: no double holds it
    kWord       ///< null, unless the column is text
};
inline constexpr std::size_t kCsvForms = 11, kCsvValueForms = 8;

/// A value and the line of its record, from 1.
struct CsvPlace {
    CsvForm form = CsvForm::kText;
    std::int64_t line = 0;
    std::string value;  ///< shortened
    bool operator==(const CsvPlace&) const = default;
};

struct CsvColumn {
    std::array<std::int64_t, kCsvForms> counts{};
    std::vector<CsvPlace> firsts;  ///< of each form that there is
    bool operator==(const CsvColumn&) const = default;

    std::int64_t count(CsvForm form) const { return counts[static_cast<std::size_t>(form)]; }
    /// Null when there is none.
    const CsvPlace* first(CsvForm form) const {
        const auto at = std::find_if(firsts.begin(), firsts.end(),
                                     [form](const CsvPlace& place) { return place.form == form; });
        return at == firsts.end() ? nullptr : &*at;
    }
};

}  // namespace millrace::files

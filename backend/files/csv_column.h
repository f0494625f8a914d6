#pragma once
// First-pass statistics of a CSV column: number of values per form, and the first value of each
// form.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::files {

enum class CsvForm {
    kInt,     ///< a signed whole number of 64 bits
    kUint,    ///< from 2^63 on, below 2^64
    kDouble,  ///< a fraction, an exponent, inf
    kBool,    ///< true, false and their common variants
    kDate,
    kTime,
    kTooLarge,  ///< a whole number of more than 64 bits
    kText,
    // Counted in addition to these.
    kNegative,  ///< kInt below 0
    kInexact,   ///< kInt that no double can hold
    kZeros,     ///< kInt of three or more digits that begins with a 0, as codes do
    kWord       ///< null, unless the column is text
};
inline constexpr std::size_t kCsvForms = 12, kCsvValueForms = 8;

/// A value and the line of its record, from 1.
struct CsvPlace {
    CsvForm form = CsvForm::kText;
    std::int64_t line = 0;
    std::string value;  ///< shortened
    bool operator==(const CsvPlace&) const = default;
};

struct CsvColumn {
    std::array<std::int64_t, kCsvForms> counts{};
    std::vector<CsvPlace> firsts;  ///< one per form that occurs
    bool operator==(const CsvColumn&) const = default;

    std::int64_t count(CsvForm form) const { return counts[static_cast<std::size_t>(form)]; }
    /// Null if the form does not occur.
    const CsvPlace* first(CsvForm form) const {
        const auto at = std::ranges::find_if(
            firsts, [form](const CsvPlace& place) { return place.form == form; });
        return at == firsts.end() ? nullptr : &*at;
    }
};

}  // namespace millrace::files

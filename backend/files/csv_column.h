#pragma once
// First-pass statistics of a CSV column: number of values per form, and the first value of each
// form.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
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

/// Dropped rows with one reason.
struct CsvBadRows {
    std::string reason;  ///< a column's name, or the number of fields
    std::int64_t rows = 0;
    CsvPlace first;  ///< its value is the whole reason
    bool operator==(const CsvBadRows&) const = default;

    /// Adds to the element with this reason; of more than kMostReasons the others are left out.
    static void add(const CsvBadRows& one, std::vector<CsvBadRows>& all) {
        constexpr std::size_t kMostReasons = 64;
        const auto at = std::ranges::find(all, one.reason, &CsvBadRows::reason);
        if (at != all.end()) {
            at->rows += one.rows;
        } else if (all.size() < kMostReasons) {
            all.push_back(one);
        }
    }
};

struct CsvColumn {
    static constexpr std::size_t kFewTexts = 3;

    std::array<std::int64_t, kCsvForms> counts{};
    std::vector<CsvPlace> firsts;    ///< one per form that occurs
    std::vector<std::string> texts;  ///< different values of kText, the first kFewTexts + 1
    bool operator==(const CsvColumn&) const = default;

    std::int64_t count(CsvForm form) const { return counts[static_cast<std::size_t>(form)]; }
    /// Whether the text is one of `texts`, or `texts` is full.
    bool hasText(std::string_view text) const {
        return texts.size() > kFewTexts || std::ranges::find(texts, text) != texts.end();
    }
    void addText(const std::string& text) {
        if (!hasText(text)) {
            texts.push_back(text);
        }
    }
    /// Null if the form does not occur.
    const CsvPlace* first(CsvForm form) const {
        const auto at = std::ranges::find_if(
            firsts, [form](const CsvPlace& place) { return place.form == form; });
        return at == firsts.end() ? nullptr : &*at;
    }
};

}  // namespace millrace::files

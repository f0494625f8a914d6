#pragma once
// Values of CSV fields: the form of a text, and its value as a type.
//
// Numbers are as std::from_chars reads them, also with a plus; blanks around them count for
// nothing. Times are ISO 8601: YYYY-MM-DD, then T or a blank, HH:MM[:SS[.f]], then nothing, Z, or
// an offset (+HH, +HHMM, +HH:MM); fractions beyond microseconds are cut. Threads: pure.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/expr/schema.h"
#include "backend/files/csv_column.h"
#include "backend/files/file_metadata.h"

namespace millrace::csv {

/// The form of a value (not null). For kInt, `isInexact`: no double can hold it; `isNegative`: it
/// is below 0.
struct CsvValueForm {
    files::CsvForm form = files::CsvForm::kText;
    bool isInexact = false, isNegative = false;
};
/// `hasDecimalComma`: numbers are written 1,5, and 1.5 is not a number.
CsvValueForm lookOf(std::string_view value, bool hasDecimalComma = false);

/// "column 'c': 'x' is not of type double".
std::string csvMisfit(std::string_view column, std::string_view value, const expr::DataType& type);

/// Parse a text as a type; return false if it does not fit. Declared bools may also be 1 and 0, and
/// declared integers 1.0. A whole number that no double can hold does not fit: its value would
/// change.
bool csvNumber(std::string_view text, double& value);
/// Like csvNumber(), for a number with a decimal comma.
bool csvCommaNumber(std::string_view text, double& value);
template <class T>
bool csvInteger(std::string_view text, T& value);
bool csvBool(std::string_view text, bool& value);
bool csvDate(std::string_view text, std::int32_t& days);
/// Microseconds since 1970 in UTC; a date is its midnight.
bool csvTime(std::string_view text, std::int64_t& micros);

/// Whether a text fits a type that a CSV column may have.
bool csvFits(expr::TypeKind kind, std::string_view text, bool hasDecimalComma);

/// The texts for null (without quotes): the given words, in every column; else the usual words, in
/// columns other than text.
class CsvNulls {
 public:
    explicit CsvNulls(const files::ReadOptions& options);

    bool isNull(std::string_view value) const {
        return value.empty() ||
               (begins_[byteOf(value.front())] && ends_[byteOf(value.back())] && isWord(value));
    }
    /// A value of a type that begins so may stand for null. The usual words are not values.
    bool mayHide(char first) const { return isGiven_ && begins_[byteOf(first)]; }
    /// In a column of text, where an empty text in quotes is one.
    bool isNullText(std::string_view value) const { return isGiven_ && isWord(value); }

 private:
    static unsigned char byteOf(char c) { return static_cast<unsigned char>(c); }
    bool isWord(std::string_view value) const;

    std::vector<std::string> words_;
    bool isGiven_ = false;
    /// By byte: a word begins, or ends, with it. Numbers begin as 1.#IND does, but end otherwise.
    std::array<bool, 256> begins_{}, ends_{};
};

}  // namespace millrace::csv

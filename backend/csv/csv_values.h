#pragma once
// Values of CSV fields: what a text looks like, and its value as a type.
//
// Numbers are as std::from_chars reads them; blanks around them count for nothing. Times are ISO
// 8601: YYYY-MM-DD, then T or a blank, HH:MM[:SS[.f]], then nothing, Z, or an offset (+HH, +HHMM,
// +HH:MM); fractions beyond microseconds are cut. Threads: pure.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/expr/schema.h"
#include "backend/files/csv_column.h"
#include "backend/files/file_facts.h"

namespace millrace::csv {

/// What a value (not null) looks like. Of kInt, `isInexact`: no double holds it; `isNegative`: it
/// is below 0.
struct CsvLook {
    files::CsvForm form = files::CsvForm::kText;
    bool isInexact = false, isNegative = false;
};
/// `hasDecimalComma`: numbers are written 1,5, and 1.5 is none.
CsvLook lookOf(std::string_view value, bool hasDecimalComma = false);

/// "column 'c': 'x' is not of type double".
std::string csvMisfit(std::string_view column, std::string_view value, const expr::DataType& type);

/// Values as types; false when the text is none. Declared bools may also be 1 and 0.
/// A whole number that no double holds is none: it would be another one.
bool csvNumber(std::string_view text, double& value);
/// The same of a number with a comma for the point.
bool csvCommaNumber(std::string_view text, double& value);
template <class T>
bool csvInteger(std::string_view text, T& value);
bool csvBool(std::string_view text, bool& value);
bool csvDate(std::string_view text, std::int32_t& days);
/// Microseconds since 1970 in UTC; a date is its midnight.
bool csvTime(std::string_view text, std::int64_t& micros);

/// Whether a text is a value of a type that a CSV column may have.
bool csvFits(expr::TypeKind kind, std::string_view text, bool hasDecimalComma);

/// What stands for null (without quotes): the words that are given, in every column; else the usual
/// ones, in columns that are not text.
class CsvNulls {
 public:
    explicit CsvNulls(const files::ReadOptions& options);

    bool isNull(std::string_view value) const {
        return value.empty() || (begins_[static_cast<unsigned char>(value[0])] && isWord(value));
    }
    /// A text that begins so may stand for null.
    bool mayBegin(char first) const { return begins_[static_cast<unsigned char>(first)]; }
    /// In a column of text, where an empty text in quotes is one.
    bool isNullText(std::string_view value) const { return isGiven_ && isWord(value); }

 private:
    bool isWord(std::string_view value) const;

    std::vector<std::string> words_;
    bool isGiven_ = false;
    std::array<bool, 256> begins_{};  ///< by first byte: a word may begin with it
};

}  // namespace millrace::csv

#pragma once
// Values of CSV fields: what a text looks like, and its value as a type.
//
// Numbers are as std::from_chars reads them, with a comma for the point where the options say so;
// blanks around them count for nothing. Times are ISO 8601: YYYY-MM-DD, then T or a blank,
// HH:MM[:SS[.f]], then nothing, Z, or an offset (+HH, +HHMM, +HH:MM); fractions beyond microseconds
// are cut. Threads: pure. Private to the room.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/dataset/csv_column.h"
#include "backend/dataset/file_facts.h"

namespace millrace::dataset {

/// What a value (not null) looks like. `isInexact`: a whole number that no double holds;
/// `isNegative`: a whole number below 0.
struct CsvLook {
    CsvForm form = CsvForm::kText;
    bool isInexact = false, isNegative = false;
};
CsvLook lookOf(std::string_view value, const ReadOptions& options);

/// Whether the text is a value of the type; a text is one of string.
bool csvFits(spec::TypeKind kind, std::string_view text, const ReadOptions& options);

/// "column 'c': 'x' is not of type double".
std::string csvMisfit(std::string_view column, std::string_view value, const spec::DataType& type);
/// The type that the options give a column.
std::optional<spec::TypeKind> csvKindGiven(const ReadOptions& options, const std::string& column);

/// Values as types; false when the text is none. Declared bools may also be 1 and 0.
bool csvNumber(std::string_view text, const ReadOptions& options, double& value);
template <class T>
bool csvInteger(std::string_view text, T& value);
bool csvBool(std::string_view text, bool& value);
bool csvDate(std::string_view text, std::int32_t& days);
/// Microseconds since 1970 in UTC; a date is its midnight.
bool csvTime(std::string_view text, std::int64_t& micros);

/// Which values stand for null.
class CsvNulls {
 public:
    explicit CsvNulls(const ReadOptions& options);
    /// In columns that are not text. `value` without quotes; an empty one is null.
    bool isWord(std::string_view value) const;
    /// In text columns: only what the user lists.
    bool isWordOfText(std::string_view value) const;

 private:
    std::vector<std::string> words_;
    std::array<bool, 256> begins_{};  ///< a word begins so
    bool isGiven_ = false;
};

}  // namespace millrace::dataset

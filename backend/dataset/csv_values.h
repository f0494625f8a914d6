#pragma once
// Values of CSV fields: what a text looks like, and its value as a type.
//
// Numbers are as std::from_chars reads them; blanks around them count for nothing. Times are ISO 8601: YYYY-MM-DD, then T or a blank,
// HH:MM[:SS[.f]], then nothing, Z, or an offset (+HH, +HHMM, +HH:MM); fractions beyond microseconds
// are cut. Threads: pure. Private to the room.
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/dataset/csv_column.h"
#include "backend/spec/schema.h"

namespace millrace::dataset {

/// What a value (not null) looks like. `isInexact`: a whole number that no double holds;
/// `isNegative`: a whole number below 0.
struct CsvLook {
    CsvForm form = CsvForm::kText;
    bool isInexact = false, isNegative = false;
};
CsvLook lookOf(std::string_view value);


/// "column 'c': 'x' is not of type double".
std::string csvMisfit(std::string_view column, std::string_view value, const spec::DataType& type);

/// Values as types; false when the text is none. Declared bools may also be 1 and 0.
/// A whole number that no double holds is none: it would be another one.
bool csvNumber(std::string_view text, double& value);
template <class T>
bool csvInteger(std::string_view text, T& value);
bool csvBool(std::string_view text, bool& value);
bool csvDate(std::string_view text, std::int32_t& days);
/// Microseconds since 1970 in UTC; a date is its midnight.
bool csvTime(std::string_view text, std::int64_t& micros);

/// Whether a value (without quotes) stands for null in columns that are not text.
bool isCsvNull(std::string_view value);

}  // namespace millrace::dataset

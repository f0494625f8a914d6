#pragma once
// The format of a data file by its name's ending: the one place that knows the endings. And the
// texts that a CSV file has for null.
#include <array>
#include <string>
#include <string_view>

namespace millrace::spec {

/// "parquet", "csv" or "arrow"; "" when the ending is none of theirs. CSV also with .gz or .zst
/// behind its own ending. Upper and lower case are the same.
std::string formatOfName(std::string_view path);

/// The default delimiter of a CSV file: a tab for .tsv and .tab files.
char delimiterOfName(std::string_view path);

/// The texts that are null in columns of numbers, times and bools, beside an empty field: those of
/// pandas' read_csv, and NAN. None of them is a number, a time or a bool.
inline constexpr std::array<std::string_view, 19> kCsvNulls = {
    "NA",   "N/A", "NaN",      "NAN",  "nan",  "null",   "NULL",    "None",    "n/a",     "<NA>",
    "#N/A", "#NA", "#N/A N/A", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"};

/// Returns the text of the reference for `null_values`.
std::string_view csvNullsDoc();

}  // namespace millrace::spec

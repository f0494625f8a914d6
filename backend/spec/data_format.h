#pragma once
// The format of a data file by its name's ending: the one place that knows the endings.
#include <string>
#include <string_view>

namespace millrace::spec {

/// "parquet", "csv" or "arrow"; "" when the ending is none of theirs. CSV also with .gz or .zst
/// behind its own ending.
std::string formatOfName(std::string_view path);

/// The character between the fields of a CSV file that says nothing else: of .tsv files a tab.
char delimiterOfName(std::string_view path);

}  // namespace millrace::spec

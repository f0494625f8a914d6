#pragma once
// The format of a data file by its name's suffix: the only place that knows the suffixes.
#include <string>
#include <string_view>

namespace millrace::spec {

/// "parquet", "csv" or "arrow"; "" for any other suffix. CSV also with .gz or .zst after its own
/// suffix.
std::string formatOfName(std::string_view path);

/// The default delimiter of a CSV file: a tab for .tsv files.
char delimiterOfName(std::string_view path);

}  // namespace millrace::spec

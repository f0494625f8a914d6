#pragma once
// Removes unused columns from a Parquet footer before it is parsed.
//
// For a wide file, parsing and freeing the footer takes longer than reading 300 of its 3,000
// columns. This skips the metadata of other columns and writes a footer of the rest, which is then
// parsed as usual.
// Format: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
// Threads: pure. Owns: nothing. Failure: none; an unusual footer is not cut.
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace millrace::pages {

/// Names of columns, and of the structs that contain them.
using ColumnNames = std::unordered_set<std::string>;
ColumnNames withStructs(const std::vector<std::string>& columns);

/// `footer`: Thrift's bytes alone. Keeps the fields of the schema's root with a name in `columns`,
/// as a whole, and their column chunks. Keeps everything that belongs to no column, except the
/// writer's own keys and values and the sort order. Absent if cutting would save little, if
/// something is encrypted, or if the footer contradicts itself: parse it as a whole then.
std::optional<std::string> cutFooter(std::string_view footer, const ColumnNames& columns);

}  // namespace millrace::pages

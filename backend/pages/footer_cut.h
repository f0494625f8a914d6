#pragma once
// A Parquet footer without the columns that nobody asks for.
//
// The footer of a wide file costs more to parse, and to let go, than 300 of its 3,000 columns to
// read. This passes over what stands in it of other columns and writes a footer of the rest, which
// is then parsed as any other.
// Format: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
// Threads: pure. Owns: nothing. Failure: none; what is unusual is not cut.
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace millrace::pages {

/// The names of columns, and of the structs around them.
using ColumnNames = std::unordered_set<std::string>;
ColumnNames withStructs(const std::vector<std::string>& columns);

/// `footer`: Thrift's bytes alone. What is kept: fields of the schema's root with a name in
/// `columns`, whole, their column chunks, and all that does not belong to a column but the writer's
/// own keys and values and what rows are sorted by. Absent where that would save little, where
/// something is encrypted, and where the footer contradicts itself: then it is to be parsed whole.
std::optional<std::string> cutFooter(std::string_view footer, const ColumnNames& columns);

}  // namespace millrace::pages

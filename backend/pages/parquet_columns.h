#pragma once
// Which leaves of a Parquet schema make which column: a struct's fields are columns by path, named
// as column_tree.h names them.
//
// Threads: pure. Failure: none; throws what libparquet throws.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parquet {
class SchemaDescriptor;
}

namespace millrace::pages {

struct ColumnLeaves {
    std::vector<int> leaves;
    int depth = 0;             ///< structs around it
    bool isPrimitive = false;  ///< one leaf that holds one value a row, or null
    bool isNullable = false;   ///< it, or a struct around it
};

/// The column that a leaf belongs to. Two columns of one name are one here.
std::string columnOfLeaf(const parquet::SchemaDescriptor& schema, int leaf);

/// One column of columnsOf(), without looking at all of them.
std::optional<ColumnLeaves> findColumn(const parquet::SchemaDescriptor& schema,
                                       const std::string& name);

std::map<std::string, ColumnLeaves> columnsOf(const parquet::SchemaDescriptor& schema);

}  // namespace millrace::pages

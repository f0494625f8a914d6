#pragma once
// Maps columns to leaves of a Parquet schema. A struct's fields are columns by path, named as in
// column_tree.h.
//
// Threads: pure. Failure: none; throws what libparquet throws.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <parquet/type_fwd.h>

namespace millrace::pages {

struct ColumnLeaves {
    std::vector<int> leaves;
    int depth = 0;             ///< number of structs around it
    bool isPrimitive = false;  ///< one leaf with one value per row, or null
    bool isNullable = false;   ///< the column, or a struct around it
};

/// The column that a leaf belongs to. Two columns with the same name count as one here.
std::string columnOfLeaf(const parquet::SchemaDescriptor& schema, int leaf);

/// One column of columnsOf(), found without building all of them.
std::optional<ColumnLeaves> findColumn(const parquet::SchemaDescriptor& schema,
                                       const std::string& name);

std::map<std::string, ColumnLeaves> columnsOf(const parquet::SchemaDescriptor& schema);

}  // namespace millrace::pages

#pragma once
// The columns of an Arrow schema with the product's names: a struct's fields by path (`user.age`),
// at any depth; null where the struct is null.
//
// Unsupported columns get a sentence with what they are, the reason, and an alternative. If two
// columns would have one name, the schema's own field wins, then the first one.
// Threads: pure. Failure: Arrow's, without a position.
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"
#include "backend/expr/schema.h"

namespace millrace::arrays {

/// Adds a file's columns and rejected columns to `out`; returns the indices of the columns in
/// `out.fields`. `refused`: columns that cannot be read although Arrow's schema does not show it,
/// with the reason, as in spec::RefusedColumn.
std::map<std::string, std::size_t> addColumns(
    const arrow::Schema& schema, expr::Schema& out,
    const std::map<std::string, std::string>& refused = {});

/// Why an interval of months and days is rejected.
std::string whyNoInterval();

/// Why a type that toSpecType() does not support is rejected, as in spec::RefusedColumn. `name`:
/// the column's, for the suggested alternative.
std::string whyRefused(std::string_view name, const arrow::DataType& type);

/// The type of the column with that name; null if it does not exist.
std::shared_ptr<arrow::DataType> findType(const arrow::Schema& schema, std::string_view name);

/// The column with that name, including nulls of the structs around it; null if it does not exist.
Result<std::shared_ptr<arrow::Array>> findColumn(const arrow::RecordBatch& batch,
                                                 std::string_view name, arrow::MemoryPool* pool);

/// The values inside a chain of `depth` structs with one field each, as a single-leaf reader
/// returns it.
Result<std::shared_ptr<arrow::ChunkedArray>> fieldWithin(
    std::shared_ptr<arrow::ChunkedArray> values, int depth, arrow::MemoryPool* pool);

}  // namespace millrace::arrays

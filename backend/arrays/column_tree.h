#pragma once
// The columns of an Arrow schema as the product names them: a struct's fields by path (`user.age`),
// at any depth; null where the struct is.
//
// What cannot be a feature is named with a sentence: what it is, why, what to write instead. Where
// two columns would have one name, that of the schema's own fields wins, then the first one.
// Threads: pure. Failure: Arrow's, without a place.
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"
#include "backend/expr/schema.h"

namespace millrace::arrays {

/// Adds the columns and what is refused of a file to `out`; gives the places of the columns in
/// `out.fields`. `refused`: columns that cannot be read though Arrow's schema does not say so, and
/// why, as spec::RefusedColumn has it.
std::map<std::string, std::size_t> addColumns(
    const arrow::Schema& schema, expr::Schema& out,
    const std::map<std::string, std::string>& refused = {});

/// Why an interval of months and days is refused.
std::string whyNoInterval();

/// Why nothing can be made of a type that toSpecType() does not know, as spec::RefusedColumn has
/// it. `name`: of the column, for what to write instead.
std::string whyRefused(std::string_view name, const arrow::DataType& type);

/// The type of the column of that name; null when there is none.
std::shared_ptr<arrow::DataType> findType(const arrow::Schema& schema, std::string_view name);

/// The column of that name, with the nulls of the structs around it; null when there is none.
Result<std::shared_ptr<arrow::Array>> findColumn(const arrow::RecordBatch& batch,
                                                 std::string_view name, arrow::MemoryPool* pool);

/// The values at the end of a chain of structs of one field each, as a reader of one leaf gives
/// it; `depth` structs.
Result<std::shared_ptr<arrow::ChunkedArray>> fieldWithin(
    std::shared_ptr<arrow::ChunkedArray> values, int depth, arrow::MemoryPool* pool);

}  // namespace millrace::arrays

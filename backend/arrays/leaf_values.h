#pragma once
// Applies one function to a column's values, whether they are the column itself or its lists'
// elements. Private to arrays. Threads: pure.
#include <functional>
#include <memory>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"

namespace millrace::arrays {

using ValueMap =
    std::function<Result<std::shared_ptr<arrow::Array>>(const std::shared_ptr<arrow::Array>&)>;

/// The type of a column's values: of the elements if it has lists.
const arrow::DataType& leafType(const arrow::DataType& type);

/// `map` of the array or, if it has lists (list, large list, fixed-size list), the same lists with
/// `map` of their elements. The map must keep the number of values.
Result<std::shared_ptr<arrow::Array>> mapLeaves(const std::shared_ptr<arrow::Array>& array,
                                                const ValueMap& map);

}  // namespace millrace::arrays

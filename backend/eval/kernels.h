#pragma once
// Thin wrapper around Arrow's compute functions: values, calls, own loops.
//
// Uses no Arrow thread pool. Values are arrays with one value per row, or scalars for all rows.
// Failure: Arrow's message, without a position.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/array/array_base.h>
#include <arrow/compute/function_options.h>
#include <arrow/datum.h>
#include <arrow/type_fwd.h>

#include "backend/core/status.h"
#include "backend/expr/schema.h"

namespace millrace::eval {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using arrow::Datum;

/// Calls one of Arrow's compute functions on this thread.
Result<Datum> callKernel(const std::string& name, const std::vector<Datum>& arguments,
                         const arrow::compute::FunctionOptions* options = nullptr);

/// The value as `rows` values.
Result<ArrayPtr> asArray(const Datum& value, std::int64_t rows);

/// values[indices]; null where an index is null.
Result<ArrayPtr> takeRows(const ArrayPtr& values, const ArrayPtr& indices);

/// An int64 array of the numbers; with `hasNulls`, -1 becomes null.
Result<ArrayPtr> indexArray(const std::vector<std::int64_t>& numbers, bool hasNulls);

/// A null of the type.
Result<Datum> nullOf(const expr::DataType& type);

/// `condition ? yes : no`; a null condition counts as false.
Result<Datum> choose(const Datum& condition, const Datum& yes, const Datum& no);

}  // namespace millrace::eval

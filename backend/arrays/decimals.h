#pragma once
// Converts decimals to other numbers: the only place where a decimal becomes a double.
//
// The double is the nearest to the decimal's exact value, ties to even: the same as DuckDB, Python
// and strtod give for these digits. Equal decimals of two precisions therefore become equal
// doubles, and `price = 0.57` finds 0.57. Threads: pure.
#include <memory>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"

namespace millrace::arrays {

/// The double nearest to unscaled / 10^scale.
double nearestDouble(const arrow::Decimal128& unscaled, int scale);
double nearestDouble(const arrow::Decimal256& unscaled, int scale);

/// Converts an array of decimals of any width to doubles; nulls stay.
Result<std::shared_ptr<arrow::Array>> decimalsAsDoubles(const arrow::Array& decimals,
                                                        arrow::MemoryPool* pool);

/// Rounds an array of decimal128 to whole numbers, halves away from zero, as decimals of scale 0
/// and 38 digits: the first step of a cast to an integer.
Result<std::shared_ptr<arrow::Array>> roundedDecimals(const std::shared_ptr<arrow::Array>& decimals,
                                                      arrow::MemoryPool* pool);

/// Converts an array of decimal128 to texts that are equal if the numbers are, whatever the scale:
/// "1.5" for 1.50, "0" for 0.00.
Result<std::shared_ptr<arrow::Array>> decimalKeys(const arrow::Array& decimals,
                                                  arrow::MemoryPool* pool);

}  // namespace millrace::arrays

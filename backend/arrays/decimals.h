#pragma once
// Decimals as other numbers: the one place where a decimal becomes a double.
//
// A double is the one nearest to the decimal's exact value, ties to even: what DuckDB, Python and
// strtod give for the same digits. So equal decimals of two precisions are equal doubles, and
// `price = 0.57` finds 0.57. Threads: pure.
#include <memory>

#include "backend/core/status.h"

namespace arrow {
class Array;
class Decimal128;
class Decimal256;
class MemoryPool;
}  // namespace arrow

namespace millrace::arrays {

/// The double nearest to unscaled / 10^scale.
double nearestDouble(const arrow::Decimal128& unscaled, int scale);
double nearestDouble(const arrow::Decimal256& unscaled, int scale);

/// An array of decimals of any width as doubles; nulls stay.
Result<std::shared_ptr<arrow::Array>> decimalsAsDoubles(const arrow::Array& decimals,
                                                        arrow::MemoryPool* pool);

/// An array of decimal128 as whole numbers, halves rounded away from zero, as decimals of scale 0
/// and 38 digits: what a cast to an integer starts from.
Result<std::shared_ptr<arrow::Array>> roundedDecimals(const std::shared_ptr<arrow::Array>& decimals,
                                                      arrow::MemoryPool* pool);

/// An array of decimal128 as texts that are equal where the numbers are, whatever the scale:
/// "1.5" for 1.50, "0" for 0.00.
Result<std::shared_ptr<arrow::Array>> decimalKeys(const arrow::Array& decimals,
                                                  arrow::MemoryPool* pool);

}  // namespace millrace::arrays

#pragma once
// One number a row that is equal where the column's values are: what batches are told apart by.
//
// Threads: pure.
#include <cstdint>
#include <vector>

#include "backend/core/status.h"
#include "backend/eval/evaluator.h"

namespace millrace::recipe {

using eval::ArrayPtr;

/// Equal values have one key, different ones different keys (up to 64-bit chance). A null is a
/// value of its own in every row; `firstRow` sets those of one split apart from those of another.
Result<std::vector<std::uint64_t>> rowKeys(const ArrayPtr& values, std::uint64_t firstRow);

}  // namespace millrace::recipe

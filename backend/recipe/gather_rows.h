#pragma once
// Gathers rows of a side table's column: plain values directly, others by Arrow. Private to recipe.
//
// Threads: pure.
#include <cstdint>
#include <vector>

#include "backend/core/status.h"
#include "backend/eval/kernels.h"

namespace millrace::recipe {

/// values[rows[i]]; null where the row is -1.
Result<eval::ArrayPtr> gatherRows(const eval::ArrayPtr& values,
                                  const std::vector<std::int64_t>& rows);

}  // namespace millrace::recipe

#pragma once
// The order of rows by sort columns. Private to table.
//
// It is the order of SortKeys, and equal rows keep their order. Columns are sorted one after
// another, from the last to the first, by the bits in which their keys differ (radix sort). Numbers
// are sorted as a whole, texts twelve bytes at a time as long as the previous bytes are equal.
// Memory: kOrderBytes per row beside the batches. Threads: starts its own. Failure: out of memory.
#include <cstdint>
#include <span>
#include <vector>

#include "backend/core/status.h"
#include "backend/core/system_memory.h"
#include "backend/table/external_sort.h"

namespace millrace::table {

constexpr std::int64_t kOrderBytes = 36;

/// Row numbers, first to last.
struct SortedRows {
    SystemMemory memory;
    std::span<std::uint32_t> rows;  ///< in `memory`
};

/// Rows are numbered consecutively over all batches. `columns`: from SortKeys::columnsOf; fewer
/// than 2^32 rows.
Result<SortedRows> sortedOrder(const std::vector<BatchPtr>& batches,
                               const std::vector<int>& columns, int threads);

}  // namespace millrace::table

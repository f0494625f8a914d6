#pragma once
// The order of rows by sort columns. Private to the room.
//
// The order is that of SortKeys, and equal rows stay as they stand. Columns are sorted one after
// another from the last to the first, by the bits of their keys that differ (radix sort): numbers
// as a whole, texts by twelve bytes at a time where those before are the same. Memory: kOrderBytes
// a row beside the batches. Threads: starts its own. Failure: of
// memory.
#include <cstdint>
#include <span>
#include <vector>

#include "backend/core/status.h"
#include "backend/core/system_memory.h"
#include "backend/table/external_sort.h"

namespace millrace::table {

constexpr std::int64_t kOrderBytes = 36;

/// Numbers of rows, first to last.
struct SortedRows {
    SystemMemory memory;
    std::span<std::uint32_t> rows;  ///< in it
};

/// The rows are numbered as if the batches stood behind one another. `columns`: as
/// SortKeys::columnsOf gives them; fewer than 2^32 rows.
Result<SortedRows> sortedOrder(const std::vector<BatchPtr>& batches,
                               const std::vector<int>& columns, int threads);

}  // namespace millrace::table

#pragma once
// The order of rows by sort columns, and rows in a given order. Private to the room.
//
// The order is that of SortKeys, and equal rows stay as they stand. Columns are sorted one after
// another from the last to the first: numbers by their bytes that differ (radix sort), texts by
// eight bytes at a time where those before are the same. Memory: 28 bytes a row beside the batch.
// Threads: pure; gathered() starts its own.
// Failure: of memory.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/core/status.h"
#include "backend/table/external_sort.h"

namespace millrace::table {

/// Numbers of the rows, first to last. `columns`: as SortKeys::columnsOf gives them; fewer than
/// 2^32 rows.
std::vector<std::uint32_t> sortedOrder(const arrow::RecordBatch& batch,
                                       const std::vector<int>& columns);

/// Rows of several batches of one schema, which are numbered as if they stood behind one another.
Result<BatchPtr> gathered(const std::shared_ptr<arrow::Schema>& schema,
                          const std::vector<BatchPtr>& batches, std::span<const std::uint32_t> rows,
                          int threads);

/// The same batches as one, of these columns alone.
Result<BatchPtr> joinedColumns(const std::shared_ptr<arrow::Schema>& schema,
                               const std::vector<BatchPtr>& batches,
                               const std::vector<int>& columns);

}  // namespace millrace::table

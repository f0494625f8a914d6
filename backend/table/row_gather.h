#pragma once
// Gathers rows of several batches in a given order into one batch. Private to table.
//
// Numbers and texts are copied once, directly from the batches. Arrow takes other types from each
// batch, concatenates them, and takes them in order.
// Threads: starts its own. Failure: out of memory; kInvalidArgument for texts of more than 2 GB.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/core/status.h"
#include "backend/table/external_sort.h"
#include "backend/table/row_places.h"

namespace millrace::table {

/// `places`: places of the rows of `batches`; `rows` are numbers in it.
Result<BatchPtr> gathered(const std::shared_ptr<arrow::Schema>& schema,
                          const std::vector<BatchPtr>& batches, const RowPlaces& places,
                          std::span<const std::uint32_t> rows, int threads);

}  // namespace millrace::table

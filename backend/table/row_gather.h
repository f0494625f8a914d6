#pragma once
// Rows of several batches in a given order, as one batch. Private to the room.
//
// Numbers and texts are copied once, from where they stand; other types are taken from each batch
// by Arrow, put together, and taken into their order.
// Threads: starts its own. Failure: of memory; kInvalidArgument for texts of more than 2 GB.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/core/status.h"
#include "backend/table/external_sort.h"
#include "backend/table/row_places.h"

namespace millrace::table {

/// `places`: of `batches`, in which `rows` are numbered.
Result<BatchPtr> gathered(const std::shared_ptr<arrow::Schema>& schema,
                          const std::vector<BatchPtr>& batches, const RowPlaces& places,
                          std::span<const std::uint32_t> rows, int threads);

}  // namespace millrace::table

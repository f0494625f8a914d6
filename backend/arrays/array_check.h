#pragma once
// What Arrow's readers take on trust: offsets, sizes, dictionary indices and run ends of a batch.
//
// An Arrow IPC file is used as it lies there, so a flipped bit in an offset would be a read outside
// of its buffers. Texts may hold any bytes, and values any value: only the layout is checked.
// Threads: pure.
#include <string_view>

#include "backend/core/status.h"

namespace arrow {
class Array;
class RecordBatch;
}  // namespace arrow

namespace millrace::arrays {

/// kDataLoss "PLACE: corrupt: ..." when a value of the slice lies outside of its buffers.
Status checkArray(const arrow::Array& array, std::string_view place);

/// Every column's buffers are there and long enough for its rows; cheap, no value is looked at.
Status checkBuffers(const arrow::RecordBatch& batch, std::string_view place);

}  // namespace millrace::arrays

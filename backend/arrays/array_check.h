#pragma once
// Validates what Arrow's readers trust: offsets, sizes, dictionary indices and run ends of a batch.
//
// Arrow IPC files are used in place, so a flipped bit in an offset would cause a read outside the
// buffers. Only the layout is checked: texts may hold any bytes, and values any value.
// Threads: pure.
#include <string_view>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"

namespace millrace::arrays {

/// kDataLoss "PLACE: corrupt: ..." if a value of the slice is outside its buffers.
Status checkArray(const arrow::Array& array, std::string_view place);

/// Checks that every column's buffers exist and are long enough for its rows; cheap, reads no
/// value.
Status checkBuffers(const arrow::RecordBatch& batch, std::string_view place);

}  // namespace millrace::arrays

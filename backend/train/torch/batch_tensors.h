#pragma once
// A micro-batch as tensors on a device.
//
// A frame is copied there as a whole, and its columns are views of the copy; columns in memory of
// their own (tests) are copied one by one. Threads: one owner. What LibTorch throws passes through.
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "backend/train/batch.h"

namespace millrace::train {

struct IdTensors {
    at::Tensor values;   ///< int64
    at::Tensor offsets;  ///< int64 [items + 1]; undefined: one value per item
    at::Tensor inverse;  ///< int64 [rows]; undefined: item i is row i's
    at::Tensor weights;  ///< float32, one per value; undefined: 1
    std::int64_t items = 0;
    std::int64_t count = 0;  ///< values
};

struct BatchTensors {
    std::int64_t rows = 0;
    at::Tensor dense;  ///< float32 [rows, dense width]
    std::vector<IdTensors> ids;
    /// float64 [rows, heads]. The weight of a label that is not present is 0, and a label of weight
    /// 0 is 0.
    at::Tensor labels, weights;
};

/// Starts the copies to the device; `batch` must stay valid until they are done. `wantsIds`: the
/// ids, too.
BatchTensors tensorsOf(const BatchView& batch, const at::Device& device, bool wantsIds);

}  // namespace millrace::train

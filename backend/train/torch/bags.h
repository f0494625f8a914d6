#pragma once
// The ids of a batch as bags of rows: what a lookup in the tables of one width, and its gradients,
// need to know of the batch.
//
// A cell is one row's vector of one feature; cells are numbered row by row. A bag holds the ids of
// a cell, or of all cells that share one list. On a CPU one pass over the ids finds them, elsewhere
// a few calls. Threads: pure functions. What LibTorch throws passes through.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "backend/train/batch.h"
#include "backend/train/torch/batch_tensors.h"

namespace millrace::train {

/// A feature and the rows of its table among those of all tables of that width.
struct BagFeature {
    std::size_t index;            ///< of LearnerOptions::features
    std::int64_t start, numRows;  ///< first row, number of rows
};

struct Bags {
    at::Tensor rows;     ///< row of each id; that of an id outside its table is another one's
    at::Tensor starts;   ///< start of each bag in `rows`, and the end; undefined: a bag is one id
    at::Tensor bagOfId;  ///< undefined: id i is bag i's
    at::Tensor weights;  ///< of each id; undefined: 1
    at::Tensor scale;    ///< [bags, 1] 1 / sum of its weights, 0 if they cancel out; undefined: 1
    at::Tensor cells;    ///< bag of each cell; undefined: cell i is bag i
    bool isShared = false;  ///< a bag may be several cells'
    bool isWrong = false;   ///< an id is outside its table
};

/// The values as a tensor.
at::Tensor longsOn(const at::Device& device, const std::vector<std::int64_t>& values);

/// `type`: of `weights` and `scale`.
Bags bagsOnHost(const std::vector<BagFeature>& features, const BatchView& batch,
                at::ScalarType type);

/// `limits`: [2, features] `start` and the last row's number in its own table, on the device.
Bags bagsOfTensors(const std::vector<BagFeature>& features, const at::Tensor& limits,
                   const BatchTensors& batch, at::ScalarType type);

}  // namespace millrace::train

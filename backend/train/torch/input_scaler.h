#pragma once
// Scales dense inputs of any magnitude to a common range: (x - mean) / deviation, kept in [-5, 5].
//
// Mean and deviation of each column cover all training rows of earlier steps, of all ranks. The
// first step uses its first micro-batch, which is rank 0's. They are part of the model: checkpoints
// and init_from carry them, and evaluation uses them unchanged. They are computed in double and
// merged by Chan's formula in row order. The values of a step count from the next step on, so that
// its division into micro-batches changes nothing. NaN and infinite inputs count as the mean and
// are left out of the statistics.
//
// The statistics are computed from the batch in host memory, so they have the same bits for every
// device, and a GPU computes its step meanwhile. Threads: one owner. What LibTorch throws passes
// through.
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "backend/train/batch.h"
#include "backend/train/checkpoint.h"
#include "backend/train/ranks/group.h"

namespace millrace::train {

class InputScaler {
 public:
    /// `options`: type and device of what scale() returns.
    InputScaler(std::int64_t width, const at::TensorOptions& options);
    bool isStarted() const { return isStarted_ || width_ == 0; }
    /// Call before the first observe(), in all ranks: rank 0's first micro-batch sets the scale.
    /// Null: this rank has no micro-batch in the first step.
    Status start(const BatchView* batch, Group& group);
    /// Adds a training micro-batch to the statistics of the running step.
    void observe(const BatchView& batch) { addTo(step_, batch); }
    /// Ends the step: merges its statistics, of all ranks in rank order, into the totals.
    Status endStep(Group& group);
    /// `dense`: float32 [rows, width] on the device; returns the same shape.
    at::Tensor scale(const at::Tensor& dense) const;
    void appendTensors(std::vector<TensorRef>& out);
    /// Call after the tensors were written into.
    void restored();

 private:
    /// Three values per column: number of values, mean, sum of squared differences.
    struct Statistics {
        std::vector<double> count, mean, squares;
        explicit Statistics(std::int64_t width);
        void merge(const Statistics& other);
    };
    static void addTo(Statistics& statistics, const BatchView& batch);
    /// Returns each rank's `mine`.
    Result<std::vector<Statistics>> ofAllRanks(const Statistics& mine, Group& group) const;
    void refresh(const Statistics& from);
    std::int64_t width_;
    Statistics statistics_, step_;
    bool isStarted_ = false;
    at::Tensor mean_, factor_;  // [width]: what scale() uses
};

}  // namespace millrace::train

#pragma once
// InputScaler (input_scaler.h) on a device, with the same definition, statistics and checkpoint
// tensors.
#include <vector>

#include <ATen/core/Tensor.h>

#include "backend/core/status.h"
#include "backend/train/ranks/group.h"

namespace millrace::train {

class TensorScaler {
 public:
    TensorScaler(std::int64_t width, const at::Device& device);
    /// Adds a training micro-batch [rows, width] to the statistics of the running step.
    void observe(const at::Tensor& dense);
    /// Call it once in all ranks, before the first step is computed: rank 0's first micro-batch
    /// sets the scale of all ranks. `dense`: this rank's first micro-batch; undefined: it has none
    /// in this step.
    Status start(const at::Tensor& dense, Group& group);
    bool isStarted() const { return isStarted_; }
    /// Merges the step's statistics of all ranks, in rank order.
    Status endStep(Group& group);
    /// [rows, width] of type `type`.
    at::Tensor scale(const at::Tensor& dense, at::ScalarType type) const;

    /// count, mean, squares: float64 [width] each.
    std::vector<at::Tensor> statistics() const { return {all_.count, all_.mean, all_.squares}; }
    void restore(const std::vector<at::Tensor>& statistics);

 private:
    struct Statistics {
        at::Tensor count, mean, squares;
    };
    Statistics none() const;
    Statistics statisticsOf(const at::Tensor& dense) const;
    Result<std::vector<Statistics>> told(const Statistics& mine, Group& group) const;
    static Statistics merged(const Statistics& a, const Statistics& b);
    void refresh(const Statistics& from);

    const std::int64_t width_;
    const at::Device device_;
    Statistics all_, step_;
    bool isStarted_ = false;
    at::Tensor mean_, factor_;  ///< float64 [width]: what scale() uses
};

}  // namespace millrace::train

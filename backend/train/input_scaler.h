#pragma once
// Scales dense inputs of any magnitude to a common range: (x - mean) / deviation, kept in [-5, 5].
//
// Mean and deviation of each column cover all training rows of earlier steps, of all ranks. The
// first step uses its first micro-batch, which is rank 0's. They are part of the model: checkpoints
// and init_from carry them, and evaluation uses them unchanged. They are computed in double and
// merged by Chan's formula in row order. The values of a step count from the next step on, so that
// its division into micro-batches changes nothing. NaN and infinite inputs count as the mean and
// are left out of the statistics.
#include <cstdint>
#include <vector>

#include "backend/train/batch.h"
#include "backend/train/checkpoint.h"
#include "backend/train/ranks/group.h"

namespace millrace::train {

class InputScaler {
 public:
    explicit InputScaler(std::int64_t width);
    bool isStarted() const { return isStarted_ || width_ == 0; }
    /// Call before the first observe(), in all ranks: rank 0's first micro-batch sets the scale.
    /// Null: this rank has no micro-batch in the first step.
    Status start(const BatchView* batch, Group& group);
    /// Adds a training micro-batch to the statistics of the running step.
    void observe(const BatchView& batch) { addTo(step_, batch); }
    /// Ends the step: merges its statistics, of all ranks in rank order, into the totals.
    Status endStep(Group& group);
    /// Writes the scaled columns as one block [rows, width].
    void scale(const BatchView& batch, std::vector<float>& out) const;
    void appendTensors(std::vector<TensorRef>& out);
    /// Call after the tensors were written into.
    void restored();

 private:
    /// Three values per column: number of values, mean, sum of squared differences.
    struct Statistics {
        std::vector<double> count, mean, squares;
        explicit Statistics(std::int64_t width);
        void add(std::size_t column, double value);
        void merge(const Statistics& other);
    };
    static void addTo(Statistics& statistics, const BatchView& batch);
    /// Returns each rank's `mine`.
    Result<std::vector<Statistics>> ofAllRanks(const Statistics& mine, Group& group) const;
    void refresh(const Statistics& from);
    std::int64_t width_;
    Statistics statistics_, step_;
    bool isStarted_ = false;
    std::vector<float> mean_, factor_;  // what scale() uses
};

}  // namespace millrace::train

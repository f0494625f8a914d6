#pragma once
// Brings dense inputs of any magnitude to a common scale: (x - mean) / deviation, kept in [-5, 5].
//
// Mean and deviation of every column run over all training rows of the steps before this one, of
// all ranks (the first step: its first micro-batch, which is rank 0's) and are part of the model:
// checkpoints and init_from carry them, evaluation uses them as they stand. In double, merged by
// Chan's formula in row order; the values of a step count from the next step on, so that cutting it
// into micro-batches changes nothing. NaN and infinite inputs count as the mean and are left out of
// the statistics.
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
    /// Before the first observe(), in all ranks: rank 0's first micro-batch sets the scale. Null: a
    /// rank that has none in the first step.
    Status start(const BatchView* batch, Group& group);
    /// Takes a training micro-batch into the statistics of the running step.
    void observe(const BatchView& batch) { addTo(step_, batch); }
    /// The step is over: its statistics, of all ranks in their order, join the others.
    Status endStep(Group& group);
    /// Writes the scaled columns as one block [rows, width].
    void scale(const BatchView& batch, std::vector<float>& out) const;
    void appendTensors(std::vector<TensorRef>& out);
    /// To be called after the tensors were written into.
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
    /// `mine` of each rank.
    Result<std::vector<Statistics>> ofAllRanks(const Statistics& mine, Group& group) const;
    void refresh(const Statistics& from);
    std::int64_t width_;
    Statistics statistics_, step_;
    bool isStarted_ = false;
    std::vector<float> mean_, factor_;  // what scale() uses
};

}  // namespace millrace::train

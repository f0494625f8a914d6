#pragma once
// Which outputs of hidden layers a training row goes without.
//
// A function of (seed, epoch, the row's file and number, layer, unit) alone: nothing depends on
// ranks, micro-batches, devices or the order of rows, and a resume needs no state. Rows whose
// places are not known (tests, benchmarks) go by their number in the batch. Threads: pure.
#include <cstdint>
#include <vector>

#include "backend/train/batch.h"

namespace millrace::train {

struct Dropout {
    double share = 0;  ///< that is left out, below 1; kept to 1/65536
    std::uint64_t seed = 0;
    const BatchView* batch = nullptr;  ///< outlives it

    /// What kept outputs are multiplied with, so that sums stay as large: 1 / (1 - share).
    double scale() const;
    /// 1 for each output that is kept, [rows, units].
    std::vector<std::uint8_t> kept(std::int64_t layer, std::int64_t units) const;
};

}  // namespace millrace::train

#pragma once
// Chooses which outputs of hidden layers are dropped for each training row.
//
// The choice is a function of (seed, epoch, the row's file and number, layer, unit) alone. It does
// not depend on ranks, micro-batches, devices or row order, and a resume needs no state. Rows of
// unknown origin (tests, benchmarks) use their number in the batch. Threads: pure.
#include <cstdint>
#include <vector>

#include "backend/train/batch.h"

namespace millrace::train {

struct Dropout {
    double share = 0;  ///< dropped share of the outputs, below 1; in steps of 1/65536
    std::uint64_t seed = 0;
    const BatchView* batch = nullptr;  ///< outlives it

    /// Factor of the outputs that are kept, so that sums keep their size: 1 / (1 - share).
    double scale() const;
    /// 1 for each output that is kept, else 0, [rows, units].
    std::vector<std::uint8_t> kept(std::int64_t layer, std::int64_t units) const;
};

}  // namespace millrace::train

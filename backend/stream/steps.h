#pragma once
// Distributes micro-batches over steps and ranks: a step takes the next G/b micro-batches, rank r
// of W those with number % W == r. The last step of an epoch takes the rest.
#include <cstdint>
#include <string>

#include "backend/core/status.h"

namespace millrace::stream {

/// Distribution of a step's micro-batches. perStep = batch.rows / micro_rows; worldSize divides it.
struct Dealing {
    std::int64_t perStep = 1;
    std::int64_t worldSize = 1;
    /// kInvalidArgument naming the admissible rank counts.
    static Result<Dealing> make(std::int64_t batchRows, std::int64_t microRows,
                                std::int64_t worldSize);
    std::int64_t rankOf(std::int64_t number) const { return number % worldSize; }
    std::int64_t stepOf(std::int64_t number) const { return number / perStep; }  ///< in the epoch
};

/// Lists the rank counts that divide a step of `perStep` micro-batches, cut to fit a message.
std::string admissibleRanks(std::int64_t perStep);

}  // namespace millrace::stream

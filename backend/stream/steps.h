#pragma once
// Distributes micro-batches over steps and ranks: a step takes the next G/b micro-batches, rank r
// of W those with number % W == r (SEMANTICS 1). The last step of an epoch takes the rest.
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

/// A rank's share of one step of an epoch: numbers first, first + W, ... (count of them).
struct StepShare {
    std::int64_t first = 0;
    std::int64_t count = 0;
};

/// Steps in an epoch of `total` micro-batches.
std::int64_t stepsOf(std::int64_t total, const Dealing& dealing);
/// The share of `rank` in step `step` (from 0) of an epoch of `total`; count 0 if it gets none.
StepShare shareOf(std::int64_t total, const Dealing& dealing, std::int64_t step, std::int64_t rank);

}  // namespace millrace::stream

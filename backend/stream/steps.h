#pragma once
// How micro-batches are dealt: a step takes the next G/b, rank r of W takes the numbers that leave
// the remainder r (SEMANTICS 1). The last step of an epoch takes what is left.
#include <cstdint>
#include <string>

#include "backend/core/status.h"

namespace millrace::stream {

/// How a step's micro-batches are dealt. perStep = batch.rows / micro_rows; worldSize divides it.
struct Dealing {
    std::int64_t perStep = 1;
    std::int64_t worldSize = 1;
    /// kInvalidArgument naming the admissible rank counts.
    static Result<Dealing> make(std::int64_t batchRows, std::int64_t microRows,
                                std::int64_t worldSize);
    std::int64_t rankOf(std::int64_t number) const { return number % worldSize; }
    std::int64_t stepOf(std::int64_t number) const { return number / perStep; }  ///< in the epoch
};

/// The rank counts that divide a step of so many micro-batches, as far as they fit a sentence.
std::string admissibleRanks(std::int64_t perStep);

/// A rank's share of one step of an epoch: numbers first, first + W, ... (count of them).
struct StepShare {
    std::int64_t first = 0;
    std::int64_t count = 0;
};

/// Steps in an epoch of `total` micro-batches.
std::int64_t stepsOf(std::int64_t total, const Dealing& dealing);
/// The share of `rank` in step `step` (from 0) of an epoch of `total`; count 0 when it gets none.
StepShare shareOf(std::int64_t total, const Dealing& dealing, std::int64_t step, std::int64_t rank);

}  // namespace millrace::stream

#include "backend/stream/steps.h"

namespace millrace::stream {

Result<Dealing> Dealing::make(std::int64_t batchRows, std::int64_t microRows,
                              std::int64_t worldSize) {
    if (microRows < 1 || batchRows < 1 || batchRows % microRows != 0) {
        return invalidArgument("batch: micro_rows ", microRows, " must divide rows ", batchRows);
    }
    const std::int64_t perStep = batchRows / microRows;
    if (worldSize < 1 || perStep % worldSize != 0) {
        return invalidArgument("train.ranks: ", worldSize, " does not divide the ", perStep,
                               " micro-batches of a step; admissible: ", admissibleRanks(perStep));
    }
    return Dealing{perStep, worldSize};
}

std::string admissibleRanks(std::int64_t perStep) {
    std::string admissible;
    for (std::int64_t w = 1; w <= perStep && admissible.size() < 100; ++w) {
        if (perStep % w == 0) {
            strAppend(&admissible, admissible.empty() ? "" : ", ", w);
        }
    }
    return admissible;
}

}  // namespace millrace::stream

#pragma once
// Two evaluations row by row: what the second says of the rows that the first said something of.
//
// Threads: pure functions.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/scores/score_file.h"

namespace millrace::scores {

/// A head that both have.
struct PairedHead {
    std::string name;
    std::int64_t rows = 0;  ///< paired, with the same label in both
    std::int64_t otherLabels =
        0;  ///< paired, with another label, or one in one of them only: left out
    double first = 0, second = 0;  ///< mean log loss of these rows, of each; NaN of no rows
    double difference = 0;         ///< mean over rows of the second's minus the first's
};

struct Pairing {
    std::int64_t rows = 0;  ///< that both have, by key
    double share = 0;  ///< of those of whichever has more; of samples, of the keys that both kept
    bool isSample = false;  ///< one of them keeps its lowest keys only
    std::vector<PairedHead> heads;
};

Pairing pairScores(const Scores& first, const Scores& second);

}  // namespace millrace::scores

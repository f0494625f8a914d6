#pragma once
// Compares two evaluations row by row: the second one's scores for the rows that the first one
// scored.
//
// Threads: pure functions.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/scores/score_file.h"

namespace millrace::scores {

/// A head of both evaluations.
struct PairedHead {
    std::string name;
    std::int64_t rows = 0;  ///< paired, with the same label in both
    std::int64_t otherLabels =
        0;  ///< paired, but with another label, or with a label in only one of them: excluded
    double first = 0, second = 0;  ///< mean log loss of these rows, for each; NaN without rows
    double difference = 0;         ///< mean over rows of the second minus the first
    double share = 0;              ///< rows: of the larger set of labelled rows
};

struct Pairing {
    std::int64_t rows = 0;  ///< rows of both, by key
    double share = 0;  ///< of the rows of the larger one; for samples, of the keys that both kept
    bool isSample = false;  ///< one of them kept only its lowest keys
    std::vector<PairedHead> heads;
};

Pairing pairScores(const Scores& first, const Scores& second);

}  // namespace millrace::scores

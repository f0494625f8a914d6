#pragma once
// How far runs that differ in `batch.seed` alone are apart, and whether other runs are further
// apart than that. Used by comparisons.
//
// Runs are put into sides: those of a side differ in nothing but their seed. The noise is the
// standard deviation within the sides. Pure. Threads: any.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/values/inspection.h"
#include "backend/values/run_detail.h"

namespace millrace::session {

struct SeedSide {
    std::vector<std::string> runs;  ///< one for each seed, at least one
    /// Mean log loss minus that of the first run's side, and its standard error. Both are 0 for
    /// that side itself.
    double difference = 0, standardError = 0;
};

/// For one head, from the rows that each run and the first run both scored.
struct SeedNoise {
    std::string head;
    double deviation = 0;         ///< standard deviation of the log loss within the sides
    std::vector<SeedSide> sides;  ///< the first run's side comes first
};

/// By head; without heads for which no side has the scores of two seeds. `pairs`: of the first run
/// with the others. Runs without scores, and those that read other files than the first, are left
/// out.
std::vector<SeedNoise> seedNoiseOf(const std::vector<const values::RunDetail*>& runs,
                                   const values::PairReply& pairs);

/// "Seed noise of liked: ...": a sentence for each head's noise and for each further side, or one
/// that says why the noise is unknown.
std::vector<std::string> seedRemarks(const std::vector<const values::RunDetail*>& runs,
                                     const values::PairReply& pairs);

}  // namespace millrace::session

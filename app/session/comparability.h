#pragma once
// Decides which conclusions the figures of two runs allow. Used by the command line and the
// console.
//
// One run per side shows how far two runs are apart, not whether another seed would reverse it. So
// nothing here calls a figure better or worse; several seeds a side give the noise.
// Pure. Threads: any.
#include <map>
#include <string>
#include <vector>

#include "backend/values/inspection.h"
#include "backend/values/run_detail.h"

namespace millrace::session {

/// A run's resolved spec, key by key.
using Params = std::map<std::string, std::string>;

/// Whether the runs learn to predict different things: an expression or condition of `labels`
/// differs. Evaluation judges both by their base's label. Returns false if a side has no label.
bool hasOtherLabels(const Params& run, const Params& first);
/// Returns true if only `batch.seed` differs, apart from the names of run and variation and from
/// counted vocabularies: a seed changes the rows of sampled steps, and so the values that are
/// counted.
bool differsInSeedOnly(const Params& run, const Params& first);
/// Whether not more than `batch.seed` differs. Returns false if a side has no params.
bool isOfOneSide(const Params& run, const Params& first);

// How far runs that differ in batch.seed alone are apart, and whether other runs are further apart
// than that. Runs are put into sides: those of a side differ in nothing but their seed. The noise
// is the standard deviation within the sides.

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

/// Returns caveats for comparing runs with the first of them, one sentence each.
/// Empty for fewer than two runs. `pairs`: of the first run with the others; the files that differ
/// are named.
std::vector<std::string> remarksOn(const std::vector<const values::RunDetail*>& runs,
                                   const values::PairReply& pairs);

}  // namespace millrace::session

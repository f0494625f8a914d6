#pragma once
// Decides which conclusions the figures of two runs allow. Used by the command line and the
// console.
//
// One run per side shows how far two runs are apart, not whether another seed would reverse it. So
// nothing here calls a figure better or worse; several seeds a side give the noise (seed_noise.h).
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
/// Whether only `batch.seed` differs, apart from the names of run and variation.
bool differsInSeedOnly(const Params& run, const Params& first);
/// Whether not more than `batch.seed` differs. Returns false if a side has no params.
bool isOfOneSide(const Params& run, const Params& first);

/// Returns caveats for comparing runs with the first of them, one sentence each.
/// Empty for fewer than two runs. `pairs`: of the first run with the others; the files that differ
/// are named.
std::vector<std::string> remarksOn(const std::vector<const values::RunDetail*>& runs,
                                   const values::PairReply& pairs);

}  // namespace millrace::session

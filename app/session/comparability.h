#pragma once
// What may be said of the difference between two runs' figures: the same for the command line and
// the console.
//
// One run a side says how far two runs are apart, not whether another seed would turn it round; so
// nothing here calls a figure better or worse. Pure. Threads: any.
#include <map>
#include <string>
#include <vector>

#include "backend/values/run_detail.h"

namespace millrace::session {

/// A run's resolved spec, key by key.
using Params = std::map<std::string, std::string>;

/// Whether the runs learn to predict different things: an expression or condition of `labels`
/// differs. Evaluation judges both by the label of their base. False where a side has no params.
bool hasOtherLabels(const Params& run, const Params& first);
/// Whether `batch.seed` is all that differs, the names of run and variation aside.
bool differsInSeedOnly(const Params& run, const Params& first);

/// What a reader has to know of runs side by side, against the first of them, a sentence each.
/// Empty for fewer than two runs.
std::vector<std::string> remarksOn(const std::vector<const values::RunDetail*>& runs);

}  // namespace millrace::session

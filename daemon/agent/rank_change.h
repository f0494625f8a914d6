#pragma once
// A run that goes on with another number of ranks: its spec changes with it, its stream does not.
//
// Pure. Failure: kInvalidArgument, with the numbers that would do.
#include <string>

#include "backend/runs/run_table.h"

namespace millrace::agent {

/// The run's spec with other ranks; nothing where they are as they were (`ranks` 0).
Result<runs::MaybeSpecChange> withRanks(const runs::RunRecord& run, int ranks);
/// "goes on with 4 ranks; before: 2", for the run's history.
std::string describeChange(const runs::RunRecord& run, int ranks);

}  // namespace millrace::agent

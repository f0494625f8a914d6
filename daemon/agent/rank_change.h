#pragma once
// A run that goes on with another number of ranks, or of nodes for them: its spec changes with it,
// its stream does not.
//
// Pure. Failure: kInvalidArgument, with the numbers that would do.
#include <string>

#include "backend/runs/run_table.h"
#include "backend/values/rank_wish.h"

namespace millrace::agent {

/// The run's spec with other ranks and nodes; nothing where they are as they were. Fewer ranks than
/// its nodes are on one.
Result<runs::MaybeSpecChange> withRanks(const runs::RunRecord& run, const values::RankWish& wish);
/// "goes on with 4 ranks on 2 nodes; before: 2", for the run's history.
std::string describeChange(const runs::RunRecord& run, const runs::SpecChange& change);

}  // namespace millrace::agent

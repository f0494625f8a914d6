#pragma once
// Changes the number of ranks, or of their nodes, of a run that is resumed: its spec changes with
// it, its stream does not. Used by RunService.
//
// Pure. Failure: kInvalidArgument, with the numbers that are possible.
#include <string>

#include "backend/runs/run_table.h"
#include "backend/values/rank_count.h"

namespace millrace::agent {

/// Returns the run's spec with other ranks and nodes; nothing if they are unchanged. If there are
/// fewer ranks than nodes, all ranks are on one node.
Result<runs::MaybeSpecChange> withRanks(const runs::RunRecord& run,
                                        const values::RankCount& wanted);
/// Returns "goes on with 4 ranks on 2 nodes; before: 2", for the run's history.
std::string describeChange(const runs::RunRecord& run, const runs::SpecChange& change);

}  // namespace millrace::agent

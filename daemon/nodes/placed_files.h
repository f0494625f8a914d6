#pragma once
// The files of an attempt's part on this node: what its relay and its ranks are given.
//
//   RUNS/<run>/a<attempt>/{job.json, data.join, part.json, rank.sock, feed.sock, <worker>/}
//
// Threads: values. Failure: an error names the path.
#include <string>

#include "backend/core/status.h"
#include "backend/engines/engine.h"
#include "daemon/agent/crew/part_nodes.h"

namespace millrace::nodes {

/// job.json and part.json where they are not there yet, and the join file, which may be another one
/// now. `interface`: of this node that faces the head, "": not known.
Status layOutPart(const std::string& runsDir, const agent::PartPlacement& placement,
                  const std::string& interface);
/// The gang of a part that was laid out.
Result<engines::Gang> partGangOf(const std::string& runsDir, const agent::PartName& name,
                                 const std::string& binDir);
/// Whether this node sees the directory of checkpoints that the head sees; a sentence for the run's
/// owner.
Status checkProbe(const agent::PartPlacement& placement);

}  // namespace millrace::nodes

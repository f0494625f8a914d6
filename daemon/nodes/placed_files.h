#pragma once
// The files of a gang that was placed on this node: what its workers are given.
//
//   RUNS/<run>/a<attempt>/{placed.<gang>.json, job.json, data.join, rank.sock, feed.sock,
//   checkpoints/, <worker>/}
//
// Threads: values. Failure: an error names the path.
#include <string>

#include "backend/core/status.h"
#include "backend/engines/engine.h"
#include "daemon/agent/crew/nodes.h"

namespace millrace::nodes {

/// The gang and its job where they are not there yet, and the join file, which may be another one
/// now. `interface`: of this node that faces the head, "": not known.
Status layOut(const std::string& runsDir, const agent::Placement& placement,
              const std::string& interface);
/// A gang that was laid out, as it is to be started here.
Result<engines::Gang> placedGang(const std::string& runsDir, const std::string& key,
                                 const std::string& binDir);
/// Of a gang that has the feed that leads: with what others join it, once it listens; "": not yet,
/// or it leads none.
std::string joinFileOfLead(const std::string& runsDir, const std::string& key);
/// Whether this node sees the directory of checkpoints that the head sees. kFailedPrecondition: it
/// does not, with a sentence for the run's owner; another error may pass (mayPass()).
Status checkProbe(const agent::Placement& placement);

}  // namespace millrace::nodes

#pragma once
// The files of a gang that was placed on this node, for its workers. Used by Slot.
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

/// Writes the gang and its job if they do not exist yet, and the join file, which may have changed.
/// `interface`: of this node, facing the head; "": not known.
Status layOut(const std::string& runsDir, const agent::Placement& placement,
              const std::string& interface);
/// Returns a gang that was laid out, ready to start here.
Result<engines::Gang> placedGang(const std::string& runsDir, const std::string& key,
                                 const std::string& binDir, const std::string& node);
/// For a gang with the feed that leads: the text of the file with which others join it, once it
/// listens; "": it does not listen yet, or the gang does not lead.
std::string joinFileOfLead(const std::string& runsDir, const std::string& key);
/// Checks that this node sees the same directory of checkpoints as the head. kFailedPrecondition:
/// it does not, with a sentence for the run's owner; another error may pass (mayPass()).
Status checkProbe(const agent::Placement& placement);

}  // namespace millrace::nodes

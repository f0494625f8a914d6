#pragma once
// The resources of its node that an agent offers, and the address at which other nodes reach it.
// Used by Slot.
//
// Threads: values. Failure: a sentence; "" for an address that is not known.
#include <string>

#include "backend/core/status.h"
#include "daemon/agent/membership/node_table.h"
#include "daemon/config/daemon_config.h"

namespace millrace::nodes {

/// Returns the name of --name, else of the join file; "": the host's.
std::string nodeName(const config::DaemonConfig& config);
/// Limits `info` to the share that CUDA_VISIBLE_DEVICES and the command line allow.
Status takeShare(const config::NodeShare& share, values::NodeInfo& info);
/// Returns the address of --address, else the address that faces the head; "": the head is this
/// machine.
std::string ownAddress(const config::DaemonConfig& config);
/// Returns the interface with that address.
std::string ownInterface(const config::DaemonConfig& config);

}  // namespace millrace::nodes

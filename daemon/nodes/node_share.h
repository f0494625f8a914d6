#pragma once
// What an agent gives of its node, and where other nodes reach it.
//
// Threads: values. Failure: a sentence; "" for a place that is not known.
#include <string>

#include "backend/core/status.h"
#include "daemon/agent/node_table.h"
#include "daemon/config/daemon_config.h"

namespace millrace::nodes {

/// As --name says, else the name that the join file is for; "": the host's.
std::string nodeName(const config::DaemonConfig& config);
/// Less than the machine has to offer where CUDA_VISIBLE_DEVICES or the command line says so.
Status takeShare(const config::NodeShare& share, values::NodeInfo& info);
/// As --address says, else the address that faces the head; "": the head is this machine.
std::string ownAddress(const config::DaemonConfig& config);
/// The interface with that address.
std::string ownInterface(const config::DaemonConfig& config);

}  // namespace millrace::nodes

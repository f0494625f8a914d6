#pragma once
// AgentListener: the head's listener for agents.
//
// It translates between messages and the NodeTable, which decides. STATE/nodes.door keeps address,
// certificate and its key, so that agents reach the next daemon with their existing files.
// STATE/nodes.join lets agents attach under any free name; the next daemon listens at the address
// in it even without --nodes-listen, and `down` removes it. JoinTokens has the files of invited
// nodes. A thread of its own processes reports and writes logs, so that no node looks silent
// because of a slow disk. Threads: gRPC's, and that one ("agents"); made and ended by one owner.
// Owns: the listening server. Bounded: one report per connection waits. Failure: open() returns a
// sentence with the address; an agent is refused with a status that is in both logs.
#include <functional>
#include <memory>
#include <string>

#include "backend/core/clock.h"
#include "backend/core/status.h"
#include "daemon/agent/membership/join_tokens.h"
#include "daemon/agent/membership/node_table.h"
#include "daemon/config/daemon_config.h"
#include "daemon/nodes/checkpoint_transfers.h"

namespace millrace::nodes {

/// Returns whether an earlier daemon listened for agents that have not been told to end. Fills in
/// its address if `config` has none.
bool listenAsBefore(config::DaemonConfig& config);

class AgentListener {
 public:
    /// `table`, `tokens` and `clock` outlive it. `buildId`: agents of another build are refused.
    static Result<std::unique_ptr<AgentListener>> open(const config::DaemonConfig& config,
                                                       std::string buildId, agent::NodeTable& table,
                                                       agent::JoinTokens& tokens,
                                                       const Clock& clock, KeepCheckpoint keep);
    /// Ends the connections; agents reconnect as long as their workers run.
    virtual ~AgentListener() = default;
    /// "unix:PATH" or "HOST:PORT", as in join files.
    virtual const std::string& address() const = 0;
};

}  // namespace millrace::nodes

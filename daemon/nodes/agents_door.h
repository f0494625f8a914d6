#pragma once
// AgentsDoor: the head's end of the agents' connections.
//
// Translates between messages and the NodeTable, which decides. STATE/nodes.door keeps address,
// certificate and its key, so that agents find the next daemon with the files that they have.
// STATE/nodes.join lets agents in under any free name; the next daemon listens at the address in it
// even without --nodes-listen, and `down` removes it. JoinTokens has the files of invited nodes. A
// thread of its own processes reports and writes logs, so that a slow disk makes no node look
// silent. Threads: gRPC's, and
// that one ("agents"); made and ended by one owner. Owns: the listening server. Bounded: one report
// of a connection waits. Failure: of open(), a sentence with the address; of an agent, the status
// that it is refused with, in both logs.
#include <functional>
#include <memory>
#include <string>

#include "backend/core/clock.h"
#include "backend/core/status.h"
#include "daemon/agent/join_tokens.h"
#include "daemon/agent/node_table.h"
#include "daemon/config/daemon_config.h"
#include "daemon/nodes/checkpoint_desk.h"

namespace millrace::nodes {

/// Whether a daemon of before listened for agents that have not been told to end. Fills in where,
/// if `config` does not say.
bool listenAsBefore(config::DaemonConfig& config);

class AgentsDoor {
 public:
    /// `table`, `tokens` and `clock` outlive it. `buildId`: agents of another build are refused.
    static Result<std::unique_ptr<AgentsDoor>> open(const config::DaemonConfig& config,
                                                    std::string buildId, agent::NodeTable& table,
                                                    agent::JoinTokens& tokens, const Clock& clock,
                                                    KeepCheckpoint keep);
    /// Ends the connections; agents come again as long as their workers go.
    ~AgentsDoor();
    /// "unix:PATH" or "HOST:PORT", as in join files.
    const std::string& address() const;

 private:
    class Impl;
    explicit AgentsDoor(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::nodes

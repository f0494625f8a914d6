#pragma once
// AgentsDoor: the head's end of the agents' connections.
//
// Translates between messages and the NodeTable, which decides. STATE/nodes.door keeps address,
// certificate and its key, so that agents find the next daemon with the files that they have.
// STATE/nodes.join lets agents in under any free name; the next daemon listens where it says, also
// where nobody told it to, and a `down` removes it. JoinTokens has the files of single nodes.
// Reports are read, and logs written, on a thread of its own: a disk that is slow makes no node
// look silent, neither those whose reports wait nor those whose reports come. Threads: gRPC's, and
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
    /// What agents dial: "unix:PATH" or "HOST:PORT".
    const std::string& address() const;

 private:
    class Impl;
    explicit AgentsDoor(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::nodes

#pragma once
// HostAgents: keeps agents running on the hosts that the configuration names. It starts missing
// agents over the system's ssh, and retries with growing pauses; the node shows why a start fails.
//
// An agent goes into the background on its host and ends when the head tells it to, so it needs no
// permanent ssh. ssh never prompts (BatchMode); the join file is sent over its standard input.
// Threads: one per host ("host-agent"), which looks at its node twice a second; made and ended by
// one owner. Owns: the running ssh, which ends with its thread. Bounded: one ssh per host, a minute
// each. Failure: a failed start is its node's trouble, and is logged once for each reason.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/core/clock.h"
#include "backend/filesystem/paths.h"
#include "daemon/agent/membership/join_tokens.h"
#include "daemon/agent/membership/node_table.h"

namespace millrace::nodes {

struct HostAgentsOptions {
    std::vector<Address> hosts;  ///< for ssh; a node's name is its host's
    std::string sshConfig;       ///< instead of ~/.ssh/config; "": that file
    std::string sshProgram = "ssh";
    bool mayComeBack = false;  ///< agents of an earlier daemon, without a start
};

class HostAgents {
 public:
    /// `table`, `tokens` and `clock` outlive it. Each start invites its host, so the head must
    /// already serve.
    HostAgents(HostAgentsOptions options, agent::NodeTable& table, agent::JoinTokens& tokens,
               const Clock& clock);
    /// Agents keep running.
    ~HostAgents();

 private:
    void keep(const Address& host, const std::stop_token& stop);
    Status startOn(const Address& host, const std::stop_token& stop) const;

    const HostAgentsOptions options_;
    agent::NodeTable& table_;
    agent::JoinTokens& tokens_;
    const Clock& clock_;
    std::vector<std::jthread> threads_;
};

}  // namespace millrace::nodes

#pragma once
// HostAgents: keeps agents on the hosts that the configuration names. One that is not there is
// started over the system's ssh, again and again, each time later; its node shows why it fails.
//
// An agent goes to the background on its host and ends by the head's word: it needs no ssh that
// lives. ssh asks nobody (BatchMode); the join file goes over its standard input. Threads: one a
// host ("host-agent"), which looks at its node twice a second; made and ended by one owner. Owns:
// the ssh that runs, which dies with its thread. Bounded: one ssh a host, a minute each. Failure:
// of a start, as its node's trouble and once a reason in the log.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/core/clock.h"
#include "backend/core/mutex.h"
#include "backend/core/paths.h"
#include "daemon/agent/join_tokens.h"
#include "daemon/agent/node_table.h"

namespace millrace::nodes {

struct HostAgentsOptions {
    std::vector<Address> hosts;  ///< for ssh; a node's name is its host's
    std::string sshConfig;       ///< in place of ~/.ssh/config; "": that
    std::string sshProgram = "ssh";
    bool mayComeBack = false;  ///< agents of an earlier daemon, by themselves
};

class HostAgents {
 public:
    /// `table`, `tokens` and `clock` outlive it. Each start invites its host: the head serves.
    HostAgents(HostAgentsOptions options, agent::NodeTable& table, agent::JoinTokens& tokens,
               const Clock& clock);
    /// Agents stay.
    ~HostAgents();

 private:
    void keep(const Address& host, const std::stop_token& stop);
    Status startOn(const Address& host, const std::stop_token& stop) const;
    void wait();

    const HostAgentsOptions options_;
    agent::NodeTable& table_;
    agent::JoinTokens& tokens_;
    const Clock& clock_;
    Mutex mutex_;
    CondVar wake_;
    bool isEnding_ MR_GUARDED_BY(mutex_) = false;
    std::vector<std::jthread> threads_;
};

}  // namespace millrace::nodes

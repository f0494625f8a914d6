#pragma once
// AgentReports: checks the agents' reports and passes them to the NodeTable, independent of the
// transport. Used by AgentListener.
//
// Threads: any, one report of a session at a time. Failure: the session must be closed with the
// error; the agent reconnects and reports everything again.
#include <memory>
#include <string>

#include "backend/core/clock.h"
#include "daemon/agent/membership/join_tokens.h"
#include "daemon/agent/membership/node_table.h"
#include "millrace/v1/agent.pb.h"

namespace millrace::nodes {

class AgentReports {
 public:
    /// `table`, `tokens` and `clock` outlive it. Logs of nodes are written below `runsDir`; agents
    /// of another build than `buildId` are refused.
    AgentReports(std::string runsDir, std::string buildId, agent::NodeTable& table,
                 agent::JoinTokens& tokens, const Clock& clock)
        : runsDir_(std::move(runsDir)),
          buildId_(std::move(buildId)),
          table_(table),
          tokens_(tokens),
          clock_(clock) {}

    /// Takes the first report of a session and attaches the node.
    Status attach(const std::shared_ptr<agent::NodeSession>& session,
                  const v1::AgentReport& report);
    /// Takes a later report.
    Status heard(const agent::NodeSession& session, const v1::AgentReport& report);

 private:
    Status admits(const v1::Attachment& attachment) const;
    Status keep(const agent::NodeSession& session, const v1::LogPart& part);
    Status keepJoinFile(const agent::NodeSession& session, const v1::GangReport& gang) const;

    const std::string runsDir_, buildId_;
    agent::NodeTable& table_;
    agent::JoinTokens& tokens_;
    const Clock& clock_;
};

}  // namespace millrace::nodes

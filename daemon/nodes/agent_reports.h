#pragma once
// AgentReports: what agents say, checked and taken to the NodeTable, whatever carries it.
//
// Threads: any, one report of a session at a time. Failure: an error is what the session is to be
// closed with; the agent comes again and says it anew.
#include <memory>
#include <string>

#include "backend/core/clock.h"
#include "daemon/agent/join_tokens.h"
#include "daemon/agent/node_table.h"
#include "millrace/v1/agent.pb.h"

namespace millrace::nodes {

class AgentReports {
 public:
    /// `table`, `tokens` and `clock` outlive it. Logs of nodes go below `runsDir`; agents of
    /// another build than `buildId` are refused.
    AgentReports(std::string runsDir, std::string buildId, agent::NodeTable& table,
                 agent::JoinTokens& tokens, const Clock& clock)
        : runsDir_(std::move(runsDir)),
          buildId_(std::move(buildId)),
          table_(table),
          tokens_(tokens),
          clock_(clock) {}

    /// The first report of a session, which lets it in.
    Status attach(const std::shared_ptr<agent::NodeSession>& session,
                  const v1::AgentReport& report);
    /// A later one.
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

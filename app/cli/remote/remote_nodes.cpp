// `millrace up --hosts a,b`: starts agents of nodes on other hosts over ssh.
#include "app/cli/remote/remote_commands.h"
#include "backend/core/exit_codes.h"
#include "backend/system/agent_script.h"

namespace millrace::cli {
namespace {

constexpr std::chrono::milliseconds kAgentTimeout{60'000};

}  // namespace

Status startAgentThere(CliContext& context, const Address& address, const std::string& name,
                       const std::string& joinFile) {
    ASSIGN_OR_RETURN(const auto connection, context.hosts->at(address).connection());
    ASSIGN_OR_RETURN(const SubprocessOutput output,
                     connection->run(agentScript(name, joinFile), kAgentTimeout));
    return output.exitCode == 0 || output.exitCode == kExitServed
               ? okStatus()
               : failedPrecondition(address.text(), ": the agent did not start there: ",
                                    output.err.substr(0, output.err.find('\n')));
}

}  // namespace millrace::cli

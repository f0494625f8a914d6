// `millrace up --hosts a,b`: agents of nodes on other hosts, started there over ssh.
#include "app/cli/remote/remote_commands.h"
#include "app/ssh/remote_look.h"
#include "backend/core/text.h"

namespace millrace::cli {
namespace {

constexpr std::chrono::milliseconds kAgentTimeout{60'000};

// The join file comes on the script's input: it is in no command line.
std::string agentScript(const std::string& program, const std::string& name,
                        const std::string& joinFile) {
    return strCat(
        "set -e\numask 077\nplace=\"${XDG_STATE_HOME:-$HOME/.local/state}/millrace-node\"\n"
        "mkdir -p \"$place\"\ncat > \"$place/nodes.join.new\" <<'END_OF_THE_JOIN_FILE'\n",
        joinFile, "END_OF_THE_JOIN_FILE\nmv \"$place/nodes.join.new\" \"$place/nodes.join\"\n",
        "exec ", ssh::shellWord(program), " --slot --join \"$place/nodes.join\" --name ",
        ssh::shellWord(name), " --state-dir \"$place\"\n");
}

}  // namespace

Status startAgentThere(CliContext& context, const Address& address, const std::string& name,
                       const std::string& joinFile) {
    ssh::Host& host = context.hosts->at(address);
    ASSIGN_OR_RETURN(const auto connection, host.connection());
    ASSIGN_OR_RETURN(const ssh::RemoteFacts facts, host.look(""));
    if (facts.program.empty()) {
        return failedPrecondition("millrace is not installed on ", address.text(), " for ",
                                  facts.user, ": 'millrace up --host ", address.text(),
                                  " --install' brings the programs of this version");
    }
    const std::string program = facts.program.substr(0, facts.program.rfind('/') + 1) + "millraced";
    ASSIGN_OR_RETURN(const SubprocessOutput output,
                     connection->run(agentScript(program, name, joinFile), kAgentTimeout));
    return output.exitCode == 0
               ? okStatus()
               : failedPrecondition(address.text(), ": the agent did not start there: ",
                                    output.err.substr(0, output.err.find('\n')));
}

}  // namespace millrace::cli

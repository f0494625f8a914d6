#pragma once
// How the agent of a node is started on another host: a script for sh there, over ssh.
//
// Pure. The command line and the daemon start agents, each with its own ssh; what happens there is
// the same.
#include <string>
#include <string_view>

namespace millrace {

/// `text` as one word of a POSIX shell.
std::string shellWord(std::string_view text);

/// Keeps `joinFile` (the text of a head's nodes.join) there for its user alone and starts the agent
/// of node `name`, which goes to the background. To be read from sh's standard input ("sh -s"): the
/// token is in no command line. Its last line on stderr says why it failed.
std::string agentScript(std::string_view name, std::string_view joinFile);

}  // namespace millrace

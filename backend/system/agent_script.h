#pragma once
// The script that starts a node's agent on another host, for sh over ssh.
//
// Pure. Both the command line and the daemon start agents, each with its own ssh; the remote part
// is the same.
#include <string>
#include <string_view>

namespace millrace {

/// `text` quoted as one word of a POSIX shell.
std::string shellWord(std::string_view text);

/// Stores `joinFile` (the text of a head's nodes.join), readable only by that user, and starts the
/// agent of node `name` in the background. Pass it on sh's standard input ("sh -s"), so that the
/// token is in no command line. On failure, its last line on stderr has the reason.
std::string agentScript(std::string_view name, std::string_view joinFile);

}  // namespace millrace

#pragma once
// What stands on the other side: a script for sh there, and what it said.
//
// The script is read from sh's standard input ("sh -s"), so that it passes through any login shell.
// Pure. Failure: output without the script's first line is kFailedPrecondition with what came
// instead: a host that runs something else (a jump shell, a menu, a forced command).
#include <string>
#include <string_view>

#include "backend/core/status.h"
#include "backend/system/agent_script.h"

namespace millrace::ssh {

/// The command that reads a script.
inline constexpr std::string_view kReadScript = "sh -s";

struct RemoteFacts {
    std::string user, home, system;  ///< "alice", "/home/alice", "Linux x86_64"
    std::string program;             ///< path of millrace; "" not found
    std::string version;             ///< of that program
    std::string socket;              ///< where its daemon listens, or would
    bool hasSocket = false;          ///< there is one
    std::string owner;               ///< who owns it, or the directory that it cannot be seen in
};

using millrace::shellWord;

/// Prints what it finds, then waits until its input ends: as long as it does, the connection lives.
/// `socket`: the daemon's, "" to be found.
std::string holdScript(std::string_view socket);
/// The same without waiting.
std::string lookScript(std::string_view socket);

/// The last line of a look, behind which parseFacts() finds it whole.
bool isWholeLook(std::string_view output);
Result<RemoteFacts> parseFacts(std::string_view output, std::string_view host);

/// Why no daemon answers, and what to do.
Status noDaemonThere(const RemoteFacts& facts, std::string_view host);

}  // namespace millrace::ssh

#pragma once
// Inspects a host: a script for sh there, and the parser of its output.
//
// sh reads the script from its standard input ("sh -s"), so that it passes through any login shell.
// Pure. Failure: output without the script's first line is kFailedPrecondition and quotes that
// output: the host runs something else (a jump shell, a menu, a forced command).
#include <string>
#include <string_view>

#include "backend/core/status.h"
#include "backend/system/agent_script.h"

namespace millrace::ssh {

/// The command that reads a script.
inline constexpr std::string_view kReadScript = "sh -s";

struct RemoteHostInfo {
    std::string user, home, system;  ///< "alice", "/home/alice", "Linux x86_64"
    std::string program;             ///< path of millrace; "" not found
    std::string version;             ///< of that program
    std::string socket;              ///< where its daemon listens, or would
    bool hasSocket = false;          ///< the socket exists
    std::string owner;               ///< owner of the socket, or of the directory that hides it
};

using millrace::shellWord;

/// Prints what it finds, then waits until its input ends, which keeps the connection alive.
/// `socket`: the daemon's, "" to find it.
std::string holdScript(std::string_view socket);
/// The same without waiting.
std::string lookScript(std::string_view socket);

/// Whether the output includes a look's last line; parseFacts() can then parse all of it.
bool isWholeLook(std::string_view output);
Result<RemoteHostInfo> parseFacts(std::string_view output, std::string_view host);

/// Explains why no daemon answers, and what to do.
Status noDaemonThere(const RemoteHostInfo& facts, std::string_view host);

}  // namespace millrace::ssh

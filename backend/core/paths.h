#pragma once
// Where Millrace keeps its things for this user (XDG), and how a daemon's address is written.
#include <string>
#include <vector>

#include "backend/core/status.h"

namespace millrace {

/// $XDG_RUNTIME_DIR/millrace, else /tmp/millrace-UID. Not made here.
std::string runtimeDirectory();
/// $XDG_STATE_HOME/millrace, else ~/.local/state/millrace. Not made here. kFailedPrecondition
/// without a HOME: nothing of ours is kept where anybody could have put something first.
Result<std::string> stateDirectory();
/// $XDG_CONFIG_HOME/millrace, else ~/.config/millrace. As stateDirectory().
Result<std::string> configDirectory();
/// $XDG_CACHE_HOME/millrace/PART, else ~/.cache/millrace/PART, with a directory around it that only
/// this user can write to. "" when there is none (no HOME, another's directory): then nothing is
/// cached.
std::string cacheDirectory(std::string_view part);
/// runtimeDirectory()/millraced.sock: where the daemon listens unless told otherwise.
std::string defaultSocketPath();
/// Where daemons of this user may listen that were started in other sessions, with and without the
/// session's XDG_RUNTIME_DIR. The first is defaultSocketPath(); the only one where XDG_RUNTIME_DIR
/// is a directory of the user's choice.
std::vector<std::string> usualSocketPaths();
/// The directory of this process's executable, where its sibling programs are.
std::string programDirectory();
/// That executable.
std::string programPath();

/// "unix:PATH", "HOST:PORT" or "ssh://[USER@]HOST[:PORT][/SOCKET]"; an absolute path is taken as a
/// unix socket too. An IPv6 address before a port has brackets: "[fd00::1]:7400".
struct Address {
    std::string unixPath;   ///< set for a unix socket; with isSsh: the socket there, "" to be found
    std::string host;       ///< without brackets; with isSsh also an alias of ~/.ssh/config
    int port = 0;           ///< with isSsh 0: as ssh is configured
    std::string user = {};  ///< with isSsh only; "": as ssh is configured
    bool isSsh = false;
    bool isUnix() const { return !isSsh && !unixPath.empty(); }
    bool isLoopback() const;
    std::string text() const;
    static Result<Address> parse(std::string_view text);
    /// "HOST" or "HOST:PORT"; port 0 where none is named. "fd00::1" without brackets is a host.
    static Result<Address> parseHost(std::string_view text);
};

}  // namespace millrace

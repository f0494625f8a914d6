#pragma once
// Millrace's directories for this user (XDG), and the syntax of a daemon's address.
#include <string>
#include <vector>

#include "backend/core/status.h"

namespace millrace {

/// $XDG_RUNTIME_DIR/millrace, else /tmp/millrace-UID. Does not create it.
std::string runtimeDirectory();
/// $XDG_STATE_HOME/millrace, else ~/.local/state/millrace. Does not create it. kFailedPrecondition
/// without a HOME: never uses a place where another user could have put something first.
Result<std::string> stateDirectory();
/// $XDG_CONFIG_HOME/millrace, else ~/.config/millrace. As stateDirectory().
Result<std::string> configDirectory();
/// $XDG_CACHE_HOME/millrace/PART, else ~/.cache/millrace/PART; its parent must be a directory that
/// only this user can write to. "" if there is none (no HOME, another user's directory): nothing is
/// cached then.
std::string cacheDirectory(std::string_view part);
/// runtimeDirectory()/millraced.sock: the daemon's default socket.
std::string defaultSocketPath();
/// Sockets of daemons that this user may have started in other sessions, with and without the
/// session's XDG_RUNTIME_DIR. The first is defaultSocketPath(), and the only one if the user chose
/// XDG_RUNTIME_DIR.
std::vector<std::string> usualSocketPaths();
/// The directory of this process's executable, where its sibling programs are.
std::string programDirectory();
/// The path of that executable.
std::string programPath();

/// "unix:PATH", "HOST:PORT" or "ssh://[USER@]HOST[:PORT][/SOCKET]"; an absolute path also counts as
/// a unix socket. An IPv6 address before a port needs brackets: "[fd00::1]:7400".
struct Address {
    std::string unixPath;   ///< set for a unix socket; with isSsh: the remote socket, "" to search
                            ///< for it
    std::string host;       ///< without brackets; with isSsh also an alias from ~/.ssh/config
    int port = 0;           ///< with isSsh 0: as ssh is configured
    std::string user = {};  ///< with isSsh only; "": as ssh is configured
    bool isSsh = false;
    bool isUnix() const { return !isSsh && !unixPath.empty(); }
    bool isLoopback() const;
    std::string text() const;
    static Result<Address> parse(std::string_view text);
    /// Parses "HOST" or "HOST:PORT"; port 0 if none is given. "fd00::1" without brackets is a host.
    static Result<Address> parseHost(std::string_view text);
};

}  // namespace millrace

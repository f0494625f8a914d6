#pragma once
// Where Millrace keeps its things for this user (XDG), and how a daemon's address is written.
#include <string>

#include "backend/core/status.h"

namespace millrace {

/// $XDG_RUNTIME_DIR/millrace, else /tmp/millrace-UID. Not made here.
std::string runtimeDirectory();
/// $XDG_STATE_HOME/millrace, else ~/.local/state/millrace. Not made here. kFailedPrecondition
/// without a HOME: nothing of ours is kept where anybody could have put something first.
Result<std::string> stateDirectory();
/// $XDG_CACHE_HOME/millrace/PART, else ~/.cache/millrace/PART, with a directory around it that only
/// this user can write to. "" when there is none (no HOME, another's directory): then nothing is
/// cached.
std::string cacheDirectory(std::string_view part);
/// runtimeDirectory()/millraced.sock: where the daemon listens unless told otherwise.
std::string defaultSocketPath();
/// The directory of this process's executable, where its sibling programs are.
std::string programDirectory();

/// "unix:PATH" or "HOST:PORT"; an absolute path is taken as a unix socket too.
struct Address {
    std::string unixPath;  ///< set for a unix socket
    std::string host;
    int port = 0;
    bool isUnix() const { return !unixPath.empty(); }
    bool isLoopback() const;
    std::string text() const;
    static Result<Address> parse(std::string_view text);
};

}  // namespace millrace

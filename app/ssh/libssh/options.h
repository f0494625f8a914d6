#pragma once
// Parses the command line of `millrace-ssh`: the part of ssh(1)'s that Millrace uses, and no more.
//
// Threads: any. Failure: kInvalidArgument with a sentence; an option of ssh that this program does
// not support is rejected, never ignored.
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace::libssh {

struct KeyValue {
    std::string key;  ///< in lower case
    std::string value;
};

enum class Mode {
    kVersion,
    kMaster,   ///< connects, runs the command and serves others on the control socket
    kForward,  ///< asks the master for a forwarded socket
    kCheck,    ///< asks the master whether it is there
    kExit,     ///< asks the master to end
    kExec,     ///< runs a command through the master
};

struct Invocation {
    Mode mode = Mode::kExec;
    std::string controlPath;
    std::string configFile;  ///< empty: the user's and the system's
    std::string user;        ///< empty: not given
    std::string host;        ///< as given: a name or an alias
    int port = 0;            ///< 0: not given
    std::vector<KeyValue> options;
    std::string command;
    std::string local, remote;  ///< of kForward
};

/// `arguments` without the program's name.
Result<Invocation> parseInvocation(const std::vector<std::string>& arguments);

/// Whether parseOption() knows the key, which is in lower case.
bool isOption(std::string_view key);
/// "key=value" or "key value". Rejects unknown keys, and values that ask for unsupported behaviour.
Result<KeyValue> parseOption(std::string_view text);

/// "[USER@]HOST[:PORT]", "[USER@][HOST]:PORT" and the same after "ssh://".
struct Destination {
    std::string user, host;
    int port = 0;
};
Result<Destination> parseDestination(std::string_view text, bool hasPort);

/// Whether a name may be looked up and passed to another program: not an option, no character that
/// is special to a shell.
bool isHostName(std::string_view name);
bool isUserName(std::string_view name);
/// 1..65535, or 0 for a text that is not a port.
int parsePort(std::string_view text);

std::string lowerCase(std::string_view text);

}  // namespace millrace::libssh

#pragma once
// Settings for one host: from the command line, then the configuration's lines, then ssh(1)'s
// defaults. The first that sets a value wins.
//
// Threads: any. Failure: kInvalidArgument with the option that is wrong.
#include <chrono>
#include <string>
#include <vector>

#include "app/ssh/libssh/config_file.h"
#include "app/ssh/libssh/options.h"

namespace millrace::libssh {

enum class StrictHostKeys { kAsk, kYes, kAcceptNew, kNo };

struct Settings {
    std::string alias;        ///< the host as given
    std::string hostName;     ///< the name that is looked up
    std::string hostKeyName;  ///< HostKeyAlias; empty: hostName (and the port)
    std::string user;
    int port = 22;
    int addressFamily = 0;           ///< AF_UNSPEC, AF_INET, AF_INET6
    std::string proxyCommand;        ///< a command for the shell; empty: none
    std::vector<Destination> jumps;  ///< in the order in which they are passed; empty: none
    std::vector<std::string> identityFiles;
    bool isIdentityGiven = false;  ///< the files were named explicitly
    bool isIdentitiesOnly = false;
    std::string identityAgent;  ///< a socket; empty: SSH_AUTH_SOCK; "none": no agent
    bool isBatch = false;
    bool hasPublicKey = true, hasPassword = true, hasKeyboard = true;
    int prompts = 3;
    StrictHostKeys strict = StrictHostKeys::kAsk;
    std::vector<std::string> userKnownHosts, globalKnownHosts;
    std::chrono::seconds connectTimeout{0};  ///< 0: the system's limit
    std::chrono::seconds aliveInterval{0};   ///< 0: no keepalives
    int aliveCountMax = 3;
    std::string configFile;
    std::vector<std::string> unheeded;  ///< as unheededKeys()
};

/// The user that runs this program.
struct LocalUser {
    std::string name, home;
};
LocalUser thisUser();

/// Settings for the host that the command line names.
Result<Settings> settingsFor(const Invocation& invocation, const LocalUser& local);

/// Settings for a jump host: its own lines of the configuration, and of the command line only the
/// options about questions and keys, not those about the host itself.
Result<Settings> settingsForJump(const Destination& jump, const Invocation& invocation,
                                 const LocalUser& local);

/// "none", or "[USER@]HOST[:PORT],..."; each may be an ssh:// address.
Result<std::vector<Destination>> parseJumps(const std::string& text);

}  // namespace millrace::libssh

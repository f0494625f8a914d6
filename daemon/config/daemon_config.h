#pragma once
// What `millraced` was asked to be: an immutable value, read once from the command line and from
// the file that config_file.h is about.
//
// Failure: kInvalidArgument with one sentence; nothing is made here.
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/paths.h"
#include "backend/core/status.h"
#include "daemon/config/client_roles.h"

namespace millrace::config {

/// PEM files of mutual TLS.
struct TlsFiles {
    std::string certificate;  ///< of this daemon, with its chain
    std::string key;          ///< of the certificate
    std::string authority;    ///< clients' certificates are signed by this one
};

/// What a node's agent gives of it.
struct NodeShare {
    int cores = 0;                  ///< 0: all
    std::uint64_t memoryBytes = 0;  ///< 0: all
    int gpus = -1;                  ///< -1: all
};

struct DaemonConfig {
    Address address;       ///< where to listen
    std::string stateDir;  ///< runs, workers' directories, the store; absolute
    std::string binDir;    ///< where the workers' programs are; absolute
    std::string logFile;   ///< empty: stderr
    std::optional<TlsFiles> tls;
    std::string configFile;  ///< the file that was read, or would be if it were there; absolute
    ClientRoles clients;     ///< what clients over TLS may do
    bool isForeground = false;
    bool isInsecureLoopback = false;
    int keepDeletedDays = 30;  ///< checkpoints of deleted runs
    /// Absolute path of a directory shared with all nodes, for checkpoints of new runs. "": the
    /// state directory; nodes send their checkpoints.
    std::string checkpoints;
    std::string checkpointsFrom = "--checkpoints";  ///< where it was given, for errors
    /// Where agents of other nodes come: "unix" (a socket in the state directory), HOST or
    /// HOST:PORT, which is bound; "": nowhere.
    std::string nodesListen;
    /// HOST or HOST:PORT that agents connect to; "": as `nodesListen`. Default port: the bound one.
    std::string nodesAddress;
    /// Whose agents the daemon starts, over ssh; each host once. They need `nodesListen`.
    std::vector<Address> hosts;
    std::string sshConfig;                          ///< in place of ~/.ssh/config; "": that
    std::chrono::milliseconds nodeAway{20'000};     ///< until a node counts as lost
    std::chrono::milliseconds silentAfter{14'000};  ///< until the gang of a silent rank is ended
    std::chrono::milliseconds crewPace{5'000};      ///< between changes of data workers' number
    bool trainsHere = true;   ///< feeds, ranks and data workers may be on this machine
    bool takesOver = false;   ///< the state directory, from a daemon elsewhere that is silent
    bool isSlot = false;      ///< the agent of a node, not a daemon
    std::string joinFile;     ///< of a slot: its head's
    std::string nodeName;     ///< of a slot; "": the host's
    std::string nodeAddress;  ///< of a slot, where other nodes reach it; "": as it reaches its head
    NodeShare share;          ///< of a slot
    /// Slot: rate limit for sending checkpoints, in MB (10^6 bytes) per second.
    int checkpointRate = 250;
    bool isBound = false;                          ///< of a slot: its workers end with it
    std::chrono::milliseconds lease{60'000};       ///< of a bound slot, without a head; 0: for ever
    std::chrono::milliseconds leaveGrace{30'000};  ///< of a bound slot that is told to end
    std::string argv0 = "millraced";

    std::string storePath() const { return stateDir + "/runs.sqlite"; }
    std::string runsDir() const { return stateDir + "/runs"; }
    /// With which agents of any free name come to this daemon.
    std::string nodesJoinFile() const { return stateDir + "/nodes.join"; }
    /// Address, certificate and private key of the agents' listener.
    std::string nodesDoorFile() const { return stateDir + "/nodes.door"; }
    /// Hashes of the tokens of invited nodes.
    std::string nodesTokensFile() const { return stateDir + "/nodes.tokens"; }
    /// Names of nodes that nothing is placed on.
    std::string drainedFile() const { return stateDir + "/nodes.drained"; }
    std::string nodesSocket() const { return stateDir + "/nodes.sock"; }
    /// Host that agents connect to, without port and brackets; "": no network.
    std::string nodesHost() const;

    static constexpr std::string_view kUnixNodes = "unix";
};

/// What a command line asks for: to run, or to print a text and end.
struct CommandLine {
    DaemonConfig config;
    std::string print;  ///< not empty: print this and end with 0
};

/// Where relative paths and defaults come from; a value so that tests need no environment.
struct Surroundings {
    std::string workingDirectory;
    std::string defaultSocketPath;
    std::string stateDirectory;  ///< empty: there is no default, it has to be given
    std::string programDirectory;
    std::string build;      ///< buildId(); shown by --version
    std::string sshConfig;  ///< MILLRACE_SSH_CONFIG
    /// The text of a file; kNotFound where there is none.
    std::function<Result<std::string>(const std::string&)> readFile;
    static Surroundings ofThisProcess(std::string_view build);
};

Result<CommandLine> parseCommandLine(const std::vector<std::string>& arguments,
                                     const Surroundings& surroundings);

/// `what` is named in the error: "--name".
Status checkNodeName(std::string_view what, const std::string& name);

/// What every address needs: nothing (unix), --insecure-loopback or mutual TLS (loopback TCP),
/// mutual TLS (any other TCP).
Status checkAddress(const DaemonConfig& config);

/// "0.1.0"
std::string_view daemonVersion();

}  // namespace millrace::config

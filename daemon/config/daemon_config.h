#pragma once
// DaemonConfig: the configuration of a `millraced`, read once from the command line and from the
// file of config_file.h. An immutable value, used by all parts of the daemon.
//
// Failure: kInvalidArgument with one sentence; nothing is created here.
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/filesystem/paths.h"
#include "daemon/config/client_roles.h"

namespace millrace::config {

/// PEM files of mutual TLS.
struct TlsFiles {
    std::string certificate;  ///< of this daemon, with its chain
    std::string key;          ///< of the certificate
    std::string authority;    ///< signs clients' certificates
};

/// The resources of its node that an agent offers.
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
    std::string configFile;  ///< the file that was read, or would be if it existed; absolute
    ClientRoles clients;     ///< what clients over TLS may do
    bool isForeground = false;
    bool isInsecureLoopback = false;
    int keepDeletedDays = 30;  ///< days that checkpoints of deleted runs are kept
    /// Absolute path of a directory shared with all nodes, for checkpoints of new runs. "": the
    /// state directory; nodes send their checkpoints.
    std::string checkpoints;
    std::string checkpointsFrom = "--checkpoints";  ///< where it was set, for errors
    /// The address for agents of other nodes: "unix" (a socket in the state directory), HOST or
    /// HOST:PORT, which is bound; "": nowhere.
    std::string nodesListen;
    /// HOST or HOST:PORT that agents connect to; "": as `nodesListen`. Default port: the bound one.
    std::string nodesAddress;
    /// Hosts on which the daemon starts agents over ssh; each host once. They need `nodesListen`.
    std::vector<Address> hosts;
    std::string sshConfig;                          ///< instead of ~/.ssh/config; "": that file
    std::chrono::milliseconds nodeAway{20'000};     ///< until a node counts as lost
    std::chrono::milliseconds silentAfter{14'000};  ///< until the gang of a silent rank is ended
    std::chrono::milliseconds crewPace{5'000};      ///< between changes of data workers' number
    bool trainsHere = true;   ///< feeds, ranks and data workers may be on this machine
    bool takesOver = false;   ///< takes the state directory from a silent daemon elsewhere
    bool isSlot = false;      ///< the agent of a node, not a daemon
    std::string joinFile;     ///< of a slot: its head's file
    std::string nodeName;     ///< of a slot; "": the host's
    std::string nodeAddress;  ///< where other nodes reach the slot; "": as it reaches its head
    NodeShare share;          ///< of a slot
    /// Slot: rate limit for sending checkpoints, in MB (10^6 bytes) per second.
    int checkpointRate = 250;
    bool isBound = false;                          ///< of a slot: it and its workers end together
    std::chrono::milliseconds lease{60'000};       ///< bound slot, without a head; 0: unlimited
    std::chrono::milliseconds leaveGrace{30'000};  ///< bound slot: time for its end

    std::string storePath() const { return stateDir + "/runs.sqlite"; }
    std::string runsDir() const { return stateDir + "/runs"; }
    /// The join file with which agents of any free name attach to this daemon.
    std::string nodesJoinFile() const { return stateDir + "/nodes.join"; }
    /// Address, certificate and private key of the agents' listener.
    std::string nodesDoorFile() const { return stateDir + "/nodes.door"; }
    /// Hashes of the tokens of invited nodes.
    std::string nodesTokensFile() const { return stateDir + "/nodes.tokens"; }
    /// Names of nodes on which nothing is placed.
    std::string drainedFile() const { return stateDir + "/nodes.drained"; }
    std::string nodesSocket() const { return stateDir + "/nodes.sock"; }
    /// Host that agents connect to, without port and brackets; "": no network.
    std::string nodesHost() const;

    static constexpr std::string_view kUnixNodes = "unix";
};

/// The result of a command line: run, or print a text and end.
struct CommandLine {
    DaemonConfig config;
    std::string print;  ///< not empty: print this and end with 0
};

/// The environment from which relative paths and defaults come; a value, so that tests need no real
/// environment.
struct ProcessEnvironment {
    std::string workingDirectory;
    std::string defaultSocketPath;
    std::string stateDirectory;  ///< empty: without a default; it must be given
    std::string programDirectory;
    std::string build;      ///< buildId(); shown by --version
    std::string sshConfig;  ///< MILLRACE_SSH_CONFIG
    /// Returns the text of a file; kNotFound if it does not exist.
    std::function<Result<std::string>(const std::string&)> readFile;
    static ProcessEnvironment ofThisProcess(std::string_view build);
};

Result<CommandLine> parseCommandLine(const std::vector<std::string>& arguments,
                                     const ProcessEnvironment& process);

/// `what` is the name in errors: "--name".
Status checkNodeName(std::string_view what, const std::string& name);

/// Checks that the address has what it needs: nothing (unix), --insecure-loopback or mutual TLS
/// (loopback TCP), mutual TLS (any other TCP).
Status checkAddress(const DaemonConfig& config);

/// "0.1.0"
std::string_view daemonVersion();

}  // namespace millrace::config

#include "daemon/config/daemon_config.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <set>

#include <unistd.h>

#include "backend/filesystem/files.h"
#include "backend/system/network_interface.h"
#include "backend/text/text.h"
#include "daemon/config/config_file.h"

namespace millrace::config {
namespace {

constexpr std::string_view kUsage =
    R"(millraced - the Millrace daemon: keeps runs, starts their workers, follows them

usage: millraced [options]

  --socket ADDRESS       unix:PATH (default: the user's runtime directory) or HOST:PORT
  --state-dir PATH       runs, workers' directories and the store (default: ~/.local/state/millrace)
  --bin-dir PATH         where the workers' programs (millrace-loader and its like) are (default: here)
  --tls-cert FILE        PEM, this daemon's certificate; with --tls-key and --tls-ca: mutual TLS,
  --tls-key FILE         which every TCP address needs
  --tls-ca FILE          signs the clients' certificates; 'clients' in millraced.yaml gives them roles
  --insecure-loopback    allow a loopback TCP address without TLS (for tests)
  --log-file FILE        structured log (default: STATE-DIR/millraced.log, or stderr in the foreground)
  --take-over            take the state directory from a daemon on another machine or in another container
                         at once, not when it has been silent for 11 minutes; end that one first
  --keep-deleted-days N  checkpoints of deleted runs go after N days, of which a daemon must have run
                         for 24 hours (default: 30)
  --checkpoints PATH     directory for the checkpoints of new runs, shared by this machine and all nodes under
                         the same path (default: the state directory, to which nodes send their checkpoints)
  --nodes-listen WHERE   agents of other nodes may come here: "unix" (of this machine, a socket in the state
                         directory) or HOST[:PORT]; they do with the file STATE-DIR/nodes.join
  --nodes-address WHERE  HOST[:PORT] that agents connect to, if it differs from --nodes-listen: with 0.0.0.0,
                         a port forward or a Service (default: as --nodes-listen)
  --hosts NAMES          start agents on these hosts, over ssh, as long as they are not there: a,b
  --no-train-here        feeds, ranks and data workers run on other nodes only (needs --nodes-listen)
  --node-away SECONDS    time without contact before a node counts as lost and its data workers
                         start elsewhere (20)
  --silent-after SECONDS time without a report from a rank before its gang is ended (14)
  --crew-pace SECONDS    time between two changes of a run's number of data workers (5)
  --slot                 run as the agent of a node; needs --join and a --state-dir of its own
  --join FILE            of --slot: the head's nodes.join
  --name NAME            of --slot: the node's name (default: the host's)
  --address WHERE        of --slot: where other nodes reach this one: a name, an address, or a network
                         (10.1.0.0/16) that it has an address in (default: as it reaches its head)
  --cores N              of --slot: cores, memory and GPUs that the node offers (default: all that its
                         control groups and its affinity mask leave)
  --memory-mb N
  --gpus N
  --checkpoint-rate MB   of --slot: hand checkpoints over to the head no faster, MB a second (250)
  --bound                of --slot: workers end with the agent, as a job of Slurm or Kubernetes needs. On SIGTERM
                         the agent waits until its work has moved to other nodes, then ends
  --leave-grace SECONDS  of --bound: time between SIGTERM and the end of workers that are left (30)
  --lease SECONDS        of --bound: ends the agent after this time without its head (60; 0: never)
  --config FILE          options of this and coming starts (default: STATE-DIR/millraced.yaml, if it is there)
  --foreground           do not go into the background
  --version              print the version
  --help                 print this
)";

constexpr std::size_t kFileMost = 1 << 20;

/// Options that take a value, and those that take none.
constexpr std::string_view kTexts[] = {
    "--socket",         "--state-dir", "--bin-dir",     "--log-file",
    "--tls-cert",       "--tls-key",   "--tls-ca",      "--keep-deleted-days",
    "--nodes-listen",   "--hosts",     "--config",      "--nodes-address",
    "--node-away",      "--crew-pace", "--join",        "--silent-after",
    "--name",           "--address",   "--cores",       "--memory-mb",
    "--gpus",           "--lease",     "--leave-grace", "--checkpoints",
    "--checkpoint-rate"};
constexpr std::string_view kFlags[] = {
    "--bound",      "--slot",    "--no-train-here", "--take-over", "--insecure-loopback",
    "--foreground", "--version", "--help",          "-h"};

/// The options as written, before defaults.
struct Raw {
    std::map<std::string, std::string, std::less<>> values;  ///< by name; "true" of a flag

    bool has(std::string_view option) const { return values.contains(option); }
    std::string text(std::string_view option) const {
        const auto found = values.find(option);
        return found == values.end() ? "" : found->second;
    }
};

bool hasAnyOf(const Raw& raw, std::initializer_list<std::string_view> options) {
    return std::ranges::any_of(options, [&](std::string_view option) { return raw.has(option); });
}

Status unknownOption(const std::string& name) {
    std::vector<std::string> known(std::begin(kTexts), std::end(kTexts));
    known.insert(known.end(), std::begin(kFlags), std::end(kFlags));
    return invalidArgument("unknown option '", name, "'", nameHint(name, known));
}

Result<Raw> readOptions(const std::vector<std::string>& arguments) {
    Raw raw;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::size_t equals = arguments[i].find('=');
        const std::string name = arguments[i].substr(0, equals);
        std::string& value = raw.values[name];
        if (std::ranges::find(kFlags, name) != std::end(kFlags)) {
            if (equals != std::string::npos) {
                return invalidArgument(name, " takes no value");
            }
            value = "true";
        } else if (std::ranges::find(kTexts, name) == std::end(kTexts)) {
            return unknownOption(name);
        } else if (equals != std::string::npos) {
            value = arguments[i].substr(equals + 1);
        } else if (i + 1 < arguments.size()) {
            value = arguments[++i];
        } else {
            return invalidArgument(name, " needs a value");
        }
        if (value.empty()) {
            return invalidArgument(name, " needs a value that is not empty");
        }
    }
    return raw;
}

Status readTls(const Raw& raw, const ProcessEnvironment& around, DaemonConfig& config) {
    if (!hasAnyOf(raw, {"--tls-cert", "--tls-key", "--tls-ca"})) {
        return okStatus();
    }
    if (!raw.has("--tls-cert") || !raw.has("--tls-key") || !raw.has("--tls-ca")) {
        return invalidArgument(
            "--tls-cert, --tls-key and --tls-ca belong together: give all three");
    }
    if (config.address.isUnix()) {
        return invalidArgument(
            "a unix socket needs no TLS: leave --tls-cert, --tls-key and --tls-ca");
    }
    const std::string& here = around.workingDirectory;
    config.tls = TlsFiles{absolutePath(raw.text("--tls-cert"), here),
                          absolutePath(raw.text("--tls-key"), here),
                          absolutePath(raw.text("--tls-ca"), here)};
    return okStatus();
}

/// "a number of days from 0 to 36500"
struct NumberRange {
    std::string_view what;
    int least, most;
};

Status readNumber(const Raw& raw, std::string_view option, const NumberRange& range, int& into) {
    const std::string text = raw.text(option);
    if (text.empty()) {
        return okStatus();
    }
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, into);
    if (parsed.ec != std::errc() || parsed.ptr != end || into < range.least || into > range.most) {
        return invalidArgument(option, " ", text, ": a number of ", range.what, " from ",
                               range.least, " to ", range.most, " is wanted");
    }
    return okStatus();
}

// Accepts decimals, because tests shorten these times.
Status readSeconds(const Raw& raw, std::string_view option, std::chrono::milliseconds& into) {
    constexpr double kMost = 86'400, kLeast = 0.05;
    const std::string text = raw.text(option);
    if (text.empty()) {
        return okStatus();
    }
    double seconds = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, seconds);
    if (parsed.ec != std::errc() || parsed.ptr != end || !(seconds >= kLeast && seconds <= kMost)) {
        return invalidArgument(option, " ", text, ": seconds from ", kLeast, " to ", kMost,
                               " are wanted");
    }
    into = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
    return okStatus();
}

// Reads "a,b" as addresses for ssh.
Status readHosts(const std::string& text, DaemonConfig& config) {
    constexpr std::size_t kMost = 64;
    std::set<std::string> names;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string word = text.substr(at, end - at);
        at = end + 1;
        const Result<Address> host = Address::parse("ssh://" + word);
        if (!host.ok() || !host->unixPath.empty()) {
            return invalidArgument("--hosts: '", word, "': [USER@]HOST[:PORT] is wanted");
        }
        RETURN_IF_ERROR(checkNodeName("--hosts", host->host));
        if (!names.insert(host->host).second) {
            return invalidArgument("--hosts: ", host->host, " appears twice");
        }
        config.hosts.push_back(*host);
    }
    if (config.hosts.size() > kMost) {
        return invalidArgument("--hosts: at most ", kMost,
                               " are wanted; a site's own service "
                               "manager starts more agents");
    }
    if (!config.hosts.empty() && config.nodesHost().empty()) {
        return invalidArgument(
            "--hosts needs --nodes-listen HOST: this machine's name as they reach it");
    }
    return okStatus();
}

Status readNodesAddress(const Raw& raw, DaemonConfig& config) {
    config.nodesListen = raw.text("--nodes-listen");
    config.nodesAddress = raw.text("--nodes-address");
    const bool isNetwork =
        raw.has("--nodes-listen") && config.nodesListen != DaemonConfig::kUnixNodes;
    if (raw.has("--nodes-address") && !isNetwork) {
        return invalidArgument(
            "--nodes-address needs --nodes-listen HOST[:PORT], where agents really arrive");
    }
    for (const char* option : {"--nodes-listen", "--nodes-address"}) {
        const Result<Address> address = Address::parseHost(raw.text(option));
        if (isNetwork && raw.has(option) && !address.ok()) {
            return annotate(address.status(), option);
        }
    }
    const std::string host = config.nodesHost();
    if (host == "0.0.0.0" || host == "::") {
        return invalidArgument("--nodes-listen ", config.nodesListen,
                               ": is every address of this machine; say with --nodes-address "
                               "HOST[:PORT] which one agents of other nodes dial");
    }
    return okStatus();
}

bool isForSlot(const Raw& raw) {
    return hasAnyOf(raw, {"--join", "--name", "--address", "--cores", "--memory-mb", "--gpus",
                          "--checkpoint-rate", "--bound", "--lease", "--leave-grace"});
}

Status readShare(const Raw& raw, DaemonConfig& config) {
    constexpr std::uint64_t kMegabyte = 1 << 20;
    int megabytes = 0;
    NodeShare& share = config.share;
    RETURN_IF_ERROR(readNumber(raw, "--cores", {"cores", 1, 65'536}, share.cores));
    RETURN_IF_ERROR(readNumber(raw, "--memory-mb", {"megabytes", 64, 1 << 30}, megabytes));
    RETURN_IF_ERROR(readNumber(raw, "--checkpoint-rate", {"megabytes a second", 1, 100'000},
                               config.checkpointRate));
    RETURN_IF_ERROR(readNumber(raw, "--gpus", {"GPUs", 0, 1'024}, share.gpus));
    share.memoryBytes = static_cast<std::uint64_t>(megabytes) * kMegabyte;
    if (!raw.has("--address")) {
        return okStatus();
    }
    const auto address = ownAddressAs(raw.text("--address"));
    if (!address.ok()) {
        return annotate(address.status(), "--address");
    }
    config.nodeAddress = *address;
    return okStatus();
}

Status readBound(const Raw& raw, DaemonConfig& config) {
    config.isBound = raw.has("--bound");
    if (!raw.has("--bound") && !(!raw.has("--lease") && !raw.has("--leave-grace"))) {
        return invalidArgument(
            "--lease and --leave-grace are for --bound: without it workers outlive their agent");
    }
    RETURN_IF_ERROR(readSeconds(raw, "--leave-grace", config.leaveGrace));
    if (raw.text("--lease") == "0") {
        config.lease = std::chrono::milliseconds(0);
        return okStatus();
    }
    return readSeconds(raw, "--lease", config.lease);
}

Status readNodes(const Raw& raw, const std::string& here, DaemonConfig& config) {
    RETURN_IF_ERROR(readSeconds(raw, "--node-away", config.nodeAway));
    RETURN_IF_ERROR(readSeconds(raw, "--silent-after", config.silentAfter));
    RETURN_IF_ERROR(readSeconds(raw, "--crew-pace", config.crewPace));
    config.trainsHere = !raw.has("--no-train-here");
    config.isSlot = raw.has("--slot");
    if (!raw.has("--slot")) {
        RETURN_IF_ERROR(readNodesAddress(raw, config));
        RETURN_IF_ERROR(readHosts(raw.text("--hosts"), config));
        return isForSlot(raw) ? invalidArgument(
                                    "--join, --name, --address, --cores, --memory-mb, --gpus, "
                                    "--checkpoint-rate, --bound, --lease and --leave-grace are "
                                    "for --slot, the agent of a node")
                              : okStatus();
    }
    if (!raw.has("--join") || !raw.has("--state-dir")) {
        return invalidArgument(
            "--slot needs --join FILE, its head's nodes.join, and a --state-dir of its own");
    }
    if (hasAnyOf(raw, {"--socket", "--nodes-listen", "--nodes-address", "--hosts", "--config",
                       "--checkpoints", "--no-train-here"})) {
        return invalidArgument(
            "--slot listens nowhere, and is there to train: leave --socket, --nodes-listen, "
            "--nodes-address, --hosts, --config, --checkpoints and --no-train-here");
    }
    config.joinFile = absolutePath(raw.text("--join"), here);
    config.nodeName = raw.text("--name");
    RETURN_IF_ERROR(!raw.has("--name") ? okStatus() : checkNodeName("--name", raw.text("--name")));
    RETURN_IF_ERROR(readShare(raw, config));
    return readBound(raw, config);
}

// Adds the values of the file for options that are not on the command line.
Status addConfigFile(const ProcessEnvironment& around, Raw& raw, DaemonConfig& config) {
    const std::string& path = config.configFile;
    const Result<std::string> text = around.readFile(path);
    if (absl::IsNotFound(text.status()) && !raw.has("--config")) {
        return okStatus();
    }
    RETURN_IF_ERROR(text.status());
    ASSIGN_OR_RETURN(ConfigFile file, readConfigFile(*text, path));
    config.clients = std::move(file.clients);
    if (!raw.has("--checkpoints")) {
        config.checkpointsFrom = path + ": checkpoints:";
    }
    for (const auto& [option, value] : file.options) {
        if (!value.empty()) {
            raw.values.try_emplace(option, value);
        }
    }
    return okStatus();
}

}  // namespace

std::string DaemonConfig::nodesHost() const {
    const auto told = Address::parseHost(nodesAddress.empty() ? nodesListen : nodesAddress);
    return told.ok() && nodesListen != kUnixNodes ? told->host : "";
}

std::string_view daemonVersion() {
    return "0.1.0";
}

ProcessEnvironment ProcessEnvironment::ofThisProcess(std::string_view build) {
    char here[4096];
    ProcessEnvironment around;
    around.workingDirectory = ::getcwd(here, sizeof here) != nullptr ? here : "/";
    around.defaultSocketPath = millrace::defaultSocketPath();
    around.stateDirectory = millrace::stateDirectory().value_or("");
    around.programDirectory = millrace::programDirectory();
    around.build = build;
    const char* sshConfig = std::getenv("MILLRACE_SSH_CONFIG");
    around.sshConfig = sshConfig != nullptr ? sshConfig : "";
    around.readFile = [](const std::string& path) { return millrace::readFile(path, kFileMost); };
    return around;
}

Status checkNodeName(std::string_view what, const std::string& name) {
    constexpr std::size_t kMost = 64;
    const bool isName =
        !name.empty() && name.size() <= kMost && std::ranges::all_of(name, [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' ||
                   c == '_';
        });
    return isName ? okStatus()
                  : invalidArgument(what, " '", name,
                                    "': 1 to 64 letters, digits, '-', '.' and '_' are wanted");
}

Status checkAddress(const DaemonConfig& config) {
    if (config.address.isUnix() || config.tls.has_value()) {
        return okStatus();
    }
    if (!config.address.isLoopback()) {
        return invalidArgument(config.address.text(),
                               ": a TCP address needs mutual TLS: give --tls-cert, --tls-key and "
                               "--tls-ca, or listen on a unix socket");
    }
    if (!config.isInsecureLoopback) {
        return invalidArgument(
            config.address.text(),
            ": a loopback TCP address needs mutual TLS, or --insecure-loopback in "
            "a test");
    }
    return okStatus();
}

Result<CommandLine> parseCommandLine(const std::vector<std::string>& arguments,
                                     const ProcessEnvironment& around) {
    ASSIGN_OR_RETURN(Raw raw, readOptions(arguments));
    CommandLine line;
    if (hasAnyOf(raw, {"--help", "-h"})) {
        line.print = std::string(kUsage);
        return line;
    }
    if (raw.has("--version")) {
        line.print = strCat("millraced ", daemonVersion(), ", build ", around.build, "\n");
        return line;
    }
    DaemonConfig& config = line.config;
    const std::string& here = around.workingDirectory;
    const auto pathOr = [&](const std::string& given, const std::string& fallback) {
        return absolutePath(given.empty() ? fallback : given, here);
    };
    const std::string socket =
        !raw.has("--socket") ? "unix:" + around.defaultSocketPath : raw.text("--socket");
    const Result<Address> address = Address::parse(socket);
    if (!address.ok() || address->isSsh) {
        return invalidArgument("--socket ", socket,
                               ": a daemon listens on HOST:PORT or unix:PATH (clients reach the "
                               "socket over ssh)");
    }
    config.address = *address;
    if (config.address.isUnix()) {
        config.address.unixPath = absolutePath(config.address.unixPath, here);
    }
    if (!raw.has("--state-dir") && around.stateDirectory.empty()) {
        return invalidArgument(
            "no place for the state: HOME is not set; set HOME or XDG_STATE_HOME, or give "
            "--state-dir");
    }
    config.stateDir = pathOr(raw.text("--state-dir"), around.stateDirectory);
    config.sshConfig = around.sshConfig;
    if (!raw.has("--slot")) {
        config.configFile = pathOr(raw.text("--config"), config.stateDir + "/millraced.yaml");
        RETURN_IF_ERROR(addConfigFile(around, raw, config));
    }
    config.binDir = pathOr(raw.text("--bin-dir"), around.programDirectory);
    config.isForeground = raw.has("--foreground");
    config.takesOver = raw.has("--take-over");
    config.isInsecureLoopback = raw.has("--insecure-loopback");
    if (raw.has("--log-file")) {
        config.logFile = absolutePath(raw.text("--log-file"), here);
    } else if (!config.isForeground) {
        config.logFile = config.stateDir + "/millraced.log";
    }
    RETURN_IF_ERROR(
        readNumber(raw, "--keep-deleted-days", {"days", 0, 36'500}, config.keepDeletedDays));
    if (raw.has("--checkpoints") && raw.text("--checkpoints")[0] != '/') {
        return invalidArgument(config.checkpointsFrom, " ", raw.text("--checkpoints"),
                               ": an absolute path is wanted, as all nodes see it");
    }
    config.checkpoints = raw.text("--checkpoints");
    RETURN_IF_ERROR(readNodes(raw, here, config));
    RETURN_IF_ERROR(readTls(raw, around, config));
    RETURN_IF_ERROR(checkAddress(config));
    return line;
}

}  // namespace millrace::config

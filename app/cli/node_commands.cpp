#include "app/cli/node_commands.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>

#include <unistd.h>

#include <absl/strings/str_split.h>

#include "app/cli/frame/json_shapes.h"
#include "app/cli/frame/table.h"
#include "app/cli/remote/remote_commands.h"
#include "app/session/follower.h"
#include "app/session/live_model.h"
#include "app/session/words.h"
#include "app/tui/figures.h"
#include "backend/core/exit_codes.h"
#include "backend/filesystem/files.h"
#include "backend/system/network_interface.h"
#include "backend/system/subprocess.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using tui::Tone;
namespace word = session::word;
using Samples = std::map<std::string, values::NodeSample>;

constexpr std::int64_t kAttachNs = 10'000'000'000, kSampleNs = 2'000'000'000;
constexpr int kLookMs = 50;

std::string gpuText(const values::NodeInfo& node) {
    if (node.gpus.empty()) {
        return "no GPU";
    }
    return node.gpus.size() == 1 ? node.gpus.front().name
                                 : strCat(node.gpus.size(), " x ", node.gpus.front().name);
}

const char* roleOf(const values::NodeInfo& node) {
    return node.isClosed ? "head, trains no run" : node.isHead ? "head" : "node";
}

// "" for a node between which and others no frames go now: a column of such texts is omitted.
std::string flowText(const std::optional<double>& bytesPerSecond) {
    return bytesPerSecond.value_or(0) > 0 ? session::rateText(bytesPerSecond) : "";
}

// Other nodes send nothing.
std::set<std::string> attached(const std::vector<values::NodeInfo>& nodes) {
    std::set<std::string> names;
    for (const values::NodeInfo& node : nodes) {
        if (session::isThere(node)) {
            names.insert(node.name);
        }
    }
    return names;
}

session::FollowOptions samplesAlone() {
    session::FollowOptions options;
    options.withRuns = false;
    options.withTelemetry = true;
    return options;
}

// The first sample of each attached node; omits nodes whose sample does not arrive in time.
Samples firstSamples(client::DaemonClient& daemon, const Clock& clock,
                     const std::set<std::string>& names) {
    session::Follower follower(daemon, clock, samplesAlone());
    Samples samples;
    const std::int64_t end = clock.steadyNs() + kSampleNs;
    while (clock.steadyNs() < end && samples.size() < names.size()) {
        auto event = follower.next(std::chrono::milliseconds(500));
        if (event && std::holds_alternative<session::NodeSampled>(*event)) {
            values::NodeSample sample = std::get<session::NodeSampled>(std::move(*event)).sample;
            if (names.contains(sample.node)) {
                samples[sample.node] = std::move(sample);
            }
        }
        if (event && std::holds_alternative<session::Problem>(*event)) {
            break;
        }
    }
    return samples;
}

// Starts an agent, which moves to the background by itself. If another agent has the directory,
// returns its message: that agent outlived its head and reconnects by itself.
Result<std::string> startAgent(const CliContext& context, const ParsedArgs& args,
                               const values::DaemonStatus& daemon, const std::string& name,
                               const std::string& joinFile) {
    const std::string place = strCat(daemon.stateDir, "/nodes/", name);
    RETURN_IF_ERROR(makePrivateDirectory(place));
    RETURN_IF_ERROR(writeFileAtomic(place + "/nodes.join", joinFile, 0600));
    SubprocessOptions options;
    options.argv = {context.programDirectory + "/millraced",
                    "--slot",
                    "--join",
                    place + "/nodes.join",
                    "--name",
                    name,
                    "--state-dir",
                    place};
    if (args.has("--bin-dir")) {
        options.argv.insert(options.argv.end(), {"--bin-dir", args.text("--bin-dir")});
    }
    options.newSession = true;
    ASSIGN_OR_RETURN(SubprocessOutput starter, Subprocess::run(options));
    if (starter.exitCode == 0 || starter.exitCode == kExitServed) {
        return std::move(starter.err);
    }
    return failedPrecondition("node ", name, ": its agent did not start (exit code ",
                              starter.exitCode,
                              "): ", starter.err.substr(0, starter.err.find('\n')));
}

// A joining node's first sample wakes this loop, so that the list is read a little sooner.
Result<std::set<std::string>> awaitNodes(CliContext& context, client::DaemonClient& daemon,
                                         const std::set<std::string>& wanted) {
    session::Follower follower(daemon, context.clock, samplesAlone());
    const std::int64_t end = context.clock.steadyNs() + kAttachNs;
    for (;;) {
        ASSIGN_OR_RETURN(const auto nodes, daemon.nodes());
        const std::set<std::string> there = attached(nodes);
        if (std::includes(there.begin(), there.end(), wanted.begin(), wanted.end())) {
            return there;
        }
        if (context.clock.steadyNs() > end) {
            return deadlineExceeded(
                "not all nodes came to the daemon; was it started without --nodes? 'millrace "
                "down', then 'millrace up --nodes N' again");
        }
        (void)follower.next(std::chrono::milliseconds(kLookMs));
    }
}

std::vector<std::string> hostsOf(const ParsedArgs& args) {
    return absl::StrSplit(args.text("--hosts"), ',', absl::SkipEmpty());
}

// Starts agents on hosts; a node has its host's name.
Status bringHosts(CliContext& context, const std::vector<std::string>& hosts,
                  client::DaemonClient& daemon, const std::set<std::string>& there,
                  std::set<std::string>& wanted) {
    for (const std::string& host : hosts) {
        ASSIGN_OR_RETURN(const Address address, Address::parse("ssh://" + host));
        wanted.insert(address.host);
        if (there.contains(address.host)) {
            continue;
        }
        ASSIGN_OR_RETURN(const std::string joinFile, daemon.invite(address.host));
        if (joinFile.find("\"unix:") != std::string::npos) {
            return failedPrecondition(
                "the daemon takes agents of this machine alone; 'millrace down', then 'millrace up "
                "--nodes-listen HOST --hosts ...' with this machine's name");
        }
        RETURN_IF_ERROR(startAgentThere(context, address, address.host, joinFile));
    }
    return okStatus();
}

// Returns the names of all nodes attached then, the daemon's own too: they may be more than were
// requested.
Result<std::set<std::string>> bringNodes(CliContext& context, const ParsedArgs& args,
                                         const Address& address,
                                         const values::DaemonStatus& daemon) {
    const auto client = context.connect(address);
    std::set<std::string> wanted;
    std::string said;  // messages of agents that did not get their directories
    Status failed = okStatus();
    for (int i = 1; i < args.number("--nodes", 1); ++i) {
        const std::string name = strCat("node", i);
        ASSIGN_OR_RETURN(const auto nodes, client->nodes());
        if (!attached(nodes).contains(name)) {
            ASSIGN_OR_RETURN(const std::string joinFile, client->invite(name));
            const Result<std::string> words = startAgent(context, args, daemon, name, joinFile);
            if (!words.ok()) {  // the others start nevertheless
                failed.Update(words.status());
                continue;
            }
            said += *words;
        }
        wanted.insert(name);
    }
    if (const std::vector<std::string> hosts = hostsOf(args); !hosts.empty()) {
        ASSIGN_OR_RETURN(const auto nodes, client->nodes());
        RETURN_IF_ERROR(bringHosts(context, hosts, *client, attached(nodes), wanted));
    }
    Result<std::set<std::string>> all = awaitNodes(context, *client, wanted);
    if (!all.ok()) {
        context.err << said;
    }
    RETURN_IF_ERROR(failed);
    return all;
}

}  // namespace

Result<std::vector<std::string>> nodesArguments(const ParsedArgs& args) {
    std::vector<std::string> given;
    for (const char* option : {"--nodes-listen", "--nodes-address"}) {
        if (args.has(option)) {
            given.insert(given.end(), {option, args.text(option)});
        }
    }
    if (!given.empty()) {
        return given;
    }
    char host[256] = "";
    if (args.has("--hosts") && ::gethostname(host, sizeof host - 1) == 0) {
        if (isLoopbackHost(host)) {
            return failedPrecondition(
                "--hosts: this machine's name ", host,
                " is a loopback address here (127.0.1.1 in /etc/hosts?), which other hosts cannot "
                "reach; give --nodes-listen HOST, the name or address that they reach it by");
        }
        return std::vector<std::string>{"--nodes-listen", host};
    }
    return args.number("--nodes", 1) > 1 ? std::vector<std::string>{"--nodes-listen", "unix"}
                                         : std::vector<std::string>();
}

Result<int> startNodes(CliContext& context, const ParsedArgs& args, const Address& address,
                       const values::DaemonStatus& daemon) {
    const bool isWanted = args.number("--nodes", 1) > 1 || args.has("--hosts");
    if (!isWanted || address.isSsh) {  // on a host, millrace there has done it
        return kExitOk;
    }
    ASSIGN_OR_RETURN(const std::set<std::string> nodes, bringNodes(context, args, address, daemon));
    if (!args.isJson()) {
        context.out << session::countText(nodes.size(), "node") << ": the daemon's own and "
                    << session::countText(nodes.size() - 1, "agent") << '\n';
    }
    return kExitOk;
}

namespace {

// "gone": the daemon does not know this node (any more).
std::string stateOf(const std::vector<values::NodeInfo>& nodes, const std::string& name) {
    const auto node = std::ranges::find(nodes, name, &values::NodeInfo::name);
    return node == nodes.end() ? "gone" : node->state;
}

bool isBeingLeft(const std::string& state) {
    return state == "draining" || state == "leaving";
}

// Waits until the connected ones have no work left, or until there are more interrupts than
// `interruptsBefore`. `says`: prints progress.
Status awaitDrained(CliContext& context, client::DaemonClient& daemon, std::set<std::string> names,
                    int interruptsBefore, bool says) {
    session::Follower follower(daemon, context.clock, samplesAlone());
    while (!names.empty() && context.interrupts.load() == interruptsBefore) {
        ASSIGN_OR_RETURN(const auto nodes, daemon.nodes());
        std::erase_if(names, [&](const std::string& name) {
            const std::string state = stateOf(nodes, name);
            if (!isBeingLeft(state) && says) {
                context.out << "node " << name << ": " << state << std::endl;
            }
            return !isBeingLeft(state);
        });
        (void)follower.next(std::chrono::milliseconds(kLookMs));
    }
    return names.empty() ? okStatus()
                         : cancelled("work is left on node ", *names.begin(),
                                     " and goes on moving: 'millrace nodes' shows how it is, "
                                     "'millrace nodes undrain' reverts it");
}

// Writes the join file's text to the output, or into the file; also prints how to use it.
Result<int> inviteNode(CliContext& context, client::DaemonClient& daemon, const ParsedArgs& args) {
    const std::string& name = args.words[1];
    const std::string path = args.text("--output");
    std::error_code error;
    // Writing through a dangling link would create the link's target.
    if (std::filesystem::exists(std::filesystem::symlink_status(path, error)) &&
        !args.has("--force")) {
        return failedPrecondition(path, ": exists; --force replaces it");
    }
    ASSIGN_OR_RETURN(const std::string joinFile, daemon.invite(name));
    if (!path.empty()) {
        RETURN_IF_ERROR(writeFileAtomic(path, joinFile, 0600));
    }
    if (args.isJson()) {
        printDocument(context,
                      {{"node", name},
                       {path.empty() ? "join_file" : "path", path.empty() ? joinFile : path}});
        return kExitOk;
    }
    if (path.empty()) {
        context.out << joinFile << std::flush;
    }
    context.err << "This is a secret: on " << name << ", keep it with mode 0600, then run\n"
                << "  millraced --slot --join " << (path.empty() ? "FILE" : path)
                << " --state-dir DIR\n"
                << "'millrace nodes forget " << name << "' revokes it.\n";
    return kExitOk;
}

Result<int> forgetNodes(CliContext& context, client::DaemonClient& daemon, const ParsedArgs& args,
                        const std::set<std::string>& names) {
    for (const std::string& name : names) {
        RETURN_IF_ERROR(daemon.forget(name));
        if (!args.isJson()) {
            context.out << "node " << name << ": shut out; its work starts on other nodes"
                        << std::endl;
        }
    }
    if (args.isJson()) {
        printDocument(context, {{"forgotten", names}});
    }
    return kExitOk;
}

// Sorts nodes that the daemon may refuse first: if it refuses one, none has been drained.
Result<std::vector<std::string>> doubtfulFirst(client::DaemonClient& daemon,
                                               const std::set<std::string>& names) {
    ASSIGN_OR_RETURN(const auto nodes, daemon.nodes());
    std::vector<std::string> ordered(names.begin(), names.end());
    std::ranges::stable_partition(ordered, [&](const std::string& name) {
        const auto node = std::ranges::find(nodes, name, &values::NodeInfo::name);
        return node == nodes.end() || node->isHead;
    });
    return ordered;
}

// The names, grouped by the present state of their nodes.
Result<Json> drainedJson(client::DaemonClient& daemon, const std::set<std::string>& names) {
    ASSIGN_OR_RETURN(const auto nodes, daemon.nodes());
    Json drained = Json::array(), draining = Json::array();
    for (const std::string& name : names) {
        (isBeingLeft(stateOf(nodes, name)) ? draining : drained).push_back(name);
    }
    return Json{{"drained", drained}, {"draining", draining}};
}

Result<int> drainNodes(CliContext& context, client::DaemonClient& daemon, const ParsedArgs& args,
                       const std::set<std::string>& names) {
    const int interruptsBefore = context.interrupts.load();
    const bool isBack = args.words.front() == "undrain";
    ASSIGN_OR_RETURN(const auto ordered, doubtfulFirst(daemon, names));
    for (const std::string& name : ordered) {
        RETURN_IF_ERROR(daemon.drain(name, isBack));
        if (!args.isJson()) {
            context.out << "node " << name
                        << (isBack ? ": takes work again" : ": its work moves to other nodes")
                        << std::endl;
        }
    }
    if (args.has("--wait") && !isBack) {
        RETURN_IF_ERROR(awaitDrained(context, daemon, names, interruptsBefore, !args.isJson()));
    }
    if (args.isJson()) {
        ASSIGN_OR_RETURN(const Json document, isBack ? Result<Json>(Json{{"undrained", names}})
                                                     : drainedJson(daemon, names));
        printDocument(context, document);
    }
    return kExitOk;
}

// Whether `words` are an action with the right number of nodes.
bool isChange(const std::vector<std::string>& words) {
    static const std::set<std::string> kOfSome = {"forget", "drain", "undrain"};
    return words.front() == "invite" ? words.size() == 2
                                     : kOfSome.contains(words.front()) && words.size() > 1;
}

Result<int> changeNodes(CliContext& context, client::DaemonClient& daemon, const ParsedArgs& args) {
    const std::string& what = args.words.front();
    const std::set<std::string> names(args.words.begin() + 1, args.words.end());
    if (what == "invite") {
        return inviteNode(context, daemon, args);
    }
    return what == "forget" ? forgetNodes(context, daemon, args, names)
                            : drainNodes(context, daemon, args, names);
}

}  // namespace

Result<int> runNodes(CliContext& context, const ParsedArgs& args) {
    if (!args.words.empty() && !isChange(args.words)) {
        return failUsage(context,
                         strCat("nodes ", args.words.front(),
                                ": write 'nodes invite NODE', or 'nodes forget', 'nodes drain' or "
                                "'nodes undrain' and one or more nodes; 'nodes' alone lists them"));
    }
    ASSIGN_OR_RETURN(const auto daemon, openDaemon(context));
    if (!args.words.empty()) {
        return changeNodes(context, *daemon, args);
    }
    ASSIGN_OR_RETURN(const auto nodes, daemon->nodes());
    const Samples samples = firstSamples(*daemon, context.clock, attached(nodes));
    if (args.isJson()) {
        Json list = jsonList(nodes);
        for (Json& node : list) {
            const auto sample = samples.find(node["name"].get<std::string>());
            node["sample"] = sample != samples.end() ? jsonOf(sample->second) : Json();
        }
        printDocument(context, {{"nodes", list}});
        return kExitOk;
    }
    Table table({{word::kNode.heading},
                 {"ROLE", Align::kLeft, 4, 3},
                 {word::kState.heading, Align::kLeft, 4, 3},
                 {word::kCores.heading, Align::kRight},
                 {word::kCpu.heading, Align::kRight},
                 {word::kMemory.heading, Align::kRight},
                 {word::kGpu.heading, Align::kLeft, 6},
                 {"FRAMES OUT", Align::kRight, 8, 2},
                 {"FRAMES IN", Align::kRight, 8, 2},
                 {"VERSION", Align::kLeft, 5, 2},
                 {"CPU MODEL", Align::kLeft, 12, 4},
                 {"UP", Align::kRight, 6, 1}});
    for (const values::NodeInfo& node : nodes) {
        const auto sample = samples.find(node.name);
        const bool isSeen = node.startedMs > 0;
        const bool isSampled = sample != samples.end();
        table.add({{node.name, Tone::kStrong},
                   roleOf(node),
                   {node.state, node.state == "attached" ? Tone::kPlain : Tone::kWarn},
                   isSeen ? std::to_string(node.cores) : "n/a",
                   isSampled ? session::percentText(sample->second.cpuPercent) : "n/a",
                   isSampled ? session::usedText(sample->second.memoryUsedBytes,
                                                 sample->second.memoryTotalBytes)
                   : isSeen  ? formatBytes(static_cast<double>(node.memoryBytes))
                             : "n/a",
                   {isSeen ? gpuText(node) : "n/a", node.gpus.empty() ? Tone::kDim : Tone::kPlain},
                   isSampled ? flowText(sample->second.framesSendBytesPerSecond) : "",
                   isSampled ? flowText(sample->second.framesReceiveBytesPerSecond) : "",
                   node.version,
                   node.cpuModel,
                   isSeen && node.awaySinceMs == 0 ? session::durationText(static_cast<double>(
                                                         context.clock.wallMs() - node.startedMs))
                                                   : "n/a"});
    }
    context.out << table.render(context.terminal) << std::flush;
    for (const values::NodeInfo& node : nodes) {
        if (!node.trouble.empty()) {
            context.err << paint(context.errorTerminal, Tone::kWarn, node.name + ":")
                        << (node.state == "refused" ? " its agent is refused: "
                                                    : " its agent cannot be started: ")
                        << shown(context.errorTerminal, node.trouble) << '\n';
        }
    }
    return kExitOk;
}

}  // namespace millrace::cli

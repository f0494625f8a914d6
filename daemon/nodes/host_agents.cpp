#include "daemon/nodes/host_agents.h"

#include <chrono>

#include "backend/core/log.h"
#include "backend/core/stop_wait.h"
#include "backend/core/thread.h"
#include "backend/system/agent_script.h"
#include "backend/system/subprocess.h"
#include "backend/text/utf8.h"
#include "daemon/nodes/start_pace.h"

namespace millrace::nodes {
namespace {

constexpr std::chrono::milliseconds kLook{500}, kStartTimeout{60'000};
constexpr std::size_t kWordsBytesMax = 500;
constexpr std::int64_t kOutputBytesMax = 1 << 20;

// Forwards and runs nothing of the user's configuration, and never prompts.
std::vector<std::string> sshArguments(const HostAgentsOptions& options, const Address& host) {
    std::vector<std::string> argv = {options.sshProgram, "-T", "-a", "-x"};
    if (!options.sshConfig.empty()) {
        argv.insert(argv.end(), {"-F", options.sshConfig});
    }
    if (host.port != 0) {
        argv.insert(argv.end(), {"-p", std::to_string(host.port)});
    }
    if (!host.user.empty()) {
        argv.insert(argv.end(), {"-l", host.user});
    }
    for (const char* setting :
         {"BatchMode=yes", "ControlMaster=no", "ControlPath=none", "ClearAllForwardings=yes",
          "PermitLocalCommand=no", "RemoteCommand=none", "RequestTTY=no", "ServerAliveInterval=5",
          "ServerAliveCountMax=3", "ConnectTimeout=10"}) {
        argv.insert(argv.end(), {"-o", setting});
    }
    argv.insert(argv.end(), {"--", host.host, "sh -s"});
    return argv;
}

// Returns the last line of ssh, or of what it started.
std::string lastWords(std::string_view text) {
    const std::size_t end = text.find_last_not_of("\r\n ");
    text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
    const std::size_t begin = text.find_last_of("\r\n");
    text = begin == std::string_view::npos ? text : text.substr(begin + 1);
    return toUtf8(text.substr(0, kWordsBytesMax));
}

bool isThere(const agent::NodeTable& table, const std::string& name) {
    return table.standing(name).isThere;
}

}  // namespace

HostAgents::HostAgents(HostAgentsOptions options, agent::NodeTable& table,
                       agent::JoinTokens& tokens, const Clock& clock)
    : options_(std::move(options)), table_(table), tokens_(tokens), clock_(clock) {
    for (const Address& host : options_.hosts) {
        table_.expect(host.host, "");
        threads_.push_back(startThread(
            "host-agent", [this, &host](const std::stop_token& stop) { keep(host, stop); }));
    }
}

HostAgents::~HostAgents() {
    for (std::jthread& thread : threads_) {
        thread.request_stop();
    }
}

// Starts no agent once the head was told to go down.
void HostAgents::keep(const Address& host, const std::stop_token& stop) {
    const std::string& name = host.host;
    StartPace pace(clock_.steadyNs(), options_.mayComeBack);
    std::string told;
    while (!stop.stop_requested() && !table_.isOver()) {
        if (pace.isDue(clock_.steadyNs(), isThere(table_, name))) {
            const std::string why(messageOf(startOn(host, stop)));
            pace.started(clock_.steadyNs());
            if (!stop.stop_requested() && !isThere(table_, name)) {
                table_.expect(name, why);
            }
            if (why.empty()) {
                logInfo("nodes: agent started", {{"host", host.text()}});
            } else if (why != told && !stop.stop_requested()) {
                logWarn("nodes: an agent cannot be started", {{"host", host.text()}, {"why", why}});
            }
            told = why;
        }
        waitForStop(stop, kLook);
    }
}

Status HostAgents::startOn(const Address& host, const std::stop_token& stop) const {
    ASSIGN_OR_RETURN(const std::string joinFile, tokens_.invite(host.host));
    SubprocessOptions ssh;
    ssh.argv = sshArguments(options_, host);
    ssh.input = agentScript(host.host, joinFile);
    ssh.timeout = kStartTimeout;
    ssh.maxOutputBytes = kOutputBytesMax;
    ssh.isUnwanted = [this, &stop] { return stop.stop_requested() || table_.isOver(); };
    ASSIGN_OR_RETURN(const SubprocessOutput output, Subprocess::run(ssh));
    if (output.exitCode == 0) {
        return okStatus();
    }
    const std::string words = lastWords(output.err);
    return unavailable(words.empty() ? strCat("ssh ended with exit code ", output.exitCode)
                                     : words);
}

}  // namespace millrace::nodes

// millraced: reads its configuration, locks its state directory and socket, and serves until it is
// told to end.
//
// SIGTERM and SIGINT end the daemon only; its workers continue and are adopted by the next one. A
// `down` in progress is finished first, unless a second signal arrives.
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "backend/core/build_id.h"
#include "backend/core/clock.h"
#include "backend/core/exit_codes.h"
#include "backend/core/log.h"
#include "backend/core/standard_output.h"
#include "backend/filesystem/directories.h"
#include "daemon/agent/head.h"
#include "daemon/config/background.h"
#include "daemon/config/daemon_config.h"
#include "daemon/config/daemon_locks.h"
#include "daemon/config/installed_program.h"
#include "daemon/nodes/agent_listener.h"
#include "daemon/nodes/head_link.h"
#include "daemon/nodes/host_agents.h"
#include "daemon/nodes/slot.h"
#include "daemon/rpc/rpc_server.h"

namespace millrace {
namespace {

constexpr int kFailed = 1, kUsage = 2, kRefused = 4;

void endThisProcess() {
    ::kill(::getpid(), SIGTERM);
}

// Ends like after a SIGKILL: the store belongs to another daemon now, and an orderly end writes to
// it.
[[noreturn]] void leaveAtOnce(const Status& why) {
    logError("daemon: ends at once", {{"why", messageOf(why)}});
    ::_exit(kFailed);
}

// Called before any thread is started, so that all of them inherit it.
sigset_t blockSignals() {
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
        ::sigaddset(&signals, number);
    }
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    return signals;
}

// A `down` sends a SIGTERM of its own when it is done. The wait is shorter than TimeoutStopSec of
// packaging/systemd/millraced.service, so that the daemon ends by itself, not by SIGKILL.
int waitForEnd(const sigset_t& signals, const agent::RunController& controller) {
    constexpr timespec kDownWait{75, 0};
    int number = 0;
    do {
        ::sigwait(&signals, &number);
    } while (number == SIGHUP);
    if (controller.isGoingDown()) {
        logInfo("daemon: ends when the down that is under way is done", {{"signal", number}});
        sigset_t ends = signals;
        ::sigdelset(&ends, SIGHUP);
        (void)::sigtimedwait(&ends, nullptr, &kDownWait);
    }
    return number;
}

void raiseFileLimit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

// The store's write-ahead log and the locks of the state directory work on one machine only.
void warnOfNetworkFileSystem(const std::string& path) {
    if (const std::string kind = networkFileSystemOf(path); !kind.empty()) {
        logWarn(
            "daemon: the state directory is on a network file system, where locks and syncs "
            "may not hold; use a local disk",
            {{"state", path}, {"file_system", kind}});
    }
}

// Sets up log, signals and descriptors, for daemon and agent. Returns the signals that end them.
Result<sigset_t> beginServing(const config::DaemonConfig& config, const config::StateLock& lock,
                              bool& isLogging) {
    if (!config.logFile.empty()) {
        RETURN_IF_ERROR(config::redirectOutput(config.logFile));
        isLogging = true;
    }
    warnOfNetworkFileSystem(config.stateDir);
    if (!lock.takenFrom().empty()) {
        logWarn("daemon: takes the state directory over",
                {{"state", config.stateDir}, {"from", lock.takenFrom()}});
    }
    const sigset_t signals = blockSignals();
    raiseFileLimit();
    return signals;
}

// `isLogging`: stderr has become the log file.
Status serve(const config::DaemonConfig& asked, config::ReadyNotice& notice, bool& isLogging) {
    config::DaemonConfig config = asked;
    ASSIGN_OR_RETURN(config::DaemonLocks daemonLocks, config::takeDaemonLocks(config));
    const bool wasListening = nodes::listenAsBefore(config);
    if (!config.trainsHere && config.nodesListen.empty()) {
        return invalidArgument(
            "--no-train-here (here.train: false): there would be nowhere to run; give "
            "--nodes-listen too, where agents of other nodes come");
    }
    ASSIGN_OR_RETURN(const sigset_t signals, beginServing(config, daemonLocks.state, isLogging));
    const config::Heartbeat heartbeat(daemonLocks.state, config::StateLock::kBeat, &leaveAtOnce);
    const SystemClock clock;
    ASSIGN_OR_RETURN(const auto head, agent::Head::open(config, clock));
    ASSIGN_OR_RETURN(auto server, rpc::RpcServer::start(
                                      {config, head->runs(), head->controller(), head->telemetry(),
                                       head->nodes(), head->tokens(), head->inspection(),
                                       head->inspector(), head->store(), clock, &endThisProcess}));
    std::unique_ptr<nodes::AgentListener> agents;
    if (!config.nodesListen.empty()) {
        ASSIGN_OR_RETURN(agents, nodes::AgentListener::open(
                                     config, std::string(buildId()), head->nodes(), head->tokens(),
                                     clock, [&head](const auto& run, const auto& checkpoint) {
                                         return head->checkpoints().add(run, checkpoint);
                                     }));
        logInfo("daemon: agents may come",
                {{"file", config.nodesJoinFile()}, {"address", agents->address()}});
    }
    nodes::HostAgentsOptions hosts{config.hosts, config.sshConfig};
    hosts.mayComeBack = wasListening;
    const nodes::HostAgents hostAgents(std::move(hosts), head->nodes(), head->tokens(), clock);
    logInfo("daemon: serves", {{"address", server->address()},
                               {"state", config.stateDir},
                               {"pid", ::getpid()},
                               {"version", config::daemonVersion()},
                               {"build", buildId()}});
    notice.tellReady();
    const int number = waitForEnd(signals, head->controller());
    logInfo("daemon: ends", {{"signal", number}});
    server.reset();
    return okStatus();
}

// Waits until the agent ends by itself or a signal ends it. A bound agent leaves first: the head
// starts elsewhere what is here, unless a second signal arrives.
int waitForSlotsEnd(const sigset_t& signals, bool isBound, nodes::Slot& slot) {
    int number = 0;
    for (bool isLeaving = false;; isLeaving = true) {
        do {
            ::sigwait(&signals, &number);
        } while (number == SIGHUP);
        if (!isBound || isLeaving || slot.isOver()) {
            return number;
        }
        slot.leave();
    }
}

// Prints to the terminal, because a person who starts an agent in the background does not see its
// log. A missing file is not an error: a head that is starting may still write it.
Status lookAtJoinFile(const std::string& path) {
    const Status status = nodes::checkJoinFile(path);
    if (absl::IsNotFound(status)) {
        std::fprintf(stderr,
                     "millraced: waits for the join file %s; its head writes it, or "
                     "'millrace nodes invite NAME' there\n",
                     path.c_str());
        return okStatus();
    }
    return status;
}

// kAborted: another agent has the directory. Unlike the owner of a node name, that agent may end,
// so a retry makes sense.
Result<config::StateLock> takeAgentsDirectory(const config::DaemonConfig& config) {
    Result<config::StateLock> lock = config::takeStateDirectory(config);
    if (absl::IsAlreadyExists(lock.status())) {
        return Status(absl::StatusCode::kAborted, lock.status().message());
    }
    return lock;
}

// Serves as the agent of a node. SIGTERM ends only the agent; its workers continue and are adopted
// by the next one. `isOtherBuild`: its head refuses it for its build.
Status serveSlot(const config::DaemonConfig& config, config::ReadyNotice& notice, bool& isLogging,
                 bool& isOtherBuild) {
    isOtherBuild = false;
    if (notice.isAwaited()) {
        RETURN_IF_ERROR(lookAtJoinFile(config.joinFile));
    }
    ASSIGN_OR_RETURN(config::StateLock lock, takeAgentsDirectory(config));
    ASSIGN_OR_RETURN(const sigset_t signals, beginServing(config, lock, isLogging));
    Status status = okStatus();
    bool isOver = false;
    {
        const config::Heartbeat heartbeat(lock, config::StateLock::kBeat, &leaveAtOnce);
        const SystemClock clock;
        ASSIGN_OR_RETURN(const auto slot, nodes::Slot::start(config, std::string(buildId()), clock,
                                                             &endThisProcess));
        logInfo("slot: serves", {{"head", config.joinFile},
                                 {"state", config.stateDir},
                                 {"pid", ::getpid()},
                                 {"build", buildId()}});
        notice.tellReady();
        const int number = waitForSlotsEnd(signals, config.isBound, *slot);
        isOver = slot->isOver();
        status = slot->failure();
        isOtherBuild = absl::IsFailedPrecondition(status);
        logInfo("slot: ends",
                {isOver ? LogField{"why", status.ok() ? "its head knows" : messageOf(status)}
                        : LogField{"signal", number}});
    }
    // With another build, the program that replaces this one takes over the directory.
    if (config.isBound && isOver && !isOtherBuild) {
        const Status removed = config::removeOwnDirectory(config, !status.ok());
        RETURN_IF_ERROR(status.ok() ? removed : status);
    }
    return status;
}

// An agent that its head refuses for its build is replaced by the installed program. If that is the
// same build it looks again from time to time, unless its workers have ended with it.
Status serveSlots(const config::CommandLine& line, const std::vector<std::string>& arguments,
                  config::ReadyNotice& notice, bool& isLogging) {
    constexpr timespec kBetweenLooks{20, 0};
    bool isOtherBuild = false;
    Status status = serveSlot(line.config, notice, isLogging, isOtherBuild);
    while (isOtherBuild) {
        config::becomeInstalled(line.config, arguments, buildId());
        if (line.config.isBound) {
            break;
        }
        logWarn("slot: waits for the head's build to be installed here",
                {{"seconds", kBetweenLooks.tv_sec}});
        sigset_t ends = blockSignals();
        ::sigdelset(&ends, SIGHUP);
        if (::sigtimedwait(&ends, nullptr, &kBetweenLooks) > 0) {
            return okStatus();
        }
        status = serveSlot(line.config, notice, isLogging, isOtherBuild);
    }
    return status;
}

// systemd restarts an agent except after kRefused (RestartPreventExitStatus).
int failureCode(bool isSlot, const Status& why) {
    return !isSlot                 ? kFailed
           : nodes::isRefusal(why) ? kRefused
           : absl::IsAborted(why)  ? kExitServed
                                   : kFailed;
}

int run(const std::vector<std::string>& arguments) {
    const Result<config::CommandLine> line =
        config::parseCommandLine(arguments, config::ProcessEnvironment::ofThisProcess(buildId()));
    if (!line.ok()) {
        std::fprintf(stderr, "millraced: %s\n", std::string(messageOf(line.status())).c_str());
        return kUsage;
    }
    if (!line->print.empty()) {
        return endWithText("millraced", line->print) == 0 ? 0 : kFailed;
    }
    config::ReadyNotice notice;
    if (!line->config.isForeground) {
        Result<config::ReadyNotice> background = config::goToBackground();
        if (!background.ok()) {
            std::fprintf(stderr, "millraced: %s\n",
                         std::string(messageOf(background.status())).c_str());
            return kFailed;
        }
        notice = std::move(*background);
    }
    bool isLogging = false;
    const Status status = line->config.isSlot ? serveSlots(*line, arguments, notice, isLogging)
                                              : serve(line->config, notice, isLogging);
    if (status.ok()) {
        return 0;
    }
    const int code = failureCode(line->config.isSlot, status);
    // A waiting starter prints the error on the terminal.
    const bool isHeard = notice.tellFailure(messageOf(status), code);
    if (!isHeard || isLogging) {
        std::fprintf(stderr, "millraced: %s\n", std::string(messageOf(status)).c_str());
    }
    return code;
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
    return millrace::run({argv + 1, argv + argc});
}

#include <chrono>
#include <filesystem>
#include <thread>

#include "app/cli/commands.h"
#include "app/cli/frame/json_shapes.h"
#include "app/cli/help.h"
#include "app/cli/node_commands.h"
#include "app/cli/parse.h"
#include "app/cli/remote/remote_commands.h"
#include "app/tui/figures.h"
#include "backend/filesystem/files.h"
#include "backend/system/subprocess.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using tui::Tone;

constexpr int kStartPolls = 100, kPollMs = 50;

void printStatus(CliContext& context, const ParsedArgs& args, const values::DaemonStatus& status,
                 bool wasThere) {
    if (args.isJson()) {
        printDocument(context, {{"daemon", jsonOf(status)}, {"was_running", wasThere}});
        return;
    }
    context.out << (wasThere ? "already running: " : "started: ") << "millraced " << status.version
                << " at " << status.address << " (pid " << status.pid << ", runs in "
                << status.stateDir << ")\n";
    if (wasThere && status.runsRunning + status.runsQueued > 0) {
        context.out << session::countText(status.runsRunning, "run") << " running, "
                    << status.runsQueued << " queued\n";
    }
    for (const std::string& warning : status.warnings) {
        context.err << paint(context.errorTerminal, Tone::kWarn, "warning:") << ' ' << warning
                    << '\n';
    }
}

Result<std::vector<std::string>> daemonArguments(const CliContext& context, const ParsedArgs& args,
                                                 const Address& address) {
    std::vector<std::string> argv = {context.programDirectory + "/millraced", "--socket",
                                     address.text()};
    for (const char* option : {"--state-dir", "--bin-dir", "--log-file", "--config", "--tls-cert",
                               "--tls-key", "--tls-ca"}) {
        if (args.has(option)) {
            argv.insert(argv.end(), {option, args.text(option)});
        }
    }
    for (const char* flag : {"--insecure-loopback", "--no-train-here", "--take-over"}) {
        if (args.has(flag)) {
            argv.emplace_back(flag);
        }
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> nodes, nodesArguments(args));
    argv.insert(argv.end(), nodes.begin(), nodes.end());
    return argv;
}

// Starts a daemon: it moves to the background by itself, and its starter ends when it serves.
Result<values::DaemonStatus> startDaemon(CliContext& context, const ParsedArgs& args,
                                         const Address& address) {
    SubprocessOptions options;
    ASSIGN_OR_RETURN(options.argv, daemonArguments(context, args, address));
    options.newSession = true;
    ASSIGN_OR_RETURN(Subprocess starter, Subprocess::start(options));
    ASSIGN_OR_RETURN(const int code, starter.wait());
    if (code != 0) {
        return failedPrecondition("the daemon did not start (exit code ", code,
                                  "); its sentence is above");
    }
    Result<values::DaemonStatus> status = unavailable("");
    for (int poll = 0; poll < kStartPolls; ++poll) {
        status = context.connect(address)->status();
        if (status.status().code() != absl::StatusCode::kUnavailable) {
            break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
    }
    return status;
}

Result<values::DaemonStatus> startOnHost(CliContext& context, const ParsedArgs& args,
                                         const Address& address) {
    RETURN_IF_ERROR(startThere(context, args, address));
    return context.connect(address)->status();
}

// Reports options that do not apply to this address, as a sentence; "" if there are none.
std::string misplaced(const ParsedArgs& args, const Address& address) {
    const std::vector<const char*> wrong =
        address.isSsh ? std::vector<const char*>{"--tls-cert", "--tls-key", "--tls-ca",
                                                 "--insecure-loopback", "--hosts"}
                      : std::vector<const char*>{"--install"};
    for (const char* option : wrong) {
        if (args.has(option)) {
            return strCat(option, address.isSsh ? ": not for a daemon behind ssh"
                                                : ": only with --host ssh://HOST");
        }
    }
    if (const auto nodes = args.number("--nodes", 1); nodes < 1 || nodes > kNodesMost) {
        return strCat("--nodes: 1 to ", kNodesMost, " are wanted, the daemon's own included");
    }
    return args.has("--programs") && !args.has("--install") ? "--programs: only with --install"
                                                            : "";
}

// Requested settings that the running daemon does not have; "": none. Relative paths on another
// host cannot be compared here.
std::string otherSettings(const ParsedArgs& args, const values::DaemonStatus& there, bool isSsh) {
    struct Setting {
        const char* option;
        const std::string& has;
        bool isPath;
    };
    std::error_code error;
    const std::string here = std::filesystem::current_path(error).string();
    std::string others;
    const auto add = [&](const auto&... words) {
        strAppend(&others, others.empty() ? "" : ", ", words...);
    };
    for (const Setting& one :
         {Setting{"--state-dir", there.stateDir, true}, Setting{"--bin-dir", there.binDir, true},
          Setting{"--log-file", there.logFile, true}, Setting{"--config", there.configFile, true},
          Setting{"--nodes-listen", there.nodesListen, false},
          Setting{"--nodes-address", there.nodesAddress, false}}) {
        const std::string given = args.text(one.option);
        const bool isKnown = !(isSsh && one.isPath && !given.starts_with('/'));
        const std::string wanted = one.isPath && !isSsh ? absolutePath(given, here) : given;
        if (args.has(one.option) && isKnown && wanted != one.has) {
            add(one.option, " ", wanted, " (it has ", one.has.empty() ? "none" : one.has, ")");
        }
    }
    if (args.has("--no-train-here") && !there.isClosed) {
        add("--no-train-here (its machine trains)");
    }
    return others;
}

}  // namespace

Result<int> runUp(CliContext& context, const ParsedArgs& args) {
    ASSIGN_OR_RETURN(const Address address, daemonAddress(context));
    if (const std::string wrong = misplaced(args, address); !wrong.empty()) {
        return failUsage(context, wrong);
    }
    const Result<values::DaemonStatus> there = context.connect(address)->status();
    if (there.ok()) {
        if (const auto others = otherSettings(args, *there, address.isSsh); !others.empty()) {
            return failedPrecondition("the daemon at ", there->address, " (pid ", there->pid,
                                      ") runs already, without ", others,
                                      "; 'millrace down' ends it and its runs, with a checkpoint: "
                                      "then give this command again");
        }
        printStatus(context, args, *there, true);
        return startNodes(context, args, address, *there);
    }
    if (there.status().code() != absl::StatusCode::kUnavailable) {
        return there.status();
    }
    ASSIGN_OR_RETURN(const values::DaemonStatus started, address.isSsh
                                                             ? startOnHost(context, args, address)
                                                             : startDaemon(context, args, address));
    printStatus(context, args, started, false);
    return startNodes(context, args, address, started);
}

Result<int> runDown(CliContext& context, const ParsedArgs& args) {
    ASSIGN_OR_RETURN(const Address address, daemonAddress(context));
    const Result<values::DownReport> report =
        context.connect(address)->down(args.number("--grace", 0));
    const bool wasThere = report.status().code() != absl::StatusCode::kUnavailable;
    if (wasThere && !report.ok()) {
        return report.status();
    }
    for (int poll = 0; wasThere && poll < kStartPolls; ++poll) {
        if (context.connect(address)->status().status().code() == absl::StatusCode::kUnavailable) {
            break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
    }
    const values::DownReport done = wasThere ? *report : values::DownReport{};
    if (args.isJson()) {
        printDocument(context, {{"was_running", wasThere},
                                {"runs_stopped", done.runsStopped},
                                {"workers_ended", done.workersEnded},
                                {"runs_queued", done.runsQueued},
                                {"runs_left", done.runsLeft}});
    } else if (!wasThere) {
        context.out << "no daemon was running at " << address.text() << '\n';
    } else {
        context.out << "stopped: " << session::countText(done.runsStopped - done.runsLeft, "run")
                    << ", " << session::countText(done.workersEnded, "worker") << " ended, "
                    << session::countText(done.runsQueued, "run")
                    << (done.runsQueued == 1 ? " stays queued\n" : " stay queued\n");
    }
    if (done.runsLeft > 0) {
        return deadlineExceeded(session::countText(done.runsLeft, "run"),
                                " did not end in time; the next daemon ('millrace up') "
                                "takes over what is left");
    }
    return kExitOk;
}

Result<int> runSocketPath(CliContext& context, const ParsedArgs& args) {
    std::string path = defaultSocketPath();
    bool isThere = false;
    for (const std::string& usual : usualSocketPaths()) {
        if (context.connect(Address{usual, "", 0})->handshake().ok()) {
            path = usual;
            isThere = true;
            break;
        }
    }
    if (args.isJson()) {
        printDocument(context, {{"socket", path}, {"running", isThere}});
    } else {
        context.out << path << '\n';
    }
    return kExitOk;
}

Result<int> runVersion(CliContext& context, const ParsedArgs& args) {
    if (args.isJson()) {
        printDocument(context, {{"version", kVersion}, {"build", context.build}});
    } else {
        context.out << "millrace " << kVersion << ", build " << context.build << '\n';
    }
    return kExitOk;
}

Result<int> runHelp(CliContext& context, const ParsedArgs& args) {
    if (args.has("--markdown")) {
        context.out << markdownReference();
        return kExitOk;
    }
    if (args.words.empty()) {
        context.out << generalHelp(context.terminal);
        return kExitOk;
    }
    const CommandSpec* command = findCommand(args.words.front());
    if (command == nullptr) {
        return asUsage(unknownCommand(args.words.front()));
    }
    context.out << commandHelp(*command, context.terminal);
    return kExitOk;
}

Result<int> runCompletion(CliContext& context, const ParsedArgs& args) {
    ASSIGN_OR_RETURN(const std::string script, asUsage(completionScript(args.words.front())));
    context.out << script;
    return kExitOk;
}

}  // namespace millrace::cli

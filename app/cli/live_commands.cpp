#include <algorithm>

#include "app/cli/commands.h"
#include "app/cli/follow.h"
#include "app/cli/frame/json_shapes.h"
#include "app/session/follower.h"
#include "app/session/run_names.h"
#include "app/tui/figures.h"
#include "app/tui/glyphs.h"
#include "app/tui/top_view.h"

namespace millrace::cli {
namespace {

using tui::Tone;

constexpr std::int64_t kFirstSampleNs = 5'000'000'000;

void printLogLine(CliContext& context, const values::LogLine& line, bool isJson) {
    if (isJson) {
        Json object = jsonOf(line);
        object["type"] = "log";
        printLine(context, std::move(object));
        return;
    }
    context.out << paint(context.terminal, Tone::kDim, formatTime(line.timeMs)) << ' '
                << paint(context.terminal, Tone::kAccent, tui::padRight(line.worker, 6)) << ' '
                << shown(context.terminal, line.text) << '\n';
}

// Prints lines as they arrive, until the stream ends or Ctrl-C.
Result<int> streamLogs(CliContext& context, client::DaemonClient& daemon,
                       const session::FollowOptions& options, bool isJson) {
    session::Follower follower(daemon, context.clock, options);
    const int interruptsBefore = context.interrupts.load();
    bool hasLines = false;
    ConnectionTimeout absence(daemon);
    session::Link link;
    while (context.interrupts.load() == interruptsBefore) {
        if (context.isOutputLost()) {
            return kExitOk;
        }
        const auto event = follower.next(std::chrono::milliseconds(100));
        if (absence.isTooLong(link, context.clock.steadyNs())) {
            return unavailable(link.sentence);
        }
        if (!event) {
            continue;
        }
        if (const auto* logs = std::get_if<session::LogsAdded>(&*event)) {
            if (logs->droppedLines > 0) {
                context.err << "lines are missing here: they had left the bounded log\n";
            }
            hasLines = hasLines || !logs->lines.empty();
            for (const values::LogLine& line : logs->lines) {
                printLogLine(context, line, isJson);
            }
            context.out.flush();
        } else if (const auto* problem = std::get_if<session::Problem>(&*event)) {
            return problem->status;
        } else if (std::holds_alternative<session::AllEnded>(*event)) {
            break;
        } else if (const auto* changed = std::get_if<session::LinkChanged>(&*event)) {
            link = changed->link;
            if (link.state == session::LinkState::kReconnecting && !options.followLogs) {
                return unavailable(link.sentence);
            }
        }
    }
    if (!hasLines) {
        context.err << (options.logWorkers.empty()
                            ? "no log lines yet (--all: Millrace's own messages too)\n"
                            : "no log lines of such a worker; there are feed "
                              "and rank0, rank1, ...\n");
    }
    return kExitOk;
}

// Reads events until every connected node has sent a sample with its CPU use, which a probe's first
// sample lacks, or until five seconds have passed.
void gather(CliContext& context, session::Follower& follower, session::LiveModel& model) {
    const std::int64_t end = context.clock.steadyNs() + kFirstSampleNs;
    const auto isSampled = [&] {
        return !model.nodes.empty() && std::ranges::all_of(model.nodes, [](const auto& node) {
            return !session::isThere(node.second.info) || node.second.sample.cpuPercent;
        });
    };
    while (context.clock.steadyNs() < end) {
        const auto event = follower.next(std::chrono::milliseconds(isSampled() ? 150 : 500));
        if (event) {
            model.apply(*event, context.clock.wallMs());
        } else if (isSampled()) {
            break;
        }
    }
}

void printTopJson(CliContext& context, const session::LiveModel& model) {
    Json nodes = Json::array(), runs = Json::array();
    for (const auto& [name, node] : model.nodes) {
        Json one = jsonOf(node.info);
        one["sample"] = node.receivedMs != 0 ? jsonOf(node.sample) : Json();
        nodes.push_back(std::move(one));
    }
    for (const session::LiveRun* run : model.ordered()) {
        runs.push_back(jsonOf(run->summary));
    }
    printDocument(context, {{"nodes", nodes}, {"runs", runs}});
}

int topOnce(CliContext& context, client::DaemonClient& daemon, bool isJson,
            const session::FollowOptions& options) {
    session::LiveModel model = modelWithNodes(daemon);
    session::Follower follower(daemon, context.clock, options);
    gather(context, follower, model);
    if (isJson) {
        printTopJson(context, model);
        return kExitOk;
    }
    const int width = context.terminal.width > 0 ? context.terminal.width : 120;
    const int height = 12 + 2 * static_cast<int>(std::min<std::size_t>(30, model.runs.size()));
    tui::CellGrid grid(width, height, context.terminal.isUtf8);
    tui::TopView().draw(grid, model, context.clock.wallMs());
    std::vector<std::string> lines = grid.lines();
    lines.pop_back();  // the line with the keys
    while (!lines.empty() && lines.back().empty()) {
        lines.pop_back();
    }
    for (const std::string& line : lines) {
        context.out << line << '\n';
    }
    return kExitOk;
}

}  // namespace

Result<int> runLogs(CliContext& context, const ParsedArgs& args) {
    ASSIGN_OR_RETURN(const auto daemon, openDaemon(context));
    ASSIGN_OR_RETURN(const values::RunDetail run, session::findRun(*daemon, args.words.front()));
    session::FollowOptions options;
    options.runIds = {run.summary.id};
    options.withRuns = false;
    options.withLogs = true;
    options.logWorkers = args.list("--worker");
    options.logTail = args.number("--tail", 0);
    options.followLogs = args.has("--follow");
    options.logLevelMin = args.has("--all") ? values::LogLevel::kNone : values::LogLevel::kInfo;
    return streamLogs(context, *daemon, options, args.isJson());
}

Result<int> runTop(CliContext& context, const ParsedArgs& args) {
    ASSIGN_OR_RETURN(const auto daemon, openDaemon(context));
    session::FollowOptions options;
    options.withTelemetry = true;
    options.withNodes = true;
    const bool hasScreen = context.terminal.isTty && context.isInputTty && !args.has("--once");
    if (args.isJson() || !hasScreen) {
        return topOnce(context, *daemon, args.isJson(), options);
    }
    session::LiveModel model = modelWithNodes(*daemon);
    const Result<std::unique_ptr<tui::Screen>> screen = context.openScreen();
    if (!screen.ok()) {
        return topOnce(context, *daemon, false, options);
    }
    session::Follower follower(*daemon, context.clock, options);
    tui::TopView view;
    tui::runLiveLoop(**screen, follower, model, view, context.clock, context.interrupts, {});
    return kExitOk;
}

}  // namespace millrace::cli

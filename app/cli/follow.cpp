#include "app/cli/follow.h"

#include <algorithm>

#include "app/cli/follow_lines.h"
#include "app/cli/frame/json_shapes.h"
#include "app/cli/results.h"
#include "app/session/follower.h"
#include "app/tui/watch_view.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000, kAwayNs = 120 * kSecondNs,
                       kAwayOverSshNs = 24 * 3'600 * kSecondNs;

enum class Ending { kAllEnded, kLeft, kTimeout, kUnreachable, kProblem, kOutputLost };

struct Outcome {
    Ending ending = Ending::kAllEnded;
    Status status;
};

std::vector<std::string> idsOf(const std::vector<values::RunSummary>& runs) {
    std::vector<std::string> ids;
    for (const values::RunSummary& run : runs) {
        ids.push_back(run.id);
    }
    return ids;
}

session::LiveModel modelOf(client::DaemonClient& daemon, const FollowJob& job) {
    session::LiveModel model = job.isQuiet ? session::LiveModel() : modelWithNodes(daemon);
    for (const values::RunSummary& run : job.runs) {
        model.runs[run.id].summary = run;
    }
    return model;
}

session::FollowOptions optionsOf(const FollowJob& job) {
    session::FollowOptions options;
    options.runIds = idsOf(job.runs);
    options.withMetrics = !job.isQuiet;
    options.withLogs = job.form == FollowForm::kScreen;
    options.logTail = 200;
    options.withTelemetry = !job.isQuiet && job.form != FollowForm::kJson;
    return options;
}

Outcome followOnScreen(CliContext& context, client::DaemonClient& daemon, const FollowJob& job,
                       tui::Screen& screen) {
    session::LiveModel model = modelOf(daemon, job);
    session::Follower follower(daemon, context.clock, optionsOf(job));
    tui::WatchView view(idsOf(job.runs));
    const tui::LoopEnd end = tui::runLiveLoop(screen, follower, model, view, context.clock,
                                              context.interrupts, {job.leavesAtEnd});
    return {end == tui::LoopEnd::kAllEnded ? Ending::kAllEnded : Ending::kLeft, okStatus()};
}

Outcome followInLines(CliContext& context, client::DaemonClient& daemon, const FollowJob& job) {
    session::LiveModel model = modelOf(daemon, job);
    LinePrinter lines(context, job.isQuiet);
    JsonPrinter objects(context);
    FollowPrinter& printer =
        job.form == FollowForm::kJson ? static_cast<FollowPrinter&>(objects) : lines;
    session::Follower follower(daemon, context.clock, optionsOf(job));
    const int interruptsBefore = context.interrupts.load();
    const std::int64_t startNs = context.clock.steadyNs();
    ConnectionTimeout absence(daemon);
    for (;;) {
        const auto event = follower.next(std::chrono::milliseconds(100));
        const std::int64_t nowNs = context.clock.steadyNs();
        if (event) {
            model.apply(*event, context.clock.wallMs());
            printer.take(*event, model);
        }
        if (event && std::holds_alternative<session::Problem>(*event)) {
            return {Ending::kProblem, std::get<session::Problem>(*event).status};
        }
        if (model.hasEnded) {
            return {};
        }
        if (context.interrupts.load() != interruptsBefore) {
            return {Ending::kLeft, okStatus()};
        }
        if (!job.isQuiet && context.isOutputLost()) {
            return {Ending::kOutputLost, okStatus()};
        }
        if (absence.isTooLong(model.link, nowNs)) {
            return {Ending::kUnreachable, unavailable(model.link.sentence)};
        }
        if (job.timeoutSeconds > 0 && nowNs - startNs > job.timeoutSeconds * 1'000'000'000LL) {
            return {Ending::kTimeout,
                    deadlineExceeded("the runs had not ended after ", job.timeoutSeconds, " s")};
        }
    }
}

// The runs as they are now, in the order in which they were requested.
std::vector<values::RunDetail> lastWord(client::DaemonClient& daemon, const FollowJob& job) {
    std::vector<values::RunDetail> details;
    for (const values::RunSummary& run : job.runs) {
        Result<values::RunDetail> detail = daemon.get(run.id);
        if (detail.ok()) {
            details.push_back(*std::move(detail));
        } else {
            details.push_back({});
            details.back().summary = run;
        }
    }
    return details;
}

void printEnd(CliContext& context, const std::vector<values::RunDetail>& details,
              const Outcome& outcome, int code) {
    Json runs = Json::array();
    for (const values::RunDetail& detail : details) {
        Json run = jsonOf(detail.summary);
        run["receipt"] = detail.receipt ? jsonOf(*detail.receipt) : Json();
        run["weights_hash"] = detail.weightsHash.empty() ? Json() : Json(detail.weightsHash);
        run["checkpoint"] = detail.checkpoints.empty() ? Json() : jsonOf(detail.checkpoints.back());
        runs.push_back(std::move(run));
    }
    static constexpr const char* kReasons[] = {"ended", "left", "timeout", "unreachable",
                                               "problem"};
    printLine(context, {{"type", "end"},
                        {"reason", kReasons[static_cast<int>(outcome.ending)]},
                        {"ok", code == kExitOk && outcome.ending == Ending::kAllEnded},
                        {"exit_code", code},
                        {"runs", runs}});
}

void sayLeft(CliContext& context, const std::vector<values::RunSummary>& runs) {
    std::string ids;
    for (const values::RunSummary& run : runs) {
        if (!values::isEnded(run.state)) {
            ids += " " + run.id;
        }
    }
    if (!ids.empty()) {
        context.err << "The run goes on: 'millrace watch" << ids
                    << "' shows it again, 'millrace stop" << ids << "' ends it.\n";
    }
}

}  // namespace

FollowForm followForm(const CliContext& context, bool isJson, bool isPlain) {
    if (isJson) {
        return FollowForm::kJson;
    }
    const bool hasScreen = context.terminal.isTty && context.isInputTty && !isPlain;
    return hasScreen ? FollowForm::kScreen : FollowForm::kLines;
}

ConnectionTimeout::ConnectionTimeout(const client::DaemonClient& daemon)
    : mostNs_(daemon.address().rfind("ssh://", 0) == 0 ? kAwayOverSshNs : kAwayNs) {}

bool ConnectionTimeout::isTooLong(const session::Link& link, std::int64_t nowNs) {
    const bool isAway = link.state == session::LinkState::kReconnecting;
    sinceNs_ = !isAway ? 0 : sinceNs_ == 0 ? nowNs : sinceNs_;
    return isAway && nowNs - sinceNs_ > mostNs_;
}

session::LiveModel modelWithNodes(client::DaemonClient& daemon) {
    session::LiveModel model;
    if (const auto nodes = daemon.nodes(); nodes.ok()) {
        for (const values::NodeInfo& node : *nodes) {
            model.nodes[node.name].info = node;
        }
    }
    return model;
}

ExitCode exitCodeOf(const std::vector<values::RunSummary>& runs) {
    const auto any = [&](values::RunState state) {
        return std::ranges::any_of(
            runs, [&](const values::RunSummary& run) { return run.state == state; });
    };
    return any(values::RunState::kFailed)      ? kExitRunFailed
           : any(values::RunState::kCancelled) ? kExitCancelled
                                               : kExitOk;
}

int followRuns(CliContext& context, client::DaemonClient& daemon, const FollowJob& job) {
    Outcome outcome;
    bool isShown = false;
    if (job.form == FollowForm::kScreen) {
        Result<std::unique_ptr<tui::Screen>> screen = context.openScreen();
        if (screen.ok()) {
            outcome = followOnScreen(context, daemon, job, **screen);
            isShown = true;
        }
    }
    if (!isShown) {
        outcome = followInLines(context, daemon, job);
    }
    if (outcome.ending == Ending::kOutputLost) {
        return kExitOk;  // the runs continue, and nobody reads the rest
    }
    const std::vector<values::RunDetail> details = lastWord(daemon, job);
    std::vector<values::RunSummary> runs;
    for (const values::RunDetail& detail : details) {
        runs.push_back(detail.summary);
    }
    int code = exitCodeOf(runs);
    if (outcome.ending == Ending::kLeft) {
        code = kExitOk;
    } else if (!outcome.status.ok()) {
        code = fail(context, outcome.status);
    }
    if (job.form == FollowForm::kJson) {
        printEnd(context, details, outcome, code);
    } else if (outcome.ending == Ending::kLeft) {
        sayLeft(context, runs);
    } else if (job.printsResult && outcome.ending == Ending::kAllEnded) {
        context.out << '\n'
                    << resultTable(runs, context.terminal)
                    << countedRowsText(details, context.terminal)
                    << unknownIdsText(details, context.terminal);
        for (const values::RunSummary& run : runs) {
            if (run.state == values::RunState::kFailed) {
                context.err << paint(context.errorTerminal, tui::Tone::kBad, run.id) << ": "
                            << shown(context.errorTerminal, run.exitReason) << '\n';
            }
        }
    }
    return code;
}

}  // namespace millrace::cli

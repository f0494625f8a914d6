#include "app/cli/follow_lines.h"

#include <algorithm>
#include <set>

#include "app/cli/frame/json_shapes.h"
#include "app/cli/results.h"
#include "app/session/metric_catalogue.h"
#include "app/session/metric_sense.h"
#include "app/session/words.h"
#include "app/tui/figures.h"
#include "app/tui/glyphs.h"

namespace millrace::cli {
namespace {

using tui::Tone;

constexpr std::int64_t kLineEveryNs = 2'000'000'000;

// "  node CPU 98 %  GPU 83 %": all that runs on the node, not only this run. introduction() has
// already reported that a node has no GPU.
std::string nodeText(const session::LiveNode* node) {
    if (node == nullptr || node->receivedMs == 0) {
        return "";
    }
    std::string text = strCat("  ", session::word::kNode.label, " ", session::word::kCpu.label, " ",
                              session::percentText(node->sample.cpuPercent));
    return node->sample.gpus.empty()
               ? text
               : strCat(text, "  ", session::word::kGpu.label, " ", tui::gpuText(*node));
}

// "vm: 2 cores, AMD EPYC, no GPU (no NVIDIA driver)": the machine that trains.
std::string introduction(const values::NodeInfo& node) {
    std::string text = strCat(node.name, ": ", session::countText(node.cores, "core"));
    if (!node.cpuModel.empty()) {
        text += ", " + node.cpuModel;
    }
    if (node.gpus.empty()) {
        return text + ", " + tui::noGpuText(node);
    }
    for (const values::GpuInfo& gpu : node.gpus) {
        text += ", " + gpu.name;
    }
    return text;
}

std::string progressText(const session::LiveRun& run, const session::LiveNode* node,
                         std::int64_t nowMs) {
    const values::Progress& progress = run.summary.progress;
    const std::optional<double> old = run.oldRatesSeconds(nowMs);
    std::string text = "step " + tui::stepText(progress);
    if (const auto done = session::shareDone(run.summary)) {
        text += " (" + session::percentText(*done * 100) + ")";
    }
    if (progress.epochs > 1) {
        strAppend(&text, "  epoch ", std::min(progress.epoch + 1, progress.epochs), "/",
                  progress.epochs);
    }
    if (const auto loss = run.metric(values::metric::kLoss)) {
        strAppend(&text, "  ", session::metricLabel(values::metric::kLoss), " ",
                  session::numberText(loss));
    }
    if (const auto rate = run.summary.rate()) {
        text += "  " + session::numberText(rate) + " " +
                session::withAge(session::metricLabel(values::metric::kSamplesPerSecond), old);
    }
    const std::string stall = session::stallText(run.summary, old.has_value());
    text += stall == "-" ? "" : strCat("  ", session::word::kStall.label, " ", stall);
    const values::Phase phase = progress.phase;
    if (phase == values::Phase::kCheckpoint || phase == values::Phase::kEvaluating) {
        strAppend(&text, "  ", nameOf(phase));
    }
    text += nodeText(node);
    if (const auto left = run.secondsLeft(nowMs)) {
        strAppend(&text, "  ", session::word::kTimeLeft.label, " ", session::secondsText(left));
    }
    return text;
}

// A change in this text prints another line. It omits the figure after the colon of what a run
// waits for ("reads its checkpoints: 1.2 GB so far").
std::string newsOf(const values::RunSummary& run) {
    const bool hasEnded = values::isEnded(run.state);
    return strCat(run.stateWord(), "\n", run.attempt, "\n", hasEnded ? "" : run.trouble, "\n",
                  run.exitReason, "\n", run.queuedReason.substr(0, run.queuedReason.find(':')));
}

std::string stateText(const values::RunSummary& run) {
    std::string text(run.stateWord());
    const bool hasReason = run.state != values::RunState::kStopping || !run.trouble.empty();
    if (hasReason && !run.reason().empty()) {
        text += ": " + run.reason();
    }
    if (run.state == values::RunState::kStarting && run.attempt > 1) {
        strAppend(&text, " (attempt ", run.attempt, ")");
    }
    return text;
}

std::string timeText(std::int64_t utcMs) {
    return strCat(session::timeOfDay(utcMs), " ", session::zoneText(utcMs));
}

}  // namespace

void LinePrinter::line(const values::RunSummary& run, const std::string& text) {
    context_.out << paint(context_.terminal, Tone::kDim, timeText(context_.clock.wallMs())) << "  "
                 << paint(context_.terminal, Tone::kAccent, run.id) << "  "
                 << shown(context_.terminal,
                          tui::padRight(run.variation.empty() ? run.name : run.variation, 14))
                 << "  " << text << '\n'
                 << std::flush;
}

void LinePrinter::introduce(const session::LiveNode* node) {
    if (isQuiet_ || node == nullptr || node->info.name.empty() ||
        !introduced_.insert(node->info.name).second) {
        return;
    }
    context_.out << paint(context_.terminal, Tone::kDim, timeText(context_.clock.wallMs())) << "  "
                 << shown(context_.terminal, introduction(node->info)) << '\n';
}

void LinePrinter::takeRun(const session::LiveRun& run, const session::LiveNode* node) {
    const values::RunSummary& summary = run.summary;
    if (!values::isEnded(summary.state)) {
        introduce(node);
    }
    const std::string news = newsOf(summary);
    if (std::exchange(lastState_[summary.id], news) != news) {
        const std::string state = stateText(summary);
        if (!isQuiet_ || values::isEnded(summary.state)) {
            line(summary,
                 paint(context_.terminal, tui::toneOf(summary), shown(context_.terminal, state)));
        }
        lastLineNs_[summary.id] = context_.clock.steadyNs();
        return;
    }
    const std::int64_t nowNs = context_.clock.steadyNs();
    if (isQuiet_ || summary.progress.step == 0 || values::isEnded(summary.state) ||
        nowNs - lastLineNs_[summary.id] < kLineEveryNs) {
        return;
    }
    lastLineNs_[summary.id] = nowNs;
    line(summary, progressText(run, node, context_.clock.wallMs()));
}

void LinePrinter::takeMetrics(const session::MetricsAdded& added, const session::LiveModel& model) {
    std::map<std::int64_t, std::string> evaluations;
    std::map<std::int64_t, EvaluatedRows> rows;
    std::vector<std::string> names;
    std::set<std::uint32_t> keys;
    for (const values::MetricLine& line : added.lines) {
        for (const values::MetricValue& value : line.values) {
            if (keys.insert(value.key).second) {
                names.push_back(added.names->at(value.key));
            }
        }
    }
    names = session::eachOnce(std::move(names));
    for (const values::MetricLine& line : added.lines) {
        for (const values::MetricValue& value : line.values) {
            const std::string& name = added.names->at(value.key);
            rows[line.step].take(name, value.value);
            const bool isShown = std::ranges::find(names, name) != names.end();
            if (isShown && values::isEvalMetric(name) &&
                !session::isInternalMetric(name, value.value)) {
                evaluations[line.step] += strCat("  ", session::metricLabel(name).substr(5), " ",
                                                 session::numberText(value.value));
            }
        }
    }
    // A reader that joins a long run late gets only the newest evaluation.
    const bool isFirst = heardMetrics_.insert(added.runId).second;
    while (isFirst && evaluations.size() > 1) {
        evaluations.erase(evaluations.begin());
    }
    const auto run = model.runs.find(added.runId);
    for (const auto& [step, text] : evaluations) {
        if (!isQuiet_ && run != model.runs.end() && !run->second.summary.id.empty()) {
            line(run->second.summary,
                 strCat("evaluated at step ", step, ":", text, rows[step].text("  on ")));
        }
    }
}

void LinePrinter::takeLink(const session::Link& link) {
    if (link.state == session::LinkState::kReconnecting && !std::exchange(wasLost_, true)) {
        context_.err << "millrace: connection lost (" << link.sentence << "); trying again\n";
    }
    if (link.state == session::LinkState::kConnected && std::exchange(wasLost_, false)) {
        context_.err << "millrace: connected again\n";
    }
}

void LinePrinter::take(const session::FollowEvent& event, const session::LiveModel& model) {
    if (const auto* changed = std::get_if<session::RunChanged>(&event)) {
        takeRun(model.runs.at(changed->run.id), model.nodeOf(changed->run));
    } else if (const auto* added = std::get_if<session::MetricsAdded>(&event)) {
        takeMetrics(*added, model);
    } else if (const auto* link = std::get_if<session::LinkChanged>(&event)) {
        takeLink(link->link);
    }
}

void JsonPrinter::takeRun(const values::RunSummary& run) {
    const std::string news = strCat(newsOf(run), "\n", run.standsSinceMs);
    if (std::exchange(lastState_[run.id], news) != news) {
        const Json whole = jsonOf(run);
        printLine(context_, {{"type", "state"},
                             {"run", run.id},
                             {"state", whole["state"]},
                             {"attempt", run.attempt},
                             {"queued_reason", whole["queued_reason"]},
                             {"exit_reason", whole["exit_reason"]},
                             {"trouble", whole["trouble"]},
                             {"stalled_since", whole["stalled_since"]}});
    }
    if (run.progress.step > 0 &&
        std::exchange(lastStep_[run.id], run.progress.step) != run.progress.step) {
        Json progress = progressJson(run);
        progress["type"] = "progress";
        progress["run"] = run.id;
        printLine(context_, std::move(progress));
    }
}

void JsonPrinter::take(const session::FollowEvent& event, const session::LiveModel&) {
    if (const auto* changed = std::get_if<session::RunChanged>(&event)) {
        takeRun(changed->run);
    } else if (const auto* added = std::get_if<session::MetricsAdded>(&event)) {
        for (const values::MetricLine& line : added->lines) {
            printLine(context_, jsonOf(added->runId, line, *added->names));
        }
    } else if (const auto* replaced = std::get_if<session::MetricsReplaced>(&event)) {
        printLine(context_, {{"type", "metrics_replaced"},
                             {"run", replaced->runId},
                             {"after_step", replaced->afterStep}});
    } else if (const auto* link = std::get_if<session::LinkChanged>(&event)) {
        const bool isConnected = link->link.state == session::LinkState::kConnected;
        printLine(context_, {{"type", "connection"},
                             {"connected", isConnected},
                             {"sentence", isConnected ? Json() : Json(link->link.sentence)}});
    }
}

}  // namespace millrace::cli

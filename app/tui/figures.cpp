#include "app/tui/figures.h"

#include "backend/core/status.h"

namespace millrace::tui {

Tone toneOf(values::RunState state) {
    switch (state) {
        case values::RunState::kFinished:
            return Tone::kGood;
        case values::RunState::kFailed:
            return Tone::kBad;
        case values::RunState::kCancelled:
        case values::RunState::kStopping:
            return Tone::kWarn;
        case values::RunState::kRunning:
        case values::RunState::kStarting:
            return Tone::kInfo;
        default:
            return Tone::kDim;
    }
}

Tone toneOf(const values::RunSummary& run) {
    if (run.isPurged()) {
        return Tone::kDim;
    }
    if (run.isStalled()) {
        return Tone::kBad;
    }
    return values::isEnded(run.state) || run.trouble.empty() ? toneOf(run.state) : Tone::kWarn;
}

std::string noGpuText(const values::NodeInfo& node) {
    const bool saysSo = node.gpuNote.rfind("no GPU", 0) == 0;
    return node.gpuNote.empty() ? "no GPU"
           : saysSo             ? node.gpuNote
                                : strCat("no GPU (", node.gpuNote, ")");
}

std::string gpuText(const session::LiveNode& node) {
    if (node.info.gpus.empty() && node.sample.gpus.empty()) {
        return node.info.name.empty() && node.receivedMs == 0 ? "-" : "no GPU";
    }
    return session::percentText(session::gpuPercent(node.sample));
}

std::string barTime(std::int64_t nowMs, int width) {
    constexpr int kRoomForZone = 64;
    const std::string time = session::timeOfDay(nowMs);
    return width < kRoomForZone ? time : strCat(time, " ", session::zoneText(nowMs));
}

std::string stepText(const values::Progress& progress) {
    return progress.stepsTotal > 0 ? strCat(progress.step, "/", progress.stepsTotal)
           : progress.step > 0     ? strCat(progress.step)
                                   : "-";
}

}  // namespace millrace::tui

#include "app/tui/figures.h"

#include "backend/core/status.h"

namespace millrace::tui {

Tone toneOf(client::RunState state) {
    switch (state) {
        case client::RunState::kFinished:
            return Tone::kGood;
        case client::RunState::kFailed:
            return Tone::kBad;
        case client::RunState::kCancelled:
        case client::RunState::kStopping:
            return Tone::kWarn;
        case client::RunState::kRunning:
        case client::RunState::kStarting:
            return Tone::kInfo;
        default:
            return Tone::kDim;
    }
}

Tone toneOf(const client::RunSummary& run) {
    if (run.isPurged()) {
        return Tone::kDim;
    }
    if (run.isStalled()) {
        return Tone::kBad;
    }
    return client::isEnded(run.state) || run.trouble.empty() ? toneOf(run.state) : Tone::kWarn;
}

std::string noGpuText(const client::NodeInfo& node) {
    const bool saysSo = node.gpuNote.rfind("no GPU", 0) == 0;
    return node.gpuNote.empty() ? "no GPU"
           : saysSo             ? node.gpuNote
                                : strCat("no GPU (", node.gpuNote, ")");
}

std::string gpuText(const session::LiveNode& node) {
    if (node.info.gpus.empty() && node.sample.gpus.empty()) {
        return node.info.name.empty() && node.receivedMs == 0 ? "-" : "no GPU";
    }
    return percentText(session::gpuPercent(node.sample));
}

std::string stepText(const client::Progress& progress) {
    return progress.stepsTotal > 0 ? strCat(progress.step, "/", progress.stepsTotal)
                                   : strCat(progress.step);
}

}  // namespace millrace::tui

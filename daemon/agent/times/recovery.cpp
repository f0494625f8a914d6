#include "daemon/agent/times/recovery.h"

#include <algorithm>

#include "backend/text/text.h"

namespace millrace::agent {
namespace {

std::string after(std::int64_t ns) {
    return strCat(" after ", formatDuration(static_cast<double>(ns) * 1e-9));
}

}  // namespace

void Recovery::noticed(std::int64_t sinceMs) {
    if (noticedNs_ == 0) {
        noticedNs_ = clock_.steadyNs();
        unnoticedMs_ = sinceMs == 0 ? 0 : std::max<std::int64_t>(0, clock_.wallMs() - sinceMs);
    }
}

void Recovery::look(const engines::State& gang) {
    if (gang.phase != engines::Phase::kStopping && gang.phase != engines::Phase::kEnded) {
        return;
    }
    std::int64_t firstMs = 0;
    for (const engines::WorkerState& worker : gang.workers) {
        const bool isFirst = firstMs == 0 || worker.endedMs < firstMs;
        firstMs = worker.exitCode.has_value() && isFirst ? worker.endedMs : firstMs;
    }
    noticed(firstMs);
}

void Recovery::failed(std::int64_t lastStep) {
    noticed(0);
    lastStep_ = lastStep;
    placedNs_ = loadedNs_ = 0;
}

void Recovery::placed() {
    if (!lastStep_.has_value()) {
        clear();  // what was noticed was not a failure
    }
    note(placedNs_);
}

void Recovery::note(std::int64_t& ns) const {
    if (lastStep_.has_value() && ns == 0) {
        ns = clock_.steadyNs();
    }
}

std::vector<std::string> Recovery::reached(std::int64_t step, std::int64_t resumeStep) {
    if (!lastStep_.has_value() || step <= resumeStep) {
        return {};
    }
    std::string text = "goes on again: noticed";
    text += unnoticedMs_ == 0 ? " at once" : after(unnoticedMs_ * 1'000'000);
    if (placedNs_ != 0) {
        strAppend(&text, ", workers started", after(placedNs_ - noticedNs_));
    }
    if (loadedNs_ != 0) {
        strAppend(&text, ", rank 0 loaded", after(loadedNs_ - noticedNs_));
    }
    strAppend(&text, ", first step", after(clock_.steadyNs() - noticedNs_));
    const std::int64_t repeated = std::max<std::int64_t>(0, *lastStep_ - resumeStep);
    strAppend(&text, "; steps repeated: ", repeated);
    clear();
    return {text};
}

void Recovery::clear() {
    noticedNs_ = placedNs_ = loadedNs_ = unnoticedMs_ = 0;
    lastStep_.reset();
}

}  // namespace millrace::agent

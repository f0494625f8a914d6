#include "backend/telemetry/sample_ring.h"

#include <algorithm>

#include "backend/core/status.h"

namespace millrace::telemetry {

SampleRing::SampleRing(std::size_t capacity) : capacity_(capacity) {
    INVARIANT(capacity > 0, "a ring needs room for one sample");
}

void SampleRing::add(NodeSample sample) {
    MutexLock lock(mutex_);
    if (samples_.size() >= capacity_) {
        samples_.pop_front();
    }
    samples_.push_back(std::move(sample));
    added_.notifyAll();
}

std::vector<NodeSample> SampleRing::since(std::int64_t timeMs) const {
    MutexLock lock(mutex_);
    std::vector<NodeSample> out;
    std::copy_if(samples_.begin(), samples_.end(), std::back_inserter(out),
                 [&](const NodeSample& sample) { return sample.timeMs > timeMs; });
    return out;
}

std::optional<NodeSample> SampleRing::latest() const {
    MutexLock lock(mutex_);
    return samples_.empty() ? std::nullopt : std::optional(samples_.back());
}

bool SampleRing::waitNewer(std::int64_t timeMs, std::chrono::milliseconds timeout) const {
    const auto end = std::chrono::steady_clock::now() + timeout;
    MutexLock lock(mutex_);
    while (samples_.empty() || samples_.back().timeMs <= timeMs) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            end - std::chrono::steady_clock::now());
        if (left.count() <= 0) {
            return false;
        }
        added_.waitFor(mutex_, left);
    }
    return true;
}

}  // namespace millrace::telemetry

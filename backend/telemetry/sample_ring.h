#pragma once
// SampleRing: the last N samples of a node, for whoever opens a view.
//
// Threads: any. Bounded: the oldest sample makes room.
#include <deque>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/telemetry/probes.h"

namespace millrace::telemetry {

class SampleRing {
 public:
    explicit SampleRing(std::size_t capacity);
    void add(NodeSample sample);
    /// Samples later than `timeMs`, oldest first.
    std::vector<NodeSample> since(std::int64_t timeMs) const;
    /// The newest one, or nothing.
    std::optional<NodeSample> latest() const;
    /// Blocks until there is a sample later than `timeMs` or the time is up.
    bool waitNewer(std::int64_t timeMs, std::chrono::milliseconds timeout) const;

 private:
    const std::size_t capacity_;
    mutable Mutex mutex_;
    mutable CondVar added_;
    std::deque<NodeSample> samples_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::telemetry

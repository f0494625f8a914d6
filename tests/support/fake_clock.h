#pragma once
// A clock for tests.
#include "backend/core/clock.h"
#include "backend/core/mutex.h"

namespace millrace {

/// Moves only when told to. Threads: any.
class FakeClock final : public Clock {
 public:
    explicit FakeClock(std::int64_t startMs = 1'700'000'000'000) : ms_(startMs) {}
    std::int64_t wallMs() const override {
        MutexLock lock(mutex_);
        return ms_;
    }
    std::int64_t steadyNs() const override { return wallMs() * 1'000'000; }
    void advanceMs(std::int64_t ms) {
        MutexLock lock(mutex_);
        ms_ += ms;
    }

 private:
    mutable Mutex mutex_;
    std::int64_t ms_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace

#pragma once
// BusyClock: sums up the time in which something was busy, over all that are busy at once: two that
// are busy for a second give two seconds. Used by the two ends of rings between machines.
//
// Threads: any.
#include <cstdint>
#include <utility>

#include "backend/core/clock.h"
#include "backend/core/mutex.h"

namespace millrace::wire {

class BusyClock {
 public:
    /// One more is busy, or one less.
    void begin() { change(1); }
    void end() { change(-1); }
    /// Returns the sum since the start, which includes those that are still busy.
    std::int64_t ns() {
        MutexLock lock(mutex_);
        advanceLocked();
        return sumNs_;
    }

    /// Busy as long as it exists.
    class Busy {
     public:
        explicit Busy(BusyClock& clock) : clock_(clock) { clock_.begin(); }
        ~Busy() { clock_.end(); }
        Busy(const Busy&) = delete;
        Busy& operator=(const Busy&) = delete;

     private:
        BusyClock& clock_;
    };

 private:
    void change(int by) {
        MutexLock lock(mutex_);
        advanceLocked();
        numBusy_ += by;
    }
    void advanceLocked() MR_REQUIRES(mutex_) {
        const std::int64_t now = SystemClock().steadyNs();
        sumNs_ += numBusy_ * (now - std::exchange(lastNs_, now));
    }

    Mutex mutex_;
    int numBusy_ MR_GUARDED_BY(mutex_) = 0;
    std::int64_t sumNs_ MR_GUARDED_BY(mutex_) = 0, lastNs_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::wire

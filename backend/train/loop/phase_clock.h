#pragma once
// PhaseClock: splits the trainer's time into phases; it is always in exactly one.
//
// An open phase counts at once, so no part ever falls and their sum is the time since the clock was
// made. Threads: one owner.
#include <cstdint>

#include "backend/core/clock.h"
#include "backend/values/phase_times.h"

namespace millrace::train {

class PhaseClock {
 public:
    using Phase = double values::PhaseTimes::*;

    /// Starts in the start phase.
    explicit PhaseClock(const Clock& clock) : clock_(clock), sinceNs_(clock.steadyNs()) {}

    /// Call when the first batch has arrived: ends the start phase.
    void endStart() {
        if (phase_ == &values::PhaseTimes::startMs) {
            enter(&values::PhaseTimes::busyMs);
        }
    }
    /// Time since the present phase, or the newest scope in it, began.
    double openMs() const { return msOf(clock_.steadyNs() - sinceNs_); }
    /// Ends the present phase and enters `phase`.
    void enter(Phase phase) {
        const std::int64_t now = clock_.steadyNs();
        times_.*phase_ += msOf(now - sinceNs_);
        sinceNs_ = now;
        phase_ = phase;
    }
    /// Times up to now.
    values::PhaseTimes times() const {
        values::PhaseTimes times = times_;
        times.*phase_ += msOf(clock_.steadyNs() - sinceNs_);
        return times;
    }

    /// Enters a phase for the lifetime of this object, then returns to the previous phase.
    class Scope {
     public:
        Scope(PhaseClock& clock, Phase phase) : clock_(clock), before_(clock.phase_) {
            clock_.enter(phase);
        }
        ~Scope() { clock_.enter(before_); }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

     private:
        PhaseClock& clock_;
        const Phase before_;
    };
    /// A wait for data interrupts steps; during the start, an evaluation or a checkpoint it counts
    /// as part of that phase.
    Phase waiting() const {
        return phase_ == &values::PhaseTimes::busyMs ? &values::PhaseTimes::stallMs : phase_;
    }

 private:
    static double msOf(std::int64_t ns) { return static_cast<double>(ns) * 1e-6; }

    const Clock& clock_;
    std::int64_t sinceNs_;
    Phase phase_ = &values::PhaseTimes::startMs;
    values::PhaseTimes times_;
};

}  // namespace millrace::train

#pragma once
// PhaseClock: what the trainer's time is spent on, by a clock that is always in one phase.
//
// An open phase counts at once, so no part ever falls and all of them together are the time since
// the clock was made. Threads: one owner.
#include <cstdint>

#include "backend/core/clock.h"
#include "backend/values/phase_times.h"

namespace millrace::train {

class PhaseClock {
 public:
    using Phase = double values::PhaseTimes::*;

    /// Begins with the start.
    explicit PhaseClock(const Clock& clock) : clock_(clock), sinceNs_(clock.steadyNs()) {}

    /// The first batch is there: the start is over.
    void endStart() {
        if (phase_ == &values::PhaseTimes::startMs) {
            enter(&values::PhaseTimes::busyMs);
        }
    }
    /// How long the present phase, or the newest scope in it, has lasted.
    double openMs() const { return msOf(clock_.steadyNs() - sinceNs_); }
    /// Ends the present phase and begins `phase`.
    void enter(Phase phase) {
        const std::int64_t now = clock_.steadyNs();
        times_.*phase_ += msOf(now - sinceNs_);
        sinceNs_ = now;
        phase_ = phase;
    }
    /// Up to now.
    values::PhaseTimes times() const {
        values::PhaseTimes times = times_;
        times.*phase_ += msOf(clock_.steadyNs() - sinceNs_);
        return times;
    }

    /// A phase for as long as this lives; then the one before goes on.
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
    /// A wait for data interrupts steps; within the start, an evaluation or a checkpoint it is part
    /// of these.
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

#pragma once
// PhaseTimes: how the time of a run, or of one of its ranks, was spent. Ranks report it, the daemon
// adds it up, and all user interfaces show it.
//
// The parts never fall and their sum is the wall time that they cover. A plain value.
#include <array>

namespace millrace::values {

/// Milliseconds each.
struct PhaseTimes {
    double busyMs = 0;        ///< in steps, and in everything that the parts below do not cover
    double stallMs = 0;       ///< waiting for data, including a wait that is not over
    double evaluateMs = 0;    ///< in evaluations, including waits for their rows
    double checkpointMs = 0;  ///< while steps are blocked for a checkpoint
    double startMs = 0;       ///< before the first batch of an attempt, and between attempts
    double endingMs = 0;      ///< after the last step, until the process has exited

    bool operator==(const PhaseTimes&) const = default;

    static constexpr std::array<double PhaseTimes::*, 6> parts() {
        return {&PhaseTimes::busyMs,       &PhaseTimes::stallMs, &PhaseTimes::evaluateMs,
                &PhaseTimes::checkpointMs, &PhaseTimes::startMs, &PhaseTimes::endingMs};
    }
    constexpr double sum() const {
        double all = 0;
        for (const auto part : parts()) {
            all += this->*part;
        }
        return all;
    }
    constexpr PhaseTimes& operator+=(const PhaseTimes& other) {
        for (const auto part : parts()) {
            this->*part += other.*part;
        }
        return *this;
    }
    constexpr PhaseTimes operator-(const PhaseTimes& earlier) const {
        PhaseTimes passed = *this;
        for (const auto part : parts()) {
            passed.*part -= earlier.*part;
        }
        return passed;
    }
    /// Share of the time spent waiting for data, percent; NaN if no time is covered.
    constexpr double stallPercent() const { return 100 * stallMs / sum(); }
};

}  // namespace millrace::values

#pragma once
// PhaseTimes: where the time of a run, or of one of its ranks, went; reported by ranks, summed by
// the daemon and shown by all faces.
//
// The parts never fall and their sum is the wall time that they cover. A plain value.
#include <array>

namespace millrace::values {

/// Milliseconds each.
struct PhaseTimes {
    double busyMs = 0;        ///< in steps, and in whatever the parts below do not name
    double stallMs = 0;       ///< waiting for data, a wait that is not over included
    double evaluateMs = 0;    ///< in evaluations, waiting for their rows included
    double checkpointMs = 0;  ///< while steps stood still for a checkpoint
    double startMs = 0;       ///< before the first batch of an attempt, and between attempts
    double endingMs = 0;      ///< after the last step, until the process has left

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
    /// Share of the time that was waited for data, percent; NaN where no time is covered.
    constexpr double stallPercent() const { return 100 * stallMs / sum(); }
};

}  // namespace millrace::values

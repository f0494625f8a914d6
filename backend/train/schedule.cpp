#include "backend/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace millrace::train {
namespace {

/// Progress from the end of the warm-up to the end of the schedule, 0 to 1.
double progressOf(const ScheduleOptions& schedule, std::int64_t update) {
    const auto done = static_cast<double>(update - schedule.warmupSteps);
    const auto all = static_cast<double>(schedule.steps - schedule.warmupSteps);
    return all > 0 ? std::clamp(done / all, 0.0, 1.0) : 1;
}

}  // namespace

double rateFactor(const ScheduleOptions& schedule, std::int64_t update) {
    using Kind = ScheduleOptions::Kind;
    const double warm =
        update < schedule.warmupSteps
            ? static_cast<double>(update) / static_cast<double>(schedule.warmupSteps)
            : 1;
    switch (schedule.kind) {
        case Kind::kConstant:
            return warm;
        case Kind::kLinear:
            return warm * (1 - (1 - schedule.final) * progressOf(schedule, update));
        case Kind::kCosine:
            return warm * (schedule.final +
                           (1 - schedule.final) *
                               (1 + std::cos(std::numbers::pi * progressOf(schedule, update))) / 2);
        case Kind::kStep:
            return warm * std::pow(schedule.factor,
                                   static_cast<double>((update - 1) / schedule.everySteps));
    }
    return warm;
}

OptimizerOptions scheduled(OptimizerOptions optimizer, const ScheduleOptions& schedule,
                           std::int64_t update) {
    optimizer.learningRate *= rateFactor(schedule, update);
    return optimizer;
}

double clipDivisor(double norm, double clipNorm) {
    return clipNorm > 0 ? std::max(1.0, (norm + kClipEpsilon) / clipNorm) : 1;
}

}  // namespace millrace::train

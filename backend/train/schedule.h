#pragma once
// Learning rate schedules and gradient clipping. Pure functions; formulas:
// docs/reference/models.md.
#include <cstdint>

#include "backend/train/optimizer.h"

namespace millrace::train {

struct ScheduleOptions {
    enum class Kind { kConstant, kLinear, kCosine, kStep };
    Kind kind = Kind::kConstant;
    std::int64_t warmupSteps = 0;  ///< updates over which the rate grows
    std::int64_t steps = 0;        ///< kLinear, kCosine: the update that reaches `final`
    double final = 0;              ///< kLinear, kCosine: final share of the rate
    std::int64_t everySteps = 0;   ///< kStep
    double factor = 1;             ///< kStep
};

/// Factor of the learning rates in update `update`, from 1.
double rateFactor(const ScheduleOptions& schedule, std::int64_t update);

/// Returns `optimizer` with its learning rate of that update.
OptimizerOptions scheduled(OptimizerOptions optimizer, const ScheduleOptions& schedule,
                           std::int64_t update);

/// The constant of torch.nn.utils.clip_grad_norm_.
inline constexpr double kClipEpsilon = 1e-6;
/// Divisor that brings gradients of this norm down to `clipNorm` (0: never clipped), as in
/// torch.nn.utils.clip_grad_norm_.
double clipDivisor(double norm, double clipNorm);

}  // namespace millrace::train

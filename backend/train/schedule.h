#pragma once
// How learning rates change over the updates of a model, and how gradients are clipped. Pure
// functions; formulas: docs/reference/models.md.
#include <cstdint>

#include "backend/train/optimizer.h"

namespace millrace::train {

struct ScheduleOptions {
    enum class Kind { kConstant, kLinear, kCosine, kStep };
    Kind kind = Kind::kConstant;
    std::int64_t warmupSteps = 0;  ///< updates over which the rate grows
    std::int64_t steps = 0;        ///< kLinear, kCosine: the update that has `final`
    double final = 0;              ///< kLinear, kCosine: share of the rate
    std::int64_t everySteps = 0;   ///< kStep
    double factor = 1;             ///< kStep
};

/// What the learning rates are multiplied with in update `update`, from 1.
double rateFactor(const ScheduleOptions& schedule, std::int64_t update);

/// With its learning rate of that update.
OptimizerOptions scheduled(OptimizerOptions optimizer, const ScheduleOptions& schedule,
                           std::int64_t update);

/// As torch.nn.utils.clip_grad_norm_ has it.
inline constexpr double kClipEpsilon = 1e-6;
/// What gradients of this norm are divided by so that it is at most `clipNorm` (0: never clipped),
/// as in torch.nn.utils.clip_grad_norm_.
double clipDivisor(double norm, double clipNorm);

}  // namespace millrace::train

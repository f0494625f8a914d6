#include "backend/train/torch/updates.h"

#include <cmath>

#include <ATen/ATen.h>

namespace millrace::train {

at::Tensor normOf(const at::Tensor& of) {
    return at::linalg_vector_norm(of, 2, at::OptionalIntArrayRef(), false, at::kDouble);
}

at::Tensor clipDivisors(const at::Tensor& norm, double clipNorm) {
    return ((norm + kClipEpsilon) / clipNorm).clamp_min(1);
}

void updateTensors(const OptimizerOptions& options, std::int64_t updates, const at::Tensor& divisor,
                   at::Tensor gradient, at::Tensor& values, at::Tensor& first, at::Tensor& second) {
    const at::Tensor& g = gradient.div_(divisor);
    const double n = static_cast<double>(updates);
    switch (options.kind) {
        case OptimizerKind::kSgd:
            if (options.weightDecay != 0) {
                g.add_(values, options.weightDecay);
            }
            if (first.defined()) {
                first.mul_(updates == 1 ? 0 : options.momentum).add_(g);
            }
            values.sub_(first.defined() ? first : g, options.learningRate);
            return;
        case OptimizerKind::kAdagrad:
            if (options.weightDecay != 0) {
                g.add_(values, options.weightDecay);
            }
            first.addcmul_(g, g);
            values.addcdiv_(g, first.sqrt().add_(options.adagradEpsilon), -options.learningRate);
            return;
        case OptimizerKind::kRowwiseAdagrad:
            if (options.weightDecay != 0) {
                g.add_(values, options.weightDecay);
            }
            first.add_(g.square().mean(1, true));
            values.addcdiv_(g, first.sqrt().add_(options.adagradEpsilon), -options.learningRate);
            return;
        case OptimizerKind::kAdamW: {
            first.lerp_(g, 1 - options.beta1);
            second.mul_(options.beta2).addcmul_(g, g, 1 - options.beta2);
            const double root = std::sqrt(1 - std::pow(options.beta2, n));
            if (options.weightDecay != 0) {
                values.mul_(1 - options.learningRate * options.weightDecay);
            }
            values.addcdiv_(first, second.sqrt().div_(root).add_(options.epsilon),
                            -options.learningRate / (1 - std::pow(options.beta1, n)));
            return;
        }
    }
}

}  // namespace millrace::train

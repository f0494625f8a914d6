#include "backend/train/optimizer.h"

#include <cmath>

// For loops over arrays that do not overlap: uses vectors twice as wide if the machine has them.
// Each element's operations are the same, and so are its bits.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__clang__)
#define MR_WIDE_LOOPS __attribute__((target_clones("avx2", "default")))
#else
#define MR_WIDE_LOOPS
#endif

namespace millrace::train {
namespace {

MR_WIDE_LOOPS
void sgd(const OptimizerOptions& o, bool isFirst, float divisor, std::int64_t size,
         const float* __restrict gradient, float* __restrict values, float* __restrict velocity) {
    const auto rate = static_cast<float>(o.learningRate);
    const auto decay = static_cast<float>(o.weightDecay);
    const auto momentum = static_cast<float>(o.momentum);
    for (std::int64_t i = 0; i < size; ++i) {
        float g = gradient[i] / divisor + decay * values[i];
        if (velocity) {
            g = isFirst ? g : momentum * velocity[i] + g;
            velocity[i] = g;
        }
        values[i] -= rate * g;
    }
}

MR_WIDE_LOOPS
void adagrad(const OptimizerOptions& o, float divisor, std::int64_t size,
             const float* __restrict gradient, float* __restrict values, float* __restrict sums) {
    const auto rate = static_cast<float>(o.learningRate);
    const auto decay = static_cast<float>(o.weightDecay);
    const auto epsilon = static_cast<float>(o.adagradEpsilon);
    for (std::int64_t i = 0; i < size; ++i) {
        const float g = gradient[i] / divisor + decay * values[i];
        sums[i] += g * g;
        values[i] -= rate * g / (std::sqrt(sums[i]) + epsilon);
    }
}

void rowwiseAdagrad(const OptimizerOptions& o, float divisor, std::int64_t size,
                    const float* gradient, float* values, float* sum) {
    const auto rate = static_cast<float>(o.learningRate);
    const auto decay = static_cast<float>(o.weightDecay);
    float squares = 0;
    for (std::int64_t i = 0; i < size; ++i) {
        const float g = gradient[i] / divisor + decay * values[i];
        squares += g * g;
    }
    *sum += squares / static_cast<float>(size);
    const float root = std::sqrt(*sum) + static_cast<float>(o.adagradEpsilon);
    for (std::int64_t i = 0; i < size; ++i) {
        values[i] -= rate * (gradient[i] / divisor + decay * values[i]) / root;
    }
}

MR_WIDE_LOOPS
void adamW(const OptimizerOptions& o, float step, float root, float divisor, std::int64_t size,
           const float* __restrict gradient, float* __restrict values, float* __restrict mean,
           float* __restrict square) {
    const auto keep = static_cast<float>(1 - o.learningRate * o.weightDecay);
    const auto beta1 = static_cast<float>(o.beta1), rest1 = static_cast<float>(1 - o.beta1);
    const auto beta2 = static_cast<float>(o.beta2), rest2 = static_cast<float>(1 - o.beta2);
    const auto epsilon = static_cast<float>(o.epsilon);
    for (std::int64_t i = 0; i < size; ++i) {
        const float g = gradient[i] / divisor;
        mean[i] = beta1 * mean[i] + rest1 * g;
        square[i] = beta2 * square[i] + rest2 * g * g;
        values[i] = keep * values[i] - step * mean[i] / (std::sqrt(square[i]) / root + epsilon);
    }
}

}  // namespace

Result<OptimizerKind> parseOptimizer(const std::string& name) {
    if (name == "sgd") {
        return OptimizerKind::kSgd;
    }
    if (name == "adagrad") {
        return OptimizerKind::kAdagrad;
    }
    if (name == "rowwise_adagrad") {
        return OptimizerKind::kRowwiseAdagrad;
    }
    if (name == "adamw") {
        return OptimizerKind::kAdamW;
    }
    return invalidArgument("train.optimizer: '", name,
                           "' is not known; known: sgd, adagrad, rowwise_adagrad, adamw");
}

int numMoments(const OptimizerOptions& options) {
    switch (options.kind) {
        case OptimizerKind::kSgd:
            return options.momentum != 0 ? 1 : 0;
        case OptimizerKind::kAdagrad:
        case OptimizerKind::kRowwiseAdagrad:
            return 1;
        case OptimizerKind::kAdamW:
            return 2;
    }
    return 0;
}

std::int64_t momentWidth(const OptimizerOptions& options, std::int64_t dim) {
    return options.kind == OptimizerKind::kRowwiseAdagrad ? 1 : dim;
}

WeightUpdate::WeightUpdate(const OptimizerOptions& options, std::int64_t number, double weight)
    : options_(options), isFirst_(number == 1), divisor_(static_cast<float>(weight)) {
    if (options.kind == OptimizerKind::kAdamW) {
        const auto n = static_cast<double>(number);
        step_ = static_cast<float>(options.learningRate / (1 - std::pow(options.beta1, n)));
        root_ = static_cast<float>(std::sqrt(1 - std::pow(options.beta2, n)));
    }
}

void WeightUpdate::apply(std::int64_t size, const float* gradient, float* values, float* first,
                         float* second) const {
    switch (options_.kind) {
        case OptimizerKind::kSgd:
            return sgd(options_, isFirst_, divisor_, size, gradient, values, first);
        case OptimizerKind::kAdagrad:
            return adagrad(options_, divisor_, size, gradient, values, first);
        case OptimizerKind::kRowwiseAdagrad:
            return rowwiseAdagrad(options_, divisor_, size, gradient, values, first);
        case OptimizerKind::kAdamW:
            return adamW(options_, step_, root_, divisor_, size, gradient, values, first, second);
    }
}

double sumOfSquares(const float* values, std::int64_t size) {
    constexpr std::int64_t kLanes = 8;  // independent sums, so that additions need not wait for one
                                        // another
    double sums[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            sums[lane] += static_cast<double>(values[i + lane]) * values[i + lane];
        }
    }
    double total = 0;
    for (; i < size; ++i) {
        total += static_cast<double>(values[i]) * values[i];
    }
    for (const double sum : sums) {
        total += sum;
    }
    return total;
}

}  // namespace millrace::train

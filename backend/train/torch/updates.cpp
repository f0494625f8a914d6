#include "backend/train/torch/updates.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "backend/train/torch/ordered_sums.h"

// For loops over arrays that do not overlap: uses vectors twice as wide if the machine has them.
// Each element's operations are the same, and so are its bits.
#if defined(__x86_64__) && !defined(__clang__)
#define MR_WIDE_LOOPS __attribute__((target_clones("avx2", "default")))
#else
#define MR_WIDE_LOOPS
#endif

namespace millrace::train {
namespace {

/// An update as loops over adjacent weights. T: the weights' type.
template <class T>
struct Loops {
    const OptimizerKind kind;
    const bool isFirst;
    const T rate, decay, momentum, beta1, rest1, beta2, rest2, epsilon, keep, root, step, divisor;

    Loops(const OptimizerOptions& o, std::int64_t updates, double weight)
        : kind(o.kind),
          isFirst(updates == 1),
          rate(T(o.learningRate)),
          decay(T(o.weightDecay)),
          momentum(T(o.momentum)),
          beta1(T(o.beta1)),
          rest1(T(1 - o.beta1)),
          beta2(T(o.beta2)),
          rest2(T(1 - o.beta2)),
          epsilon(T(o.kind == OptimizerKind::kAdamW ? o.epsilon : o.adagradEpsilon)),
          keep(T(1 - o.learningRate * o.weightDecay)),
          root(T(std::sqrt(1 - std::pow(o.beta2, double(updates))))),
          step(T(o.learningRate / (1 - std::pow(o.beta1, double(updates))))),
          divisor(T(weight)) {}

    [[gnu::always_inline]] void run(std::int64_t size, const T* __restrict gradient,
                                    T* __restrict values, T* __restrict first,
                                    T* __restrict second) const {
        const auto decayed = [&](std::int64_t i) {
            return gradient[i] / divisor + decay * values[i];
        };
        if (kind == OptimizerKind::kAdamW) {
            for (std::int64_t i = 0; i < size; ++i) {
                const T g = gradient[i] / divisor;
                first[i] = beta1 * first[i] + rest1 * g;
                second[i] = beta2 * second[i] + rest2 * g * g;
                values[i] =
                    keep * values[i] - step * first[i] / (std::sqrt(second[i]) / root + epsilon);
            }
        } else if (kind == OptimizerKind::kAdagrad) {
            for (std::int64_t i = 0; i < size; ++i) {
                const T g = decayed(i);
                first[i] += g * g;
                values[i] -= rate * g / (std::sqrt(first[i]) + epsilon);
            }
        } else if (kind == OptimizerKind::kRowwiseAdagrad) {
            T squares = 0;
            for (std::int64_t i = 0; i < size; ++i) {
                squares += decayed(i) * decayed(i);
            }
            *first += squares / T(size);
            const T divided = std::sqrt(*first) + epsilon;
            for (std::int64_t i = 0; i < size; ++i) {
                values[i] -= rate * decayed(i) / divided;
            }
        } else if (first == nullptr) {
            for (std::int64_t i = 0; i < size; ++i) {
                values[i] -= rate * decayed(i);
            }
        } else {
            const T kept = isFirst ? T(0) : momentum;
            for (std::int64_t i = 0; i < size; ++i) {
                first[i] = kept * first[i] + decayed(i);
                values[i] -= rate * first[i];
            }
        }
    }
};

MR_WIDE_LOOPS
void runWide(const Loops<float>& loops, std::int64_t size, const float* gradient, float* values,
             float* first, float* second) {
    loops.run(size, gradient, values, first, second);
}

MR_WIDE_LOOPS
void runWide(const Loops<double>& loops, std::int64_t size, const double* gradient, double* values,
             double* first, double* second) {
    loops.run(size, gradient, values, first, second);
}

/// `rows` may be undefined. Weights without rows are cut into pieces of equal size.
template <class T>
void updateOnHost(const Loops<T>& loops, const at::Tensor& gradient, const Weights& weights,
                  const at::Tensor& rows) {
    constexpr std::int64_t kPiece = 4096, kRowsPerThread = 256;
    const std::int64_t size = rows.defined() ? gradient.size(1) : kPiece;
    const std::int64_t count = rows.defined() ? rows.numel() : (gradient.numel() + size - 1) / size;
    const auto* const named = rows.defined() ? rows.const_data_ptr<std::int64_t>() : nullptr;
    const auto* const g = gradient.const_data_ptr<T>();
    const auto dataOf = [](const at::Tensor& of) {
        return of.defined() ? of.data_ptr<T>() : nullptr;
    };
    T *const values = dataOf(weights.values), *const first = dataOf(weights.first),
             *const second = dataOf(weights.second);
    const std::int64_t width =
        rows.defined() && weights.first.defined() ? weights.first.size(1) : size;
    at::parallel_for(
        0, count, rows.defined() ? kRowsPerThread : 1, [&](std::int64_t i, std::int64_t end) {
            for (; i < end; ++i) {
                const std::int64_t row = named != nullptr ? named[i] : i;
                runWide(loops, std::min(size, gradient.numel() - i * size), g + i * size,
                        values + row * size, first != nullptr ? first + row * width : nullptr,
                        second != nullptr ? second + row * width : nullptr);
            }
        });
}

void updateTensors(const OptimizerOptions& options, std::int64_t updates, const at::Tensor& g,
                   const Weights& weights) {
    const auto& [values, first, second] = weights;
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

}  // namespace

void updateWeights(const OptimizerOptions& options, std::int64_t updates, double divisor,
                   const at::Tensor& gradient, const Weights& weights, const at::Tensor& rows,
                   bool isOnHost) {
    if (isOnHost) {
        gradient.scalar_type() == at::kDouble
            ? updateOnHost(Loops<double>(options, updates, divisor), gradient, weights, rows)
            : updateOnHost(Loops<float>(options, updates, divisor), gradient, weights, rows);
        return;
    }
    gradient.div_(divisor);
    if (!rows.defined()) {
        return updateTensors(options, updates, gradient, weights);
    }
    const auto taken = [&](const at::Tensor& from) {
        return from.defined() ? from.index_select(0, rows) : from;
    };
    const Weights own{taken(weights.values), taken(weights.first), taken(weights.second)};
    updateTensors(options, updates, gradient, own);
    OrderedSums::put(weights.values, rows, own.values);
    if (own.first.defined()) {
        OrderedSums::put(weights.first, rows, own.first);
    }
    if (own.second.defined()) {
        OrderedSums::put(weights.second, rows, own.second);
    }
}

at::Tensor normOf(const at::Tensor& of) {
    return at::linalg_vector_norm(of, 2, at::OptionalIntArrayRef(), false, at::kDouble);
}

}  // namespace millrace::train

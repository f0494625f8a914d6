// Each optimizer against its formula, on layers and on rows of tables.
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "backend/train/torch_learner.h"
#include "tests/unit/train/fakes.h"

namespace millrace::train {
namespace {

/// One weight of the reference, and its moments.
struct Weight {
    double value = 0, first = 0, second = 0;
};

/// Updates weights whose mean gradient is known; row-wise Adagrad's share one sum.
void update(const OptimizerOptions& o, int number, const std::array<double, 2>& gradients,
            std::array<Weight, 2>& weights) {
    double squares = 0;
    for (std::size_t h = 0; h < 2; ++h) {
        const double g = gradients[h] + o.weightDecay * weights[h].value;
        squares += g * g / 2;
    }
    for (std::size_t h = 0; h < 2; ++h) {
        auto& [value, first, second] = weights[h];
        const double g = gradients[h], decayed = g + o.weightDecay * value;
        switch (o.kind) {
            case OptimizerKind::kSgd:
                first = number == 1 ? decayed : o.momentum * first + decayed;
                value -= o.learningRate * first;
                break;
            case OptimizerKind::kAdagrad:
            case OptimizerKind::kRowwiseAdagrad:
                first += o.kind == OptimizerKind::kAdagrad ? decayed * decayed : squares;
                value -= o.learningRate * decayed / (std::sqrt(first) + o.adagradEpsilon);
                break;
            case OptimizerKind::kAdamW:
                value -= o.learningRate * o.weightDecay * value;
                first = o.beta1 * first + (1 - o.beta1) * g;
                second = o.beta2 * second + (1 - o.beta2) * g * g;
                value -= o.learningRate * first / (1 - std::pow(o.beta1, number)) /
                         (std::sqrt(second / (1 - std::pow(o.beta2, number))) + o.epsilon);
                break;
        }
    }
}

std::array<Weight, 2> weightsOf(Learner& learner, const std::string& name, std::size_t at) {
    std::array<Weight, 2> out;
    for (const TensorRef& t : learner.tensors()) {
        if (t.name == name) {
            for (std::size_t h = 0; h < 2; ++h) {
                out[h].value = t.type == DType::kFloat64
                                   ? static_cast<double*>(t.data)[at + h]
                                   : static_cast<double>(static_cast<float*>(t.data)[at + h]);
            }
        }
    }
    return out;
}

struct Formula {
    const char* optimizer;
    double momentum = 0, decay = 0;
};

class Updates : public ::testing::TestWithParam<Formula> {};

// A logistic model of one id with two heads: the logits are the bias plus the id's row.
TEST_P(Updates, FollowTheFormulas) {
    const std::string kind = GetParam().optimizer;
    OptimizerOptions tables;
    tables.kind = *parseOptimizer(kind);
    tables.learningRate = 0.1;
    tables.momentum = GetParam().momentum;
    tables.weightDecay = GetParam().decay;
    LearnerOptions o = test::smallModel("logistic", 2);
    o.denseWidth = 0;
    o.features = {{"user", 0}};
    o.tables = {{"user", 20, 2}};
    o.tableOptimizer = tables;
    o.optimizer = tables;
    if (tables.kind == OptimizerKind::kRowwiseAdagrad) {
        o.optimizer.kind = OptimizerKind::kAdagrad;
    }
    for (const bool asOnGpu : {false, true}) {
        for (const char* precision : {"fp32", "fp64"}) {
            o.precision = precision;
            auto learner = std::move(*makeTensorLearner(o, test::alone(), asOnGpu));
            std::array<Weight, 2> row = weightsOf(*learner, "embedding.user.weight", 6), bias{};
            bias = weightsOf(*learner, "linear.0.bias", 0);
            const std::array<Weight, 2> resting = weightsOf(*learner, "embedding.user.weight", 8);
            const std::vector<std::int64_t> ids{3, 3};
            const std::vector<float> labels{1, 0}, weights{3, 1};
            BatchView batch;
            batch.rows = 2;
            batch.ids = {{ids.data()}};
            batch.heads = {{labels.data(), weights.data()}, {labels.data()}};
            const double tolerance = std::string(precision) == "fp64" ? 1e-12 : 2e-6;
            for (int number = 1; number <= 6; ++number) {
                LossSums sums;
                ASSERT_TRUE(learner->accumulate(batch, sums).ok());
                ASSERT_TRUE(learner->apply(sums.totalWeight(), nullptr).ok());
                std::array<double, 2> g{};
                for (std::size_t h = 0; h < 2; ++h) {
                    const double p = 1 / (1 + std::exp(-bias[h].value - row[h].value));
                    g[h] = ((h == 0 ? 3 : 1) * (p - 1) + p) / 6;
                }
                update(tables, number, g, row);
                update(o.optimizer, number, g, bias);
                const auto newRow = weightsOf(*learner, "embedding.user.weight", 6),
                           newBias = weightsOf(*learner, "linear.0.bias", 0);
                for (std::size_t h = 0; h < 2; ++h) {
                    EXPECT_NEAR(newRow[h].value, row[h].value, tolerance) << precision << number;
                    EXPECT_NEAR(newBias[h].value, bias[h].value, tolerance) << precision << number;
                }
            }
            EXPECT_EQ(weightsOf(*learner, "embedding.user.weight", 8)[0].value, resting[0].value);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Updates,
                         ::testing::Values(Formula{"sgd"}, Formula{"sgd", 0.9},
                                           Formula{"sgd", 0, 0.5}, Formula{"sgd", 0.9, 0.5},
                                           Formula{"adagrad"}, Formula{"adagrad", 0, 0.5},
                                           Formula{"rowwise_adagrad"},
                                           Formula{"rowwise_adagrad", 0, 0.5}, Formula{"adamw"},
                                           Formula{"adamw", 0, 0.01}),
                         [](const auto& info) {
                             return std::string(info.param.optimizer) +
                                    (info.param.momentum != 0 ? "_momentum" : "") +
                                    (info.param.decay != 0 ? "_decay" : "");
                         });

}  // namespace
}  // namespace millrace::train

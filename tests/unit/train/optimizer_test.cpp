#include "backend/train/optimizer.h"

#include <gmock/gmock.h>

#include "backend/spec/training/optimisation.h"

namespace millrace::train {
namespace {

TEST(Optimizer, KeepsTheStateThatEstimatesOfMemoryCount) {
    for (const char* name : {"sgd", "adagrad", "rowwise_adagrad", "adamw"}) {
        for (const double momentum : {0.0, 0.9}) {
            spec::TrainSpec train;
            train.groups.embeddings.optimizer = name;
            train.momentum = momentum;
            OptimizerOptions options = {*parseOptimizer(name)};
            options.momentum = momentum;
            EXPECT_EQ(numMoments(options) * momentWidth(options, 8),
                      spec::stateFloats(spec::tableGroup(train), 8))
                << name << momentum;
        }
    }
}

TEST(Optimizer, RefusesAnUnknownNameWithTheKnownOnes) {
    const auto result = parseOptimizer("adam");
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(std::string(messageOf(result.status())), ::testing::HasSubstr("adamw"));
}

}  // namespace
}  // namespace millrace::train

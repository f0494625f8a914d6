#include "backend/train/target_mean.h"

#include <cmath>

#include <gmock/gmock.h>

#include "tests/unit/train/fakes.h"

namespace millrace::train {
namespace {

using test::Scratch;
using ::testing::HasSubstr;

LearnerOptions options(std::vector<std::string> keys, double smoothing) {
    LearnerOptions o;
    o.model = "target_mean";
    o.features = {{"film"}, {"user"}};
    o.keys = std::move(keys);
    o.smoothing = smoothing;
    o.heads = {"liked"};
    return o;
}

struct Rows {
    std::vector<std::int64_t> films, users;
    std::vector<float> labels, weights;
    BatchView view() const {
        BatchView batch;
        batch.rows = static_cast<std::int64_t>(films.size());
        batch.ids = {{films.data()}, {users.data()}};
        batch.heads = {{labels.data(), weights.empty() ? nullptr : weights.data()}};
        return batch;
    }
};

std::vector<double> trainAndPredict(const LearnerOptions& o, const Rows& train, const Rows& test) {
    const auto learner = test::learnerOf(o);
    LossSums sums;
    EXPECT_TRUE(learner->accumulate(train.view(), sums).ok());
    EXPECT_TRUE(learner->apply(sums.totalWeight(), nullptr).ok());
    std::vector<double> out;
    EXPECT_TRUE(learner->predict(test.view(), out).ok());
    return out;
}

const Rows kTrain{{1, 1, 2, 2, 2}, {7, 8, 7, 8, 9}, {1, 0, 1, 1, 0}, {}};

TEST(TargetMean, PredictsTheSmoothedMeanOfTheKey) {
    const auto p =
        trainAndPredict(options({"film"}, 5), kTrain, {{1, 2, 99}, {0, 0, 0}, {0, 0, 0}, {}});
    EXPECT_NEAR(p[0], (1 + 5 * 0.6) / (2 + 5), 1e-12);
    EXPECT_NEAR(p[1], (2 + 5 * 0.6) / (3 + 5), 1e-12);
    EXPECT_NEAR(p[2], 0.6, 1e-12);
}

TEST(TargetMean, AddsTheShiftsOfSeveralKeys) {
    const auto p = trainAndPredict(options({"film", "user"}, 1), kTrain, {{1}, {7}, {0}, {}});
    const double film = (1 + 0.6) / 3, user = (2 + 0.6) / 3;
    EXPECT_NEAR(p[0], 0.6 + (film - 0.6) + (user - 0.6), 1e-12);
}

TEST(TargetMean, StaysWithinItsMargins) {
    const Rows train{{1, 1, 2, 2}, {7, 7, 8, 8}, {1, 1, 0, 0}, {}};
    const auto p =
        trainAndPredict(options({"film", "user"}, 0), train, {{1, 2}, {7, 8}, {0, 0}, {}});
    EXPECT_EQ(p[0], 1 - 1e-6);
    EXPECT_EQ(p[1], 1e-6);
}

TEST(TargetMean, WeighsRows) {
    Rows train = kTrain;
    train.weights = {3, 1, 1, 1, 1};
    const auto p = trainAndPredict(options({"film"}, 0), train, {{1, 99}, {0, 0}, {0, 0}, {}});
    EXPECT_NEAR(p[0], 0.75, 1e-12);
    EXPECT_NEAR(p[1], 5.0 / 7, 1e-12);
}

TEST(TargetMean, ReportsTheLossOfPredictionsMadeBeforeTheStep) {
    const auto learner = test::learnerOf(options({"film"}, 5));
    LossSums first, second;
    ASSERT_TRUE(learner->accumulate(kTrain.view(), first).ok());
    ASSERT_TRUE(learner->accumulate(kTrain.view(), first).ok());
    EXPECT_NEAR(first.mean(), std::log(2.0), 1e-12);
    ASSERT_TRUE(learner->apply(first.totalWeight(), nullptr).ok());
    ASSERT_TRUE(learner->accumulate(kTrain.view(), second).ok());
    EXPECT_LT(second.mean(), first.mean());
}

TEST(TargetMean, ComesBackFromACheckpoint) {
    const Scratch scratch;
    const auto learner = test::learnerOf(options({"film", "user"}, 2));
    LossSums sums;
    ASSERT_TRUE(learner->accumulate(kTrain.view(), sums).ok());
    ASSERT_TRUE(learner->apply(sums.totalWeight(), nullptr).ok());
    const auto file = writeCheckpoint(scratch.path(), {1, 1}, Json::object(), learner->tensors());
    const auto other = test::learnerOf(options({"film", "user"}, 2));
    ASSERT_TRUE(other->restore(*Checkpoint::open(scratch / file->name)).ok());
    EXPECT_EQ(test::bytesOf(*other), test::bytesOf(*learner));
}

TEST(TargetMean, LearnsInOneEpoch) {
    EXPECT_EQ(test::learnerOf(options({"film"}, 5))->epochsMax(), 1);
}

TEST(TargetMean, RefusesUnknownKeysAndNegativeSmoothing) {
    const auto unknown = makeLearner(options({"flim"}, 5), test::alone());
    EXPECT_THAT(std::string(messageOf(unknown.status())), HasSubstr("film"));
    EXPECT_FALSE(makeLearner(options({"film"}, -1), test::alone()).ok());
    EXPECT_FALSE(makeLearner(options({}, 1), test::alone()).ok());
}

TEST(MakeLearner, RefusesAnUnknownModelWithTheNearestName) {
    LearnerOptions o = options({"film"}, 5);
    o.model = "dlmr";
    EXPECT_THAT(std::string(messageOf(makeLearner(o, test::alone()).status())), HasSubstr("dlrm"));
}

}  // namespace
}  // namespace millrace::train

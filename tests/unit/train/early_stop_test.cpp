// A run ends when evaluations get no better, and keeps its best.
#include "backend/train/loop/early_stop.h"

#include <cmath>
#include <filesystem>

#include <gmock/gmock.h>

#include "backend/checkpoint/checkpoint_directory.h"
#include "tests/unit/train/trainer_fixture.h"

namespace millrace::train {
namespace {

using test::TrainerFixture;
using ::testing::HasSubstr;

TEST(EarlyStop, IsDueWhenPatienceEndsAndCountsAnewFromABetterOne) {
    EarlyStop stop({"eval.auc", 2, 0.01, true});
    EXPECT_TRUE(stop.take(10, 0.7));
    EXPECT_FALSE(stop.take(20, 0.705)) << "better by less than min_delta";
    EXPECT_FALSE(stop.isDue());
    EXPECT_TRUE(stop.take(30, 0.75));
    EXPECT_FALSE(stop.take(40, 0.75));
    EXPECT_FALSE(stop.take(50, NAN));
    EXPECT_TRUE(stop.isDue());
    EXPECT_EQ(stop.bestStep(), 30);
    EXPECT_EQ(stop.sentence(),
              "stopped early: 2 evaluations were no better than eval.auc 0.75 of step 30");
}

TEST(EarlyStop, LessIsBetterOfALoss) {
    EarlyStop stop({"eval.log_loss", 1, 0, false});
    EXPECT_TRUE(stop.take(1, 0.7));
    EXPECT_TRUE(stop.take(2, 0.6));
    EXPECT_FALSE(stop.take(3, 0.61));
    EXPECT_TRUE(stop.isDue());
    EXPECT_EQ(stop.sentence(),
              "stopped early: 1 evaluation was no better than eval.log_loss 0.6 of step 2");
}

TEST(EarlyStop, ItsStateRemembersBestAndPatience) {
    EarlyStop first({"eval.auc", 2, 0, true});
    first.take(10, 0.7);
    first.take(20, 0.6);
    EarlyStop second({"eval.auc", 2, 0, true}), other({"eval.log_loss", 2, 0, false});
    second.restore(first.state());
    EXPECT_EQ(second.bestStep(), 10);
    EXPECT_FALSE(second.take(30, 0.65));
    EXPECT_TRUE(second.isDue());
    other.restore(first.state());
    EXPECT_EQ(other.bestStep(), -1) << "of another metric it says nothing";
}

/// Evaluations of target_mean over one epoch of steps without end.
void makeImpatient(TrainerFixture& f) {
    f.options.hasEval = true;
    f.options.evalEverySteps = 1;
    f.options.checkpoints.everySteps = 1;
    // No evaluation improves by 10, so the first one stays the best.
    f.options.earlyStop = {"eval.log_loss", 2, 10, false};
}

TEST(EarlyStop, EndsTheRunAsDoneAndKeepsTheBestCheckpoint) {
    TrainerFixture f;
    makeImpatient(f);
    const auto outcome = (*f.make())->run();
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(*outcome, Trainer::Outcome::kDone);
    EXPECT_EQ(f.reporter.done.step, 3);
    EXPECT_THAT(f.reporter.done.params.at("end_reason"),
                HasSubstr("2 evaluations were no better than eval.log_loss"));
    EXPECT_THAT(f.reporter.done.params.at("end_reason"), HasSubstr("of step 1"));
    for (const rank::Checkpoint& line : f.reporter.checkpoints) {
        std::filesystem::remove(f.pathOf(line));  // as the daemon would
    }
    const auto best =
        Checkpoint::open(f.options.checkpoints.directory + "/" + checkpoint::kBestName);
    ASSERT_TRUE(best.ok()) << best.status();
    EXPECT_EQ(jsonInt(best->meta(), "step"), 1);
    std::size_t files = 0;
    for (const auto& file : std::filesystem::directory_iterator(f.options.checkpoints.directory)) {
        files += file.is_regular_file() ? 1 : 0;
    }
    EXPECT_EQ(files, 1U) << "nothing else is left";
}

TEST(EarlyStop, AResumedRunGoesOnWithItsPatience) {
    TrainerFixture f, rest;
    makeImpatient(f);
    makeImpatient(rest);
    f.reporter.stopAt = 2;
    ASSERT_EQ(*(*f.make())->run(), Trainer::Outcome::kStopped);
    const auto file = Checkpoint::open(f.pathOf(f.reporter.checkpoints.back()));
    ASSERT_TRUE(file.ok()) << file.status();
    const auto outcome = (*rest.make(&*file))->run();
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(*outcome, Trainer::Outcome::kDone);
    EXPECT_EQ(rest.reporter.done.step, 3);
}

TEST(EarlyStop, AMetricThatTheEvaluationHasNotIsNamed) {
    TrainerFixture f;
    makeImpatient(f);
    f.options.earlyStop.metric = "eval.recall";
    EXPECT_THAT(std::string(messageOf((*f.make())->run().status())),
                HasSubstr("train.early_stop.metric: the evaluation has no eval.recall"));
}

}  // namespace
}  // namespace millrace::train

#include "backend/train/trainer.h"

#include <gmock/gmock.h>

#include "backend/core/row_hash.h"
#include "tests/unit/train/thread_groups.h"
#include "tests/unit/train/trainer_fixture.h"

namespace millrace::train {
namespace {

using test::TrainerFixture;
using ::testing::HasSubstr;

// 300 rows in micro-batches of 16: 19 an epoch, 5 steps of 4 (the last one of 3).

TEST(Trainer, TakesWholeStepsAndWhatIsLeftAtTheEndOfAnEpoch) {
    TrainerFixture f;
    auto trainer = f.make();
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    const auto outcome = (*trainer)->run();
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(*outcome, Trainer::Outcome::kDone);
    EXPECT_EQ(f.reporter.done.step, 5);  // target_mean: one epoch of two
    EXPECT_EQ(f.reporter.done.rows, 300);
    EXPECT_EQ(f.reporter.losses().size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(f.reporter.metrics[i].step, static_cast<std::int64_t>(i) + 1);
    }
    // The last line is the checkpoint's.
    ASSERT_EQ(f.reporter.metrics.size(), 6U);
    EXPECT_EQ(f.reporter.metrics.back().rows, 300);
    EXPECT_GE(f.reporter.metrics.back().values.at("trainer.checkpoint_ms"), 0);
}

TEST(Trainer, ReportsTheFiguresOfTheEvaluationThatAreAskedFor) {
    TrainerFixture f;
    f.options.hasEval = true;
    f.options.eval.metrics = {"log_loss"};
    ASSERT_TRUE((*f.make())->run().ok());
    EXPECT_TRUE(f.reporter.done.metrics.count("eval.log_loss"));
    EXPECT_TRUE(f.reporter.done.metrics.count("eval.rows"));
    EXPECT_FALSE(f.reporter.done.metrics.count("eval.auc"));
    EXPECT_FALSE(f.reporter.done.metrics.count("eval.calibration"));
}

TEST(Trainer, WritesACheckpointAtTheEndAndEveryNSteps) {
    TrainerFixture f;
    f.options.checkpoints.everySteps = 2;
    ASSERT_TRUE((*f.make())->run().ok());
    std::vector<std::int64_t> steps;
    for (const rank::Checkpoint& c : f.reporter.checkpoints) {
        steps.push_back(c.step);
    }
    EXPECT_THAT(steps, ::testing::ElementsAre(2, 4, 5));
    const auto last = Checkpoint::open(f.pathOf(f.reporter.checkpoints.back()));
    ASSERT_TRUE(last.ok());
    EXPECT_EQ(last->meta()["unacked"].size(), 2U);
    EXPECT_EQ(jsonInt(last->meta(), "rows"), 300);
    EXPECT_EQ(f.reporter.done.state, f.reporter.checkpoints.back().state);
}

TEST(Trainer, RemovesNoCheckpoint) {
    TrainerFixture f;
    f.options.checkpoints.everySteps = 1;
    f.options.checkpoints.keep = 1;
    ASSERT_TRUE((*f.make())->run().ok());
    EXPECT_GE(f.reporter.checkpoints.size(), 5U);
    for (const rank::Checkpoint& line : f.reporter.checkpoints) {
        EXPECT_TRUE(Checkpoint::open(f.pathOf(line)).ok()) << line.name;
    }
}

TEST(Trainer, WritesCheckpointsEverFartherApartWhileNobodyStoresThem) {
    TrainerFixture f;
    f.train.rows = 20'000;
    f.options.checkpoints.everySteps = 1;
    f.options.checkpoints.keep = 1;
    f.reporter.isDaemonAway = true;
    ASSERT_TRUE((*f.make())->run().ok());
    const auto& lines = f.reporter.checkpoints;
    const std::int64_t last = lines.back().step;
    ASSERT_GE(last, 256) << "a run that is long enough to tell";
    EXPECT_LT(lines.size(), 16U);
    EXPECT_EQ(lines.at(1).step, 2);
    for (std::size_t i = 1; i < lines.size(); ++i) {
        EXPECT_LE(lines[i].step, 2 * lines[i - 1].step + 1) << "never more than half is lost";
    }
}

TEST(Trainer, StopsAfterTheStepWithACheckpoint) {
    TrainerFixture f;
    f.reporter.stopAt = 2;
    const auto outcome = (*f.make())->run();
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(*outcome, Trainer::Outcome::kStopped);
    ASSERT_EQ(f.reporter.checkpoints.size(), 1U);
    EXPECT_EQ(f.reporter.checkpoints[0].step, 2);
    EXPECT_FALSE(f.reporter.isDone);
}

TEST(Trainer, DropsAnIncompleteStepWhenStoppedWithinIt) {
    TrainerFixture f;
    f.train.stopAfter = 6;
    const auto outcome = (*f.make())->run();
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(*outcome, Trainer::Outcome::kStopped);
    const auto file = Checkpoint::open(f.pathOf(f.reporter.checkpoints.at(0)));
    EXPECT_EQ(jsonInt(file->meta(), "step"), 1);
    EXPECT_EQ(jsonInt(file->meta(), "next_micro_batch"), 4);
    EXPECT_EQ(jsonInt(file->meta(), "rows"), 64);
}

TEST(Trainer, EvaluatesEveryNStepsAndAtTheEndOnce) {
    TrainerFixture f;
    f.options.hasEval = true;
    f.options.evalEverySteps = 2;
    ASSERT_TRUE((*f.make())->run().ok());
    EXPECT_THAT(f.reporter.evaluatedSteps(), ::testing::ElementsAre(2, 4, 5));
    for (const rank::Metrics& m : f.reporter.metrics) {
        if (m.values.count("eval.auc")) {
            EXPECT_EQ(m.values.at("eval.rows") + m.values.at("eval.rows_without_label"), 90);
            EXPECT_GT(m.values.at("eval.positives"), 0);
            EXPECT_LT(m.values.at("eval.positives"), m.values.at("eval.rows"));
        }
    }
    RowsHash rows;
    for (std::uint64_t row = 0; row < 90; ++row) {
        rows.add(0, row);
    }
    EXPECT_EQ(f.reporter.done.params.at("eval_order_hash"), rows.hex());
    EXPECT_FALSE(f.reporter.done.params.at("eval_state").empty());
    EXPECT_GT(f.reporter.done.metrics.at("eval.auc"), 0.6);
}

TEST(Trainer, NamesFiguresOfTheFirstHeadWithoutItAndOfEveryHeadWithIt) {
    TrainerFixture f;
    f.options.hasEval = true;
    ASSERT_TRUE((*f.make())->run().ok());
    const rank::Values& values = f.reporter.done.metrics;
    for (const char* figure : {"auc", "log_loss", "normalized_entropy", "calibration", "rows"}) {
        ASSERT_TRUE(values.count(strCat("eval.head0.", figure))) << figure;
        EXPECT_EQ(values.at(strCat("eval.", figure)), values.at(strCat("eval.head0.", figure)));
    }
}

TEST(Trainer, AnEvaluationOfOneClassOrWithoutRowsFailsTheRun) {
    TrainerFixture f;
    f.options.hasEval = true;
    f.eval.label = 1.0F;
    EXPECT_THAT(std::string(messageOf((*f.make())->run().status())),
                HasSubstr("label 'head0' is 1 in all"));
    f.eval.rows = 0;
    EXPECT_THAT(std::string(messageOf((*f.make())->run().status())),
                HasSubstr("the evaluation set has no row with a label of head 'head0'"));
    EXPECT_FALSE(f.reporter.isDone);
}

TEST(Trainer, ATrainingSetOfOneClassOrWithoutRowsFailsTheRun) {
    TrainerFixture f;
    f.train.label = 0.0F;
    EXPECT_THAT(std::string(messageOf((*f.make())->run().status())),
                HasSubstr("labels.head0: the label is 0 in every row"));
    f.train.rows = 0;
    EXPECT_THAT(std::string(messageOf((*f.make())->run().status())),
                HasSubstr("labels.head0: no row of the training set has a label"));
    EXPECT_FALSE(f.reporter.isDone);
}

TEST(Trainer, EvaluatesOnceWhenTheEndIsDueAnyway) {
    TrainerFixture f;
    f.options.hasEval = true;
    f.options.evalEverySteps = 5;
    ASSERT_TRUE((*f.make())->run().ok());
    EXPECT_EQ(f.eval.numOpened, 1);
}

TEST(Trainer, StartsAnEvaluationOverWhenItsFeedGoesAway) {
    TrainerFixture whole, lost;
    whole.options.hasEval = lost.options.hasEval = true;
    lost.eval.numLosses = 2;
    ASSERT_TRUE((*whole.make())->run().ok());
    ASSERT_TRUE((*lost.make())->run().ok());
    EXPECT_EQ(lost.eval.numOpened, whole.eval.numOpened + 2);
    EXPECT_EQ(lost.reporter.done.metrics, whole.reporter.done.metrics);
}

TEST(Trainer, GivesAnEvaluationUpThatNoFeedServes) {
    TrainerFixture f;
    f.options.hasEval = true;
    f.eval.numLosses = 1000;
    const auto outcome = (*f.make())->run();
    EXPECT_EQ(outcome.status().code(), absl::StatusCode::kUnavailable);
}

TEST(Trainer, StoppedInItsLastEvaluationCatchesUpOnItWhenResumed) {
    TrainerFixture f;
    f.options.hasEval = true;
    f.eval.stopAfter = 2;
    const auto outcome = (*f.make())->run();
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(*outcome, Trainer::Outcome::kStopped);
    EXPECT_FALSE(f.reporter.isDone);
    const auto file = Checkpoint::open(f.pathOf(f.reporter.checkpoints.back()));
    f.eval.stopAfter = -1;
    ASSERT_EQ(*(*f.make(&*file))->run(), Trainer::Outcome::kDone);
    EXPECT_EQ(f.reporter.done.step, 5);
    EXPECT_TRUE(f.reporter.done.metrics.count("eval.auc"));
}

TEST(Trainer, StoppedInAnEvaluationOnTheWayBeginsWithItWhenResumed) {
    TrainerFixture f;
    f.options.hasEval = true;
    f.options.evalEverySteps = 2;
    f.eval.stopAfter = 2;
    ASSERT_EQ(*(*f.make())->run(), Trainer::Outcome::kStopped);
    ASSERT_EQ(f.reporter.checkpoints.back().step, 2) << "where it was stopped";
    const auto file = Checkpoint::open(f.pathOf(f.reporter.checkpoints.back()));
    f.eval.stopAfter = 1;
    ASSERT_EQ(*(*f.make(&*file))->run(), Trainer::Outcome::kStopped);
    ASSERT_EQ(f.reporter.checkpoints.back().step, 2) << "stopped in it again";
    f.eval.stopAfter = -1;
    ASSERT_EQ(*(*f.make(&*file))->run(), Trainer::Outcome::kDone);
    EXPECT_THAT(f.reporter.evaluatedSteps(), ::testing::ElementsAre(2, 4, 5));
}

TEST(Trainer, StopsAtMaxSteps) {
    TrainerFixture f;
    f.options.maxSteps = 3;
    ASSERT_TRUE((*f.make())->run().ok());
    EXPECT_EQ(f.reporter.done.step, 3);
    EXPECT_EQ(f.reporter.done.rows, 3 * 64);
}

// That none is left out, the reader of the ring sees at the step's mark.
TEST(Trainer, RefusesAStreamThatGoesBack) {
    TrainerFixture f;
    f.train.goesBack = true;
    const auto outcome = (*f.make())->run();
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(messageOf(outcome.status())), HasSubstr("expected 3"));
}

TEST(Trainer, SaysThatItWaitsWhileNoBatchComes) {
    TrainerFixture f;
    f.train.numWaits = 3;
    ASSERT_TRUE((*f.make())->run().ok());
    EXPECT_EQ(f.reporter.progress.at(0).phase, "waiting");
    EXPECT_GT(f.reporter.progress.at(0).waitingMs, 0);
    EXPECT_EQ(f.reporter.progress.back().waitingMs, 0);
}

TEST(Trainer, TrainsOnWhenACheckpointOnTheWayCannotBeWrittenButEndsWithTheReason) {
    TrainerFixture f;
    f.options.checkpoints.everySteps = 2;
    f.options.checkpoints.directory = "/proc/self/no-such-place";
    const auto outcome = (*f.make())->run();
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(f.reporter.losses().size(), 5U);
    EXPECT_FALSE(f.reporter.isDone);
    ASSERT_FALSE(f.reporter.troubles.empty());
    EXPECT_EQ(f.reporter.troubles.front().first, "checkpoint");
    EXPECT_THAT(f.reporter.troubles.front().second,
                HasSubstr("the checkpoint of step 2 was not written: "));
}

TEST(Trainer, RefusesRanksThatDoNotDivideAStep) {
    TrainerFixture f;
    const auto three = makeThreadGroups(3);
    EXPECT_THAT(std::string(messageOf(f.make(nullptr, nullptr, *three[1]).status())),
                HasSubstr("do not divide"));
}

TEST(Trainer, RefusesACheckpointOfAnotherStream) {
    TrainerFixture f;
    ASSERT_TRUE((*f.make())->run().ok());
    const auto file = Checkpoint::open(f.pathOf(f.reporter.checkpoints.back()));
    f.options.identity["stream_hash"] = "other";
    EXPECT_THAT(std::string(messageOf(f.make(&*file).status())), HasSubstr("another stream"));
}

TEST(Trainer, SaysWhatChangedSinceTheCheckpoint) {
    TrainerFixture f;
    f.options.maxSteps = 2;
    ASSERT_TRUE((*f.make())->run().ok());
    const auto file = Checkpoint::open(f.pathOf(f.reporter.checkpoints.back()));
    f.options.maxSteps = 0;
    f.options.numericKeys["train"]["threads"] = 4;
    ASSERT_TRUE((*f.make(&*file))->run().ok());
    EXPECT_EQ(f.reporter.done.params.at("resume_changes"), "train.threads was 1, is 4");
}

TEST(Trainer, ResumedAfterItsEndOnlyReportsAgain) {
    TrainerFixture f;
    f.options.hasEval = true;
    ASSERT_TRUE((*f.make())->run().ok());
    const rank::Done first = f.reporter.done;
    const auto file = Checkpoint::open(f.pathOf(f.reporter.checkpoints.back()));
    ASSERT_TRUE((*f.make(&*file))->run().ok());
    EXPECT_EQ(f.reporter.done.step, first.step);
    EXPECT_EQ(f.reporter.done.metrics, first.metrics);
    EXPECT_EQ(f.reporter.done.params, first.params);
    EXPECT_EQ(f.train.numOpened, 1);
}

/// Stops a run after `step`, resumes it from the checkpoint, and compares with an unbroken one.
void expectResumeIsUnbroken(const std::string& model, std::int64_t step) {
    TrainerFixture whole(model), broken(model);
    for (TrainerFixture* f : {&whole, &broken}) {
        f->options.hasEval = true;
        f->options.evalEverySteps = 3;
    }
    auto trainer = *whole.make();
    ASSERT_TRUE(trainer->run().ok());
    const std::string expected = test::bytesOf(trainer->learner());

    broken.reporter.stopAt = step;
    ASSERT_EQ(*(*broken.make())->run(), Trainer::Outcome::kStopped);
    const auto file = Checkpoint::open(broken.pathOf(broken.reporter.checkpoints.back()));
    ASSERT_TRUE(file.ok());
    broken.reporter.stopAt = -1;
    broken.reporter.page = test::RecordingReporter::newPage();
    auto resumed = broken.make(&*file);
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    ASSERT_EQ(*(*resumed)->run(), Trainer::Outcome::kDone);
    EXPECT_EQ(test::bytesOf((*resumed)->learner()), expected);
    EXPECT_EQ(broken.reporter.losses(), whole.reporter.losses());
    EXPECT_EQ(broken.reporter.done.metrics, whole.reporter.done.metrics);
    EXPECT_EQ(broken.reporter.done.params, whole.reporter.done.params);
    EXPECT_EQ(broken.reporter.done.state, whole.reporter.done.state);
}

TEST(Trainer, ResumesTargetMeanBitForBit) {
    for (const std::int64_t step : {1, 2, 4}) {
        expectResumeIsUnbroken("target_mean", step);
    }
}

#ifdef MILLRACE_HAS_TORCH
TEST(Trainer, ResumesDlrmBitForBitAtSeveralSteps) {
    for (const std::int64_t step : {1, 3, 4, 5, 6, 9}) {  // 5: the end of the first epoch
        expectResumeIsUnbroken("dlrm", step);
    }
}

TEST(Trainer, ResumesMlpBitForBit) {
    expectResumeIsUnbroken("mlp", 3);
}

TEST(Trainer, TrainsTwiceToTheSameBits) {
    TrainerFixture first("dlrm"), second("dlrm");
    auto a = *first.make(), b = *second.make();
    ASSERT_TRUE(a->run().ok() && b->run().ok());
    EXPECT_EQ(test::bytesOf(a->learner()), test::bytesOf(b->learner()));
    EXPECT_EQ(first.reporter.done.params, second.reporter.done.params);
    EXPECT_EQ(first.reporter.done.step, 10);
}

TEST(Trainer, StartsFromAnotherRunsWeightsWithAFreshOptimizer) {
    TrainerFixture f("dlrm"), next("dlrm");
    ASSERT_TRUE((*f.make())->run().ok());
    const auto file = Checkpoint::open(f.pathOf(f.reporter.checkpoints.back()));
    for (const bool takesOptimizer : {false, true}) {
        const InitFrom from{&*file, takesOptimizer, {}, {}, true};
        auto trainer = *next.make(nullptr, &from);
        for (const TensorRef& t : trainer->learner().tensors()) {
            const std::string_view mine(static_cast<char*>(t.data), t.numBytes());
            const std::string_view theirs(static_cast<char*>(file->find(t.name)->data),
                                          t.numBytes());
            EXPECT_EQ(mine == theirs, t.isWeight || takesOptimizer) << t.name;
        }
        EXPECT_EQ(trainer->step(), 0);
    }
}

TEST(Trainer, BeginsFreshWhatDoesNotFitOfAnotherRun) {
    TrainerFixture f("dlrm"), next("dlrm"), fresh("dlrm");
    ASSERT_TRUE((*f.make())->run().ok());
    const auto file = Checkpoint::open(f.pathOf(f.reporter.checkpoints.back()));
    for (TrainerFixture* fixture : {&next, &fresh}) {
        fixture->options.learner.top = {9, 1};
    }
    const InitFrom from{&*file, false, {}, {}, true};
    auto trainer = *next.make(nullptr, &from);
    auto untouched = *fresh.make();
    const std::vector<TensorRef> begun = untouched->learner().tensors();
    for (const TensorRef& t : trainer->learner().tensors()) {
        const TensorRef* was = file->find(t.name);
        const bool isTop = t.name.starts_with("top.0.") || t.name == "top.1.weight";
        const auto same = std::find_if(begun.begin(), begun.end(),
                                       [&](const TensorRef& one) { return one.name == t.name; });
        const TensorRef* wanted = isTop || !t.isWeight ? &*same : was;
        EXPECT_EQ(std::string_view(static_cast<char*>(t.data), t.numBytes()),
                  std::string_view(static_cast<char*>(wanted->data), t.numBytes()))
            << t.name;
    }
}

TEST(Trainer, RefusesTheStateOfAnotherOptimizer) {
    TrainerFixture f("dlrm"), next("dlrm");
    f.options.numericKeys["train"]["optimizer"] = "adagrad";
    next.options.numericKeys["train"]["optimizer"] = "adamw";
    ASSERT_TRUE((*f.make())->run().ok());
    const auto file = Checkpoint::open(f.pathOf(f.reporter.checkpoints.back()));
    InitFrom from{&*file, true, {}, {}, true};
    EXPECT_THAT(std::string(messageOf(next.make(nullptr, &from).status())),
                HasSubstr("train.init_from: train.optimizer was \"adagrad\", is \"adamw\": its "
                          "state is of no use to another; leave `optimizer` out"));
    from.takesOptimizer = false;
    EXPECT_TRUE(next.make(nullptr, &from).ok());
}

TEST(Trainer, EndsWithTheReasonWhenTheLossDiverges) {
    TrainerFixture f("mlp");
    f.options.learner.optimizer.kind = OptimizerKind::kSgd;
    f.options.learner.optimizer.learningRate = 1e30;
    const auto outcome = (*f.make())->run();
    EXPECT_EQ(outcome.status().code(), absl::StatusCode::kInvalidArgument) << "no restart helps";
    EXPECT_THAT(std::string(messageOf(outcome.status())),
                HasSubstr("step 2: the loss is not finite: 57 of 64 rows, file 0 row 64, "));
}

/// 50 ms pass whenever it is looked at: rates are due at each step.
class TickingClock final : public Clock {
 public:
    std::int64_t wallMs() const override { return steadyNs() / kNsPerMs; }
    std::int64_t steadyNs() const override { return now_ += 50 * kNsPerMs; }

 private:
    mutable std::int64_t now_ = 0;
};

TEST(Trainer, TellsWhereAStepsTimeWentAndWhatTablesWereUsedFor) {
    for (const char* precision : {"fp32", "fp64"}) {
        TrainerFixture f("dlrm");
        f.options.learner.precision = precision;
        const TickingClock clock;
        f.clock = &clock;
        ASSERT_TRUE((*f.make())->run().ok());
        rank::Values told;
        for (const rank::Metrics& line : f.reporter.metrics) {
            told.insert(line.values.begin(), line.values.end());
        }
        for (const char* part : {"input", "forward", "backward", "optimizer"}) {
            EXPECT_GE(told.at(strCat("trainer.", part, "_ms")), 0) << part;
        }
        EXPECT_GT(told.at("trainer.forward_ms"), 0);
        EXPECT_FALSE(told.contains("trainer.communication_ms")) << "one rank has none";
        EXPECT_GT(told.at("gradient_norm"), 0);
        EXPECT_EQ(told.at("learning_rate"), 0.01);
        EXPECT_LE(told.at("embedding.rows_touched"), 57) << "all rows of all tables";
        EXPECT_GT(told.at("embedding.rows_touched"), 30);
        for (const char* table : {"user", "item", "tags"}) {
            EXPECT_EQ(told.at(strCat("embedding.", table, ".used_percent")), 100) << table;
        }
    }
}

TEST(Trainer, NamesTheRowsWhoseLossIsNotFinite) {
    for (const char* precision : {"fp32", "fp64"}) {
        TrainerFixture f("mlp");
        f.options.learner.precision = precision;
        f.options.fileName = [](std::uint32_t file) { return strCat("part-", file, ".csv"); };
        f.train.badRow = 21;
        const auto outcome = (*f.make())->run();
        EXPECT_EQ(outcome.status().code(), absl::StatusCode::kInvalidArgument);
        EXPECT_THAT(std::string(messageOf(outcome.status())),
                    HasSubstr("step 1: the loss is not finite: 1 of 64 rows, part-0.csv row 21."));
    }
}
#endif

}  // namespace
}  // namespace millrace::train

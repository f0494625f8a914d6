// Texts and predicates of a run's values.
#include <gtest/gtest.h>

#include "backend/values/receipt.h"
#include "backend/values/run_summary.h"

namespace millrace::values {
namespace {

TEST(RunValues, EachStateHasAWordThatNamesItAlone) {
    for (const char* word :
         {"queued", "starting", "running", "stopping", "finished", "failed", "cancelled"}) {
        ASSERT_TRUE(runStateOf(word).has_value()) << word;
        EXPECT_EQ(nameOf(*runStateOf(word)), word);
    }
    EXPECT_FALSE(runStateOf("unknown").has_value());
    EXPECT_FALSE(runStateOf("").has_value());
    EXPECT_TRUE(isEnded(RunState::kCancelled));
    EXPECT_FALSE(isEnded(RunState::kStopping));
}

TEST(RunValues, APhaseIsStoredAsAWordAndShownAsAnother) {
    EXPECT_EQ(nameOf(phaseOf("waiting")), "waiting for data");
    EXPECT_EQ(nameOf(phaseOf("checkpoint")), "writing a checkpoint");
    EXPECT_EQ(phaseOf("training"), Phase::kTraining);
    EXPECT_EQ(phaseOf("evaluating"), Phase::kEvaluating);
    EXPECT_EQ(phaseOf("ending"), Phase::kEnding);
    EXPECT_EQ(nameOf(Phase::kEnding), "ending");
    EXPECT_EQ(phaseOf("dreaming"), Phase::kUnknown);
}

TEST(RunValues, ARateIsTheNewestOfARunThatGoesOnAndTheMeanOfOneThatHasEnded) {
    RunSummary run;
    run.latestMetrics = {{"loss", 0.5}, {"samples_per_second", 900}};
    run.meanRate = 700;
    run.state = RunState::kRunning;
    EXPECT_EQ(run.rate(), 900);
    run.state = RunState::kFinished;
    EXPECT_EQ(run.rate(), 700);
    EXPECT_EQ(run.metric("loss"), 0.5);
    EXPECT_EQ(run.newest("auc"), nullptr);
}

TEST(RunValues, ARunsReasonIsWhatMattersNow) {
    RunSummary run;
    run.state = RunState::kQueued;
    run.queuedReason = "behind 1 run";
    run.exitReason = "killed";
    EXPECT_EQ(run.reason(), "behind 1 run");
    run.trouble = "disk full";
    EXPECT_EQ(run.reason(), "disk full");
    run.state = RunState::kFailed;
    EXPECT_EQ(run.reason(), "killed");
    run.standsSinceMs = 5;
    EXPECT_EQ(run.stateWord(), "failed") << "what has ended does not stand still";
    run.state = RunState::kRunning;
    EXPECT_EQ(run.stateWord(), "stalled");
    run.deletedMs = run.purgedMs = 7;
    EXPECT_EQ(run.stateWord(), "purged");
    EXPECT_TRUE(run.isDeleted());
}

TEST(RunValues, UnknownIdsAreAShareOfTheIds) {
    EXPECT_EQ((VocabularyReceipt{"genres", 400, 10}).unknownPercent(), 2.5);
    EXPECT_EQ((VocabularyReceipt{"genres", 0, 0}).unknownPercent(), 0);
    EXPECT_EQ((VocabularyReceipt{"genres", 400, 10, 50, 2}).evalUnknownPercent(), 4);
}

}  // namespace
}  // namespace millrace::values

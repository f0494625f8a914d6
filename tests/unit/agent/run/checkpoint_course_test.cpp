// Which checkpoint a run resumes from, tested through the controller.
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using values::RunState;

class CheckpointCourseTest : public AgentTest {
 protected:
    /// A run that has connected and trained for a while.
    std::string started(int maxRestarts = 2) {
        const std::string id = submit(maxRestarts);
        hello(id);
        say(id, 1, rank::Metrics{10, 0, 1, 5, {{"loss", 0.5}}});
        return id;
    }
    void kill(const std::string& id, int attempt = 1) {
        leave(id, attempt);
        endGang(id, attempt, 137);
    }
};

TEST_F(CheckpointCourseTest, ACheckpointOfWhichNoLineCameInIsGoneOnFrom) {
    const std::string id = started();
    checkpoint(id, 2, 100);
    std::filesystem::remove(checkpointPath(id, 100));
    writeCheckpoint(id, 200);
    kill(id);
    EXPECT_EQ(resumeOf(id, 2), checkpointPath(id, 200));
    EXPECT_EQ(live.get(id).resumeStep, 200);
    EXPECT_THAT(history(id), HasSubstr("step-00000200.a1.safetensors was found"));
}

TEST_F(CheckpointCourseTest, ARunWhoseCheckpointsAreGoneStopsAndKeepsItsMetrics) {
    const std::string id = started();
    checkpoint(id, 2, 100);
    std::filesystem::remove(checkpointPath(id, 100));
    kill(id);
    EXPECT_EQ(record(id).state, RunState::kFailed);
    EXPECT_EQ(record(id).attempt, 1);
    EXPECT_THAT(record(id).exitReason, HasSubstr("--from-start"));
    EXPECT_EQ(store->metrics(id, "loss")->points.size(), 1u);
    ASSERT_TRUE(absl::IsFailedPrecondition(service->resume(id, values::kFromLast).status()));
    ASSERT_TRUE(service->resume(id, values::kFromStart).ok());
    controller->drain();
    EXPECT_EQ(record(id).attempt, 2);
    EXPECT_EQ(resumeOf(id, 2), "");
}

TEST_F(CheckpointCourseTest, ADamagedNewestCheckpointIsSetAsideAndTheOneBeforeTaken) {
    const std::string id = started();
    checkpoint(id, 2, 100);
    checkpoint(id, 3, 200);
    std::ofstream(checkpointPath(id, 200), std::ios::in | std::ios::out).seekp(300) << "\xff\xfe";
    kill(id);
    EXPECT_EQ(resumeOf(id, 2), checkpointPath(id, 100));
    EXPECT_THAT(history(id), HasSubstr("step-00000200.a1.safetensors.damaged"));
}

TEST_F(CheckpointCourseTest, WhatCannotBeReadStopsTheRunAndCutsNothing) {
    const std::string id = started();
    checkpoint(id, 2, 100);
    std::filesystem::remove(checkpointPath(id, 100));
    std::filesystem::create_symlink("step-00000100.a1.safetensors", checkpointPath(id, 100));
    kill(id);
    EXPECT_EQ(record(id).state, RunState::kFailed);
    EXPECT_THAT(record(id).exitReason, HasSubstr("cannot be read"));
    EXPECT_EQ(store->metrics(id, "loss")->points.size(), 1u);
    EXPECT_EQ(store->checkpoints(id)->size(), 1u);
}

TEST_F(CheckpointCourseTest, AResumeThatIsNeverPlacedDestroysNothing) {
    const std::string id = started(0);
    checkpoint(id, 2, 50);
    say(id, 3, rank::Metrics{90, 0, 1, 5, {{"loss", 0.25}}});
    checkpoint(id, 4, 100);
    kill(id);
    engine.submitError = failedPrecondition("never fits");
    ASSERT_TRUE(service->resume(id, 50).ok());
    controller->drain();
    EXPECT_THAT(record(id).exitReason, HasSubstr("never fits"));
    EXPECT_EQ(store->metrics(id, "loss")->points.size(), 2u);
    EXPECT_EQ(store->checkpoints(id)->size(), 2u);
    EXPECT_TRUE(std::filesystem::exists(checkpointPath(id, 100)));
}

TEST_F(CheckpointCourseTest, AnAttemptThatDiesBeforeItsFirstStepIsFollowedByOneFromTheSameStep) {
    const std::string id = started();
    checkpoint(id, 2, 50);
    checkpoint(id, 3, 100);
    ASSERT_TRUE(service->stop(id, "", std::chrono::seconds(15)).ok());
    leave(id);
    endGang(id, 1, kExitStopped);
    ASSERT_TRUE(service->resume(id, 50).ok());
    controller->drain();
    hello(id, 2);
    kill(id, 2);
    clock.advanceMs(900);
    controller->drain();
    EXPECT_EQ(record(id).attempt, 2) << "not at once";
    clock.advanceMs(200);
    controller->drain();
    EXPECT_EQ(record(id).attempt, 3);
    EXPECT_EQ(resumeOf(id, 3), checkpointPath(id, 50));
}

TEST_F(CheckpointCourseTest, AKilledDaemonBetweenAttemptAndCutLeavesNoOtherCourse) {
    const std::string id = started();
    checkpoint(id, 2, 50);
    checkpoint(id, 3, 100);
    say(id, 4, rank::Done{100, 2, "", {}, {}});
    leave(id);
    endGang(id, 1, 0);
    ASSERT_TRUE(service->resume(id, 50).ok());
    controller->drain();
    hello(id, 2);
    say(id, 1, rank::Metrics{51, 0, 1, 5, {{"loss", 0.5}}}, 2);
    // Simulates a daemon that ended before it could set the later file aside.
    std::filesystem::rename(checkpointPath(id, 100) + ".void", checkpointPath(id, 100));
    makeController();
    ASSERT_TRUE(controller->recover().ok());
    hello(id, 2);
    kill(id, 2);
    EXPECT_EQ(record(id).attempt, 3);
    EXPECT_EQ(resumeOf(id, 3), checkpointPath(id, 50));
}

TEST_F(CheckpointCourseTest, AResumeOfARunWithoutACheckpointIsRefusedWithTheWayToGoOn) {
    const std::string id = started(0);
    kill(id);
    const Status refused = service->resume(id, values::kFromLast).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused));
    EXPECT_THAT(std::string(messageOf(refused)), HasSubstr("has no checkpoint"));
    EXPECT_THAT(std::string(messageOf(refused)), HasSubstr("--from-start"));
    EXPECT_EQ(record(id).state, RunState::kFailed);
}

TEST_F(CheckpointCourseTest, FromTheStartSetsEveryCheckpointAsideOnceItWorks) {
    const std::string id = started(0);
    checkpoint(id, 2, 50);
    kill(id);
    ASSERT_TRUE(service->resume(id, values::kFromStart).ok());
    makeController();
    ASSERT_TRUE(controller->recover().ok());
    controller->drain();
    EXPECT_EQ(resumeOf(id, 2), "") << "also by a daemon that came later";
    EXPECT_TRUE(std::filesystem::exists(checkpointPath(id, 50)));
    hello(id, 2);
    say(id, 1, rank::Progress{1, 0, 0, 0, "training"}, 2);
    EXPECT_TRUE(std::filesystem::exists(checkpointPath(id, 50) + ".void"));
}

TEST_F(CheckpointCourseTest, AWorkerCannotHaveAForeignFileRemoved) {
    const std::string id = started();
    const std::string mine = root + "/mine";
    std::ofstream(mine) << "x";
    std::ofstream(root + "/runs/" + id + "/checkpoints/notes.txt") << "x";
    for (int i = 0; i < 4; ++i) {
        const auto seq = static_cast<std::uint64_t>(2 + 2 * i);
        say(id, seq, rank::Checkpoint{i + 1, "../../../mine", 1, "h", "{}"});
        say(id, seq + 1, rank::Checkpoint{i + 1, "notes.txt", 1, "h", "{}"});
    }
    EXPECT_TRUE(std::filesystem::exists(mine));
    EXPECT_TRUE(std::filesystem::exists(root + "/runs/" + id + "/checkpoints/notes.txt"));
    EXPECT_TRUE(store->checkpoints(id)->empty());
    EXPECT_EQ((door(id)->acks.at({1, 1})), 9u) << "the worker need not send them again";
}

}  // namespace
}  // namespace millrace::agent

// Runs that an earlier daemon left: their workers live, are gone, or cannot be reached.
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using values::RunState;

class AdoptionTest : public AgentTest {
 protected:
    std::string running() {
        const std::string id = submit();
        hello(id);
        say(id, 1, rank::Metrics{5, 0, 1, 5, {{"loss", 0.5}}});
        return id;
    }
    /// A run whose ranks were asked to stop and resume on other nodes.
    std::string movingAway() {
        const std::string id = running();
        checkpoint(id, 2, 6);
        std::ofstream(root + "/runs/" + id + "/a1/leave.json")
            << R"({"why":"node node1 is drained","grace_ms":600000})";
        return id;
    }
    void replaceDaemon() {
        listeners.listeners.clear();
        makeController();
        ASSERT_TRUE(controller->recover().ok());
    }
    void pass(std::int64_t ms) {
        clock.advanceMs(ms);
        controller->drain();
    }
};

TEST_F(AdoptionTest, AnEngineThatCannotAnswerLeavesTheRunAsItIs) {
    const std::string id = running();
    engine.findError = dataLoss("gang.json: is not what the engine wrote");
    replaceDaemon();
    EXPECT_EQ(record(id).state, RunState::kRunning);
    EXPECT_EQ(record(id).attempt, 1);
    EXPECT_THAT(history(id), HasSubstr("cannot be asked for: gang.json"));
    hello(id);
    say(id, 2, rank::Metrics{6, 0, 2, 6, {{"loss", 0.4}}});
    EXPECT_EQ(store->metrics(id, "loss")->points.size(), 2u) << "its lines are taken all the same";
    engine.findError = okStatus();
    pass(1'100);
    EXPECT_THAT(history(id), HasSubstr("attempt 1 adopted"));
    say(id, 3, rank::Done{6, 2, "", {}, {}});
    leave(id);
    endGang(id, 1, 0);
    EXPECT_EQ(record(id).state, RunState::kFinished);
}

TEST_F(AdoptionTest, ARunThatIsSilentForLongerThanTheLeaseGoesOnWithoutItsOldWorkers) {
    const std::string id = running();
    checkpoint(id, 2, 5);
    engine.findError = dataLoss("gang.json: is not what the engine wrote");
    replaceDaemon();
    pass(10 * 60'000);
    EXPECT_EQ(record(id).attempt, 1);
    pass(60'000);
    pass(50);
    EXPECT_EQ(record(id).attempt, 2) << "its workers' lease is over";
    EXPECT_THAT(engine.cancelled, ElementsAre(id + ".a1")) << "none trains beside the next";
    EXPECT_EQ(resumeOf(id, 2), checkpointPath(id, 5));
}

TEST_F(AdoptionTest, AFeedThatCannotBeReplacedJustNowIsReplacedOnceThereIsRoom) {
    const std::string id = running();
    engine.states[id + ".a1"].phase = engines::Phase::kSubmitting;  // its place is free
    engine.submitError = unavailable("/state: No space left on device");
    replaceDaemon();
    EXPECT_THAT(live.get(id).queuedReason, HasSubstr("No space left on device"));
    engine.submitError = okStatus();
    engine.gangs.clear();
    pass(1'100);
    EXPECT_TRUE(engine.gangs.contains(id + ".a1"));
}

TEST_F(AdoptionTest, ASocketThatCannotBeOpenedIsTriedAgain) {
    const std::string id = running();
    listeners.listeners.clear();
    listeners.openError = resourceExhausted("too many open files");
    makeController();
    ASSERT_TRUE(controller->recover().ok());
    EXPECT_EQ(record(id).state, RunState::kRunning);
    EXPECT_FALSE(listeners.listeners.contains(id + ".a1"));
    listeners.openError = okStatus();
    pass(1'100);
    ASSERT_TRUE(listeners.listeners.contains(id + ".a1"));
    hello(id);
    say(id, 2, rank::Done{6, 2, "", {}, {}});
    leave(id);
    endGang(id, 1, 0);
    EXPECT_EQ(record(id).state, RunState::kFinished);
}

TEST_F(AdoptionTest, AGangThatWasStartedInPartIsEndedAndAnotherAttemptStarts) {
    const std::string id = submit();
    engine.states[id + ".a1"].workers[1].isStarted = false;
    engine.submitError = alreadyExists("gang: exists with other contents");
    replaceDaemon();
    EXPECT_THAT(engine.cancelled, ElementsAre(id + ".a1"));
    EXPECT_EQ(record(id).state, RunState::kStarting);
    engine.submitError = okStatus();
    endGang(id, 1, 143);
    EXPECT_EQ(record(id).attempt, 2);
    EXPECT_EQ(record(id).state, RunState::kStarting);
    EXPECT_TRUE(engine.gangs.contains(id + ".a2"));
}

TEST_F(AdoptionTest, ADoneRunWhoseExitWasNotRecordedIsFinished) {
    const std::string id = running();
    checkpoint(id, 2, 6);
    say(id, 3, rank::Done{6, 2, "", {}, {}});
    leave(id);
    engine.states[id + ".a1"].workers[1].isExitAssumed = true;
    endGang(id, 1, 137);
    EXPECT_EQ(record(id).state, RunState::kFinished);
}

TEST_F(AdoptionTest, ARankThatWasKilledAfterItsWordIsNotTakenForDone) {
    const std::string id = running();
    checkpoint(id, 2, 6);
    say(id, 3, rank::Done{6, 2, "", {}, {}});
    leave(id);
    endGang(id, 1, 137);
    EXPECT_EQ(record(id).attempt, 2) << "its record says how it ended";
}

TEST_F(AdoptionTest, ARankThatIsStoppedBeforeTheNewDaemonComesIsEnded) {
    inspector.reply->runs = {someInspected()};
    inspector.reply->runs[0].spec["command"] = {"/bin/true"};
    const std::string id = service->submit(order())->runs.at(0).id;
    controller->drain();
    hello(id);
    say(id, 1, rank::Metrics{5, 0, 1, 5, {{"loss", 0.5}}});
    replaceDaemon();
    for (int i = 0; i < 13; ++i) {
        pass(1'000);
    }
    EXPECT_THAT(engine.cancelled, ElementsAre()) << "it may be connecting again";
    pass(1'000);
    EXPECT_THAT(engine.cancelled, ElementsAre(id + ".a1"));
    EXPECT_THAT(history(id), HasSubstr("rank0 stands still: its process says nothing"));
}

TEST_F(AdoptionTest, RanksThatStoppedToMoveBeforeTheNewDaemonCameCostNoRestart) {
    const std::string id = movingAway();
    engine.states[id + ".a1"].workers[1].exitCode = 0;
    replaceDaemon();
    endGang(id, 1, 0);
    EXPECT_EQ(record(id).attempt, 2);
    EXPECT_EQ(record(id).restarts, 0);
    EXPECT_THAT(history(id), HasSubstr("attempt 1 moves: node node1 is drained"));
}

TEST_F(AdoptionTest, AStopByAUserComesBeforeTheMoveThatTheDaemonBeforeAskedFor) {
    const std::string id = movingAway();
    ASSERT_TRUE(service->stop(id, "enough", std::chrono::seconds(15)).ok());
    engine.states[id + ".a1"].workers[1].exitCode = 0;
    replaceDaemon();
    endGang(id, 1, 0);
    EXPECT_EQ(record(id).state, RunState::kCancelled);
}

TEST_F(AdoptionTest, AStoreThatDoesNotSayWhatItHeardOfARankIsAskedAgain) {
    const std::string id = running();
    sql("ALTER TABLE worker RENAME TO worker_away");
    replaceDaemon();
    EXPECT_THAT(live.get(id).queuedReason, HasSubstr("its workers cannot be asked for"));
    sql("ALTER TABLE worker_away RENAME TO worker");
    pass(1'000);
    EXPECT_EQ(live.get(id).queuedReason, "");
}

TEST_F(AdoptionTest, OldCheckpointsGoThatTheDaemonBeforeHadNoTimeFor) {
    const std::string id = running();
    checkpoint(id, 2, 6);
    checkpoint(id, 3, 7);
    writeCheckpoint(id, 8);
    runs::LineBatch batch{id, 1, "rank0"};
    batch.rank = 0;
    batch.lastSeq = 4;
    runs::CheckpointRecord third;
    third.seq = 4;
    third.step = 8;
    third.name = checkpoint::CheckpointName{8, 1}.text();
    third.hash = "h";
    third.cursor = "{}";
    batch.checkpoints.push_back(third);
    ASSERT_TRUE(store->commitLines(batch).ok());
    ASSERT_EQ(store->checkpoints(id)->size(), 3u);
    replaceDaemon();
    controller->drain();
    EXPECT_EQ(store->checkpoints(id)->size(), 2u);
    EXPECT_FALSE(std::filesystem::exists(checkpointPath(id, 6)));
}

TEST_F(AdoptionTest, ARankThatNoDaemonHasHeardMayBeLoading) {
    inspector.reply->runs = {someInspected()};
    inspector.reply->runs[0].spec["command"] = {"/bin/true"};
    const std::string id = service->submit(order())->runs.at(0).id;
    controller->drain();
    replaceDaemon();
    for (int i = 0; i < 60; ++i) {
        pass(1'000);
    }
    EXPECT_THAT(engine.cancelled, ElementsAre());
}

TEST_F(AdoptionTest, AStopOfARunThatIsUnknownReachesItsRank) {
    const std::string id = running();
    engine.findError = dataLoss("gang.json");
    replaceDaemon();
    hello(id);
    ASSERT_TRUE(service->stop(id, "enough", std::chrono::seconds(15)).ok());
    EXPECT_THAT(door(id)->stops, ElementsAre(1));
}

TEST_F(AdoptionTest, ARunThatTheDaemonCannotUseIsFailedOnceItsWorkersHaveEnded) {
    const std::string id = running();
    sql("UPDATE run_document SET text = '{' WHERE kind = 'resolved'");
    replaceDaemon();
    EXPECT_EQ(record(id).state, RunState::kRunning);
    EXPECT_THAT(engine.cancelled, ElementsAre(id + ".a1"));
    controller->drain();
    EXPECT_THAT(controller->warnings(),
                ::testing::Contains(HasSubstr("its workers are being ended")));
    engine.end(id + ".a1", 137, 137);
    clock.advanceMs(1'000);
    controller->drain();
    EXPECT_EQ(record(id).state, RunState::kFailed);
    EXPECT_THAT(record(id).exitReason, HasSubstr("refused"));
}

TEST_F(AdoptionTest, ARefusalThatTheStoreDoesNotTakeIsTriedAgain) {
    const std::string id = running();
    engine.end(id + ".a1", 137, 137);
    sql("UPDATE run_document SET text = '{' WHERE kind = 'resolved'");
    sql("CREATE TRIGGER damaged BEFORE UPDATE ON run BEGIN SELECT RAISE(ABORT, 'damaged'); END");
    replaceDaemon();
    controller->drain();
    EXPECT_EQ(record(id).state, RunState::kRunning);
    EXPECT_THAT(controller->warnings(), ::testing::Contains(HasSubstr("damaged")));
    sql("DROP TRIGGER damaged");
    clock.advanceMs(5'000);
    controller->drain();
    EXPECT_EQ(record(id).state, RunState::kFailed);
}

TEST_F(AdoptionTest, AGangThatNoRunFollowsIsEndedAndKeepsTheNextAttemptWaiting) {
    const std::string id = running();
    sql("UPDATE run SET state = 'failed'");  // as an older daemon would have left it
    replaceDaemon();
    ASSERT_TRUE(engine.cancelled.empty());
    controller->post(id + ".a1", engine.states[id + ".a1"]);
    controller->drain();
    EXPECT_THAT(engine.cancelled, ElementsAre(id + ".a1"));
    ASSERT_TRUE(service->resume(id, values::kFromStart).ok());
    controller->drain();
    EXPECT_FALSE(engine.gangs.contains(id + ".a2"));
    EXPECT_THAT(live.get(id).queuedReason, HasSubstr("workers of " + id + ".a1 are being ended"));
    engine.end(id + ".a1", 137, 137);
    clock.advanceMs(31'000);
    controller->drain();
    EXPECT_TRUE(engine.gangs.contains(id + ".a2"));
}

TEST_F(AdoptionTest, DownEndsEveryGangOfTheStateDirectory) {
    const std::string id = running();
    engine.findError = unavailable("gang.json cannot be read");
    sql("UPDATE run_document SET text = '{' WHERE kind = 'resolved'");
    replaceDaemon();
    engine.findError = okStatus();
    const auto report = controller->down(std::chrono::seconds(1));
    ASSERT_TRUE(report.ok());
    EXPECT_THAT(engine.cancelled, ::testing::Contains(id + ".a1"));
    EXPECT_EQ(report->workersEnded, 2);
    EXPECT_EQ(record(id).state, RunState::kStopping) << "for the next daemon";
}

}  // namespace
}  // namespace millrace::agent

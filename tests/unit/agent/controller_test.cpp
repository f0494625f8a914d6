// Runs from submit to end; workers and engine follow the test.
#include "tests/support/file_size_limit.h"
#include "tests/support/no_descriptors.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using values::RunState;

TEST_F(AgentTest, ASubmittedRunIsStartedWithItsJob) {
    const std::string id = submit();
    EXPECT_EQ(record(id).state, RunState::kStarting);
    EXPECT_EQ(record(id).attempt, 1);
    const engines::Gang& gang = engine.gangs.at(id + ".a1");
    EXPECT_EQ(gang.groups.at(0).argv.at(0), "/opt/bin/millrace-loader");
    EXPECT_EQ(gang.groups.at(1).argv.at(0), "/opt/bin/millrace-trainer");
    const Json job = Json::parse(std::ifstream(root + "/runs/" + id + "/a1/job.json"));
    EXPECT_EQ(job.at("run"), id);
    EXPECT_EQ(job.at("resume"), nullptr);
    EXPECT_EQ(job.at("spec").at("name"), "movielens");
}

TEST_F(AgentTest, TheFirstHelloOfRank0MakesItRunning) {
    const std::string id = submit();
    hello(id);
    EXPECT_EQ(record(id).state, RunState::kRunning);
    EXPECT_GT(record(id).startedMs, 0);
}

TEST_F(AgentTest, MetricsAreAcknowledgedOnceTheyAreStored) {
    const std::string id = submit();
    hello(id);
    say(id, 1, rank::Metrics{1, 0, 1024, 5, {{"loss", 0.5}}});
    say(id, 2, rank::Metrics{2, 0, 2048, 6, {{"loss", 0.4}}});
    EXPECT_EQ((door(id)->acks.at({1, 1})), 2u);
    EXPECT_EQ(store->metrics(id, "loss")->points.size(), 2u);
}

TEST_F(AgentTest, ARunIsFinishedWhenRank0SaidSoAndTheGangEndedWell) {
    const std::string id = submit();
    hello(id);
    say(id, 1, rank::Done{10, 10240, "", {}, {{"eval_order_hash", "aa"}}});
    EXPECT_EQ((door(id)->acks.at({1, 1})), 1u);
    EXPECT_EQ(record(id).state, RunState::kRunning);
    leave(id);
    endGang(id, 1, 0);
    EXPECT_EQ(record(id).state, RunState::kFinished);
    EXPECT_EQ(record(id).exitReason, "");
}

TEST_F(AgentTest, ExitCodeZeroAloneIsNoSuccess) {
    const std::string id = submit(0);
    hello(id);
    leave(id);
    endGang(id, 1, 0);
    EXPECT_EQ(record(id).state, RunState::kFailed);
    EXPECT_THAT(record(id).exitReason, HasSubstr("without saying that it was done"));
}

TEST_F(AgentTest, WhatTheSocketsStillHoldIsReadBeforeTheRunEnds) {
    const std::string id = submit();
    hello(id);
    endGang(id, 1, 0);
    EXPECT_EQ(record(id).state, RunState::kRunning);
    say(id, 1, rank::Done{10, 10240, "", {}, {}});
    leave(id);
    EXPECT_EQ(record(id).state, RunState::kFinished);
}

TEST_F(AgentTest, AKilledRankGoesOnFromItsLastCheckpoint) {
    const std::string id = submit();
    hello(id);
    say(id, 1, rank::Metrics{120, 0, 1, 5, {{"loss", 0.5}}});
    checkpoint(id, 2, 100);
    leave(id);
    endGang(id, 1, 137);
    EXPECT_EQ(record(id).state, RunState::kStarting);
    EXPECT_EQ(record(id).attempt, 2);
    EXPECT_EQ(resumeOf(id, 2), checkpointPath(id, 100));
    EXPECT_EQ(store->metrics(id, "loss")->points.size(), 1u) << "until the attempt works";
    hello(id, 2);
    say(id, 1, rank::Progress{100, 0, 1, 0, "waiting"}, 2);
    EXPECT_EQ(store->metrics(id, "loss")->points.size(), 1u) << "it waits for its first batch";
    say(id, 2, rank::Progress{101, 0, 1, 0, "training"}, 2);
    EXPECT_EQ(store->metrics(id, "loss")->points.size(), 0u) << "step 120 is void now";
}

TEST_F(AgentTest, RestartsComeToAnEnd) {
    const std::string id = submit(2);
    for (int attempt = 1; attempt <= 3; ++attempt) {
        hello(id, attempt);
        say(id, 1, rank::Metrics{10, 0, 1, 5, {{"loss", 0.5}}}, attempt);
        leave(id, attempt);
        endGang(id, attempt, 139);
    }
    EXPECT_EQ(record(id).state, RunState::kFailed);
    EXPECT_THAT(record(id).exitReason, HasSubstr("SIGSEGV"));
    EXPECT_THAT(record(id).exitReason, HasSubstr("2 restarts"));
}

TEST_F(AgentTest, AWorkersOwnSentenceIsTheReason) {
    const std::string id = submit();
    hello(id);
    say(id, 1, rank::ErrorLine{"ratings.csv, line 7: 3 fields instead of 4"});
    leave(id);
    endGang(id, 1, kExitInput);
    EXPECT_EQ(record(id).state, RunState::kFailed);
    EXPECT_EQ(record(id).exitReason, "rank0: ratings.csv, line 7: 3 fields instead of 4");
    EXPECT_EQ(record(id).attempt, 1) << "bad input is not tried again";
}

TEST_F(AgentTest, AStopAsksForACheckpointAndCancels) {
    const std::string id = submit();
    hello(id);
    ASSERT_TRUE(service->stop(id, "enough", std::chrono::seconds(15)).ok());
    EXPECT_EQ(record(id).state, RunState::kStopping);
    EXPECT_THAT(door(id)->stops, ElementsAre(1));
    checkpoint(id, 1, 50);
    leave(id);
    endGang(id, 1, kExitStopped);
    EXPECT_EQ(record(id).state, RunState::kCancelled);
    EXPECT_EQ(record(id).exitReason, "enough");
}

TEST_F(AgentTest, ARankThatIsDeafToAStopIsEndedAfterTheGrace) {
    const std::string id = submit();
    hello(id);
    ASSERT_TRUE(service->stop(id, "enough", std::chrono::seconds(15)).ok());
    clock.advanceMs(14'000);
    controller->drain();
    EXPECT_TRUE(engine.cancelled.empty());
    clock.advanceMs(2'000);
    controller->drain();
    EXPECT_THAT(engine.cancelled, ElementsAre(id + ".a1"));
    EXPECT_EQ(engine.whyCancelled, "the run was stopped: enough");
}

TEST_F(AgentTest, ARankThatIsDoneAndDoesNotLeaveIsEndedLateAndTheRunIsFinished) {
    const std::string id = submit();
    hello(id);
    say(id, 1, rank::Progress{50, 0, 500, 50, "ending", 1, 0, 0});
    say(id, 2, rank::Done{50, 500, "", {}, {}});
    const auto pass = [&](int seconds) {
        for (int i = 0; i < seconds; ++i) {
            clock.advanceMs(1'000);
            controller->drain();
        }
    };
    pass(900);
    makeController();  // another daemon takes over
    ASSERT_TRUE(controller->recover().ok());
    hello(id);
    pass(1'790);
    EXPECT_THAT(engine.cancelled, ::testing::IsEmpty());
    EXPECT_THAT(live.get(id).trouble, ::testing::Not(::testing::HasSubstr("rank0")));
    pass(20);
    EXPECT_THAT(engine.cancelled, ElementsAre(id + ".a1"));
    EXPECT_THAT(history(id), ::testing::HasSubstr("rank0 has not left 30 m 00 s after it said that "
                                                  "it was done (train.exit_minutes)"));
    leave(id);
    endGang(id, 1, 143);
    EXPECT_EQ(record(id).state, RunState::kFinished);
}

TEST_F(AgentTest, AStopOfARunThatIsDoneAndDoesNotLeaveKeepsItFinished) {
    const std::string id = submit();
    hello(id);
    say(id, 1, rank::Done{50, 500, "", {}, {}});
    controller->post(id + ".a1", engine.states[id + ".a1"]);
    ASSERT_TRUE(service->stop(id, "enough", std::chrono::seconds(15)).ok());
    controller->drain();
    clock.advanceMs(16'000);
    controller->drain();
    EXPECT_THAT(engine.cancelled, ElementsAre(id + ".a1"));
    EXPECT_THAT(history(id), ::testing::HasSubstr("still leaving after the grace"));
    leave(id);
    endGang(id, 1, 137);
    EXPECT_EQ(record(id).state, RunState::kFinished);
}

TEST_F(AgentTest, ARankThatSaysHelloLateHearsOfTheStop) {
    const std::string id = submit();
    ASSERT_TRUE(service->stop(id, "enough", std::chrono::seconds(15)).ok());
    hello(id);
    EXPECT_THAT(door(id)->stops, ElementsAre(1));
    EXPECT_EQ(record(id).state, RunState::kStopping);
}

TEST_F(AgentTest, AResumedRunStartsAnotherAttemptFromItsCheckpoint) {
    const std::string id = submit();
    hello(id);
    checkpoint(id, 1, 50);
    ASSERT_TRUE(service->stop(id, "", std::chrono::seconds(15)).ok());
    leave(id);
    endGang(id, 1, kExitStopped);
    ASSERT_TRUE(service->resume(id, 0).ok());
    controller->drain();
    EXPECT_EQ(record(id).attempt, 2);
    EXPECT_EQ(record(id).state, RunState::kStarting);
    EXPECT_EQ(live.get(id).resumeStep, 50);
}

TEST_F(AgentTest, WhatAFeedIsAheadIsNoStepOfTheRun) {
    const std::string id = submit();
    hello(id);
    rank::RankLine line;
    line.seq = 1;
    line.attempt = 1;
    line.body = rank::Metrics{60, 0, 1, 5, {{"loader.rows_per_second", 7}}};
    EXPECT_TRUE(door(id)->listener.onLine(2, {id, 1, "feed", 0, 100}, line));
    clock.advanceMs(50);
    controller->drain();
    leave(id);
    endGang(id, 1, 1);
    EXPECT_EQ(record(id).state, RunState::kFailed);
    EXPECT_THAT(record(id).exitReason, HasSubstr("it got no step further"));
}

TEST_F(AgentTest, ResumeOfAStepWithoutCheckpointSaysSo) {
    const std::string id = submit();
    ASSERT_TRUE(service->stop(id, "", std::chrono::seconds(15)).ok());
    endGang(id, 1, kExitStopped);
    const Status refused = service->resume(id, 77).status();
    EXPECT_TRUE(absl::IsNotFound(refused));
    EXPECT_THAT(std::string(messageOf(refused)), HasSubstr("no checkpoint of step 77"));
    EXPECT_EQ(record(id).state, RunState::kCancelled) << "it stays as it was";
}

TEST_F(AgentTest, AFinishedRunIsRepeatedFromAStepOnly) {
    const std::string id = submit();
    hello(id);
    checkpoint(id, 1, 50);
    checkpoint(id, 2, 100);
    say(id, 3, rank::Done{100, 2, "", {}, {}});
    leave(id);
    endGang(id, 1, 0);
    EXPECT_TRUE(absl::IsFailedPrecondition(service->resume(id, 0).status()));
    EXPECT_THAT(std::string(messageOf(service->resume(id, 77).status())), HasSubstr("50, 100"));
    EXPECT_EQ(record(id).state, RunState::kFinished);
    ASSERT_TRUE(service->resume(id, 50).ok());
    controller->drain();
    EXPECT_EQ(record(id).attempt, 2);
    EXPECT_EQ(record(id).restarts, 0);
    EXPECT_EQ(store->checkpoints(id)->size(), 2u) << "the attempt has not begun";
    hello(id, 2);
    say(id, 1, rank::Metrics{51, 0, 1, 5, {{"loss", 0.5}}}, 2);
    ASSERT_EQ(store->checkpoints(id)->size(), 1u) << "checkpoints after the step are void";
    EXPECT_TRUE(std::filesystem::exists(checkpointPath(id, 100) + ".void"));
    EXPECT_FALSE(std::filesystem::exists(checkpointPath(id, 100)));
    EXPECT_THAT(history(id), HasSubstr("step-00000100.a1.safetensors was set aside"));
    EXPECT_EQ(store->checkpoints(id)->front().step, 50);
}

TEST_F(AgentTest, AResumeKeepsItsStepAndItsPlaceInTheQueueOverARestart) {
    const std::string first = submit(), second = submit(), third = submit();
    hello(first);
    checkpoint(first, 1, 50);
    checkpoint(first, 2, 60);
    ASSERT_TRUE(service->stop(first, "", std::chrono::seconds(15)).ok());
    leave(first);
    endGang(first, 1, kExitStopped);  // the second run starts
    ASSERT_TRUE(service->resume(first, 50).ok());
    makeController();
    ASSERT_TRUE(controller->recover().ok());
    controller->drain();
    endGang(second, 1, kExitInput);
    EXPECT_EQ(record(third).state, RunState::kStarting) << "it was there before the resume";
    EXPECT_EQ(record(first).state, RunState::kQueued);
    endGang(third, 1, kExitInput);
    EXPECT_EQ(record(first).state, RunState::kStarting);
    EXPECT_EQ(live.get(first).resumeStep, 50);
    EXPECT_EQ(record(first).resumeFrom, 0) << "used up";
}

TEST_F(AgentTest, OnlyRestartsByItselfAreCounted) {
    const std::string id = submit();
    hello(id);
    say(id, 1, rank::Metrics{10, 0, 1, 5, {{"loss", 0.5}}});
    leave(id);
    endGang(id, 1, 137);
    EXPECT_EQ(record(id).restarts, 1);
    hello(id, 2);
    ASSERT_TRUE(service->stop(id, "", std::chrono::seconds(15)).ok());
    leave(id, 2);
    endGang(id, 2, kExitStopped);
    ASSERT_TRUE(service->resume(id, values::kFromStart).ok());
    controller->drain();
    EXPECT_EQ(record(id).attempt, 3);
    EXPECT_EQ(record(id).restarts, 1);
}

TEST_F(AgentTest, WorkersTellWhatTheyRunWith) {
    const std::string id = submit();
    hello(id);
    rank::ReceiptLine line;
    line.receipt["packages"]["torch"] = "2.6.0";
    line.receipt["packages"]["odd"] = 7;
    say(id, 1, line);
    const auto packages = record(id).packages;
    EXPECT_EQ(packages.at("torch"), "2.6.0");
    EXPECT_EQ(packages.at("millrace"), "0.1.0");
    EXPECT_FALSE(packages.contains("odd"));
    EXPECT_EQ(record(id).hardware, R"({"cores":2})");
}

TEST_F(AgentTest, ARunningRunCannotBeResumed) {
    const std::string id = submit();
    EXPECT_TRUE(absl::IsFailedPrecondition(service->resume(id, 0).status()));
}

TEST_F(AgentTest, TheSecondRunWaitsAndSaysWhy) {
    const std::string first = submit(), second = submit();
    EXPECT_EQ(record(second).state, RunState::kQueued);
    EXPECT_NE(live.get(second).queuedReason, "");
    hello(first);
    say(first, 1, rank::Done{1, 1, "", {}, {}});
    leave(first);
    endGang(first, 1, 0);
    EXPECT_EQ(record(second).state, RunState::kStarting);
    EXPECT_EQ(live.get(second).queuedReason, "");
}

TEST_F(AgentTest, AQueuedRunIsCancelledAtOnce) {
    submit();
    const std::string second = submit();
    ASSERT_TRUE(service->stop(second, "no", std::chrono::seconds(15)).ok());
    EXPECT_EQ(record(second).state, RunState::kCancelled);
    EXPECT_TRUE(absl::IsFailedPrecondition(
        service->stop(second, "again", std::chrono::seconds(15)).status()));
}

TEST_F(AgentTest, ARunThatNeverFitsIsRefused) {
    inspector.reply->runs = {someInspected()};
    inspector.reply->runs[0].spec["resources"]["gpus_per_rank"] = 4;
    const std::string id = service->submit(order())->runs.at(0).id;
    controller->drain();
    EXPECT_EQ(record(id).state, RunState::kFailed);
    EXPECT_THAT(record(id).exitReason, HasSubstr("refused"));
}

TEST_F(AgentTest, AGangThatCannotBeStartedFailsTheRunWithTheReason) {
    engine.submitError = failedPrecondition("never fits");
    const std::string id = submit();
    EXPECT_EQ(record(id).state, RunState::kFailed);
    EXPECT_THAT(record(id).exitReason, HasSubstr("could not be started: never fits"));
}

TEST_F(AgentTest, AGangThatFindsAFullDiskWaitsForRoom) {
    engine.submitError = resourceExhausted("/state/runs: No space left on device");
    const std::string id = submit();
    EXPECT_EQ(record(id).state, RunState::kStarting);
    EXPECT_THAT(live.get(id).queuedReason, HasSubstr("/state/runs: No space left on device"));
    clock.advanceMs(31'000);
    controller->drain();
    EXPECT_EQ(record(id).state, RunState::kStarting) << "also later";
    engine.submitError = okStatus();
    clock.advanceMs(31'000);
    controller->drain();
    EXPECT_TRUE(engine.gangs.contains(id + ".a1"));
    EXPECT_EQ(live.get(id).queuedReason, "");
}

TEST_F(AgentTest, AStoreWithoutRoomForTheAttemptMakesItWait) {
    inspector.reply->runs = {someInspected()};
    const std::string id = service->submit(order())->runs.at(0).id;
    {
        const tests::FileSizeLimit limit(16
                                         << 10);  // job.json goes in, the store's journal is longer
        controller->drain();
        controller->drain();
    }
    EXPECT_TRUE(std::filesystem::exists(root + "/runs/" + id + "/a1/job.json"));
    EXPECT_EQ(record(id).attempt, 0);
    EXPECT_THAT(live.get(id).queuedReason, HasSubstr(root + "/runs.sqlite: the disk is full"));
    clock.advanceMs(31'000);
    controller->drain();
    EXPECT_TRUE(engine.gangs.contains(id + ".a1"));
}

TEST_F(AgentTest, AStartThatFailsForGoodEndsWhatIsThereOfItFirst) {
    engine.submitError = unavailable("no descriptor");
    const std::string id = submit();
    ASSERT_EQ(record(id).state, RunState::kStarting);
    engines::State half;  // the feed was started
    half.phase = engines::Phase::kSubmitting;
    half.workers = {{.name = "feed", .isStarted = true}, {.name = "rank0", .rank = 0}};
    engine.states[id + ".a1"] = half;
    engine.submitError = notFound("/opt/train.py: No such file or directory");
    clock.advanceMs(31'000);
    controller->drain();
    EXPECT_THAT(engine.cancelled, ElementsAre(id + ".a1"));
    EXPECT_EQ(record(id).state, RunState::kStarting) << "not failed while its feed lives";
    endGang(id, 1, 137, 137);
    clock.advanceMs(3'000);
    controller->drain();
    EXPECT_EQ(record(id).state, RunState::kFailed);
    EXPECT_THAT(record(id).exitReason, HasSubstr("could not be started: /opt/train.py"));
}

TEST_F(AgentTest, AnAttemptThatStartsWhileNoDescriptorIsFreeIsTriedAgain) {
    const std::string first = submit(0), second = submit();
    hello(first);
    leave(first);
    {
        const tests::NoDescriptors none;
        endGang(first, 1, 9);
        clock.advanceMs(5'000);
        controller->drain();
        EXPECT_THAT(live.get(second).queuedReason, HasSubstr("cannot be started now"));
        EXPECT_THAT(live.get(second).queuedReason, HasSubstr("Too many open files"));
    }
    EXPECT_EQ(record(first).state, RunState::kFailed);
    EXPECT_EQ(record(second).state, RunState::kQueued);
    clock.advanceMs(31'000);
    controller->drain();
    EXPECT_EQ(record(second).state, RunState::kStarting);
    EXPECT_TRUE(engine.gangs.contains(second + ".a1"));
    EXPECT_EQ(live.get(second).queuedReason, "");
}

TEST_F(AgentTest, AGangThatFindsNoDescriptorIsPlacedLaterAndLater) {
    engine.submitError = errnoStatus(EMFILE, "pipe");
    const std::string id = submit();
    EXPECT_EQ(record(id).state, RunState::kStarting);
    EXPECT_THAT(live.get(id).queuedReason, HasSubstr("cannot be started now: pipe"));
    clock.advanceMs(1'100);
    controller->drain();  // the second try fails
    engine.submitError = okStatus();
    clock.advanceMs(1'100);
    controller->drain();
    EXPECT_FALSE(engine.gangs.contains(id + ".a1")) << "two seconds now";
    clock.advanceMs(1'000);
    controller->drain();
    EXPECT_TRUE(engine.gangs.contains(id + ".a1"));
    EXPECT_EQ(live.get(id).queuedReason, "");
    EXPECT_EQ(record(id).attempt, 1);
    hello(id);
    EXPECT_EQ(record(id).state, RunState::kRunning);
}

TEST_F(AgentTest, AStopReachesARunThatIsTriedAgain) {
    listeners.openError = errnoStatus(EMFILE, "socket");
    const std::string id = submit();
    EXPECT_EQ(record(id).state, RunState::kStarting);
    ASSERT_TRUE(service->stop(id, "enough", std::chrono::seconds(15)).ok());
    controller->drain();
    EXPECT_EQ(record(id).state, RunState::kCancelled);
    EXPECT_EQ(record(id).exitReason, "enough");
    EXPECT_TRUE(engine.gangs.empty());
}

TEST_F(AgentTest, AStopEndsThePartOfAGangThatWasStarted) {
    listeners.openError = errnoStatus(EMFILE, "socket");
    const std::string id = submit();
    engine.states[id + ".a1"].phase = engines::Phase::kSubmitting;  // as if submit failed half way
    ASSERT_TRUE(service->stop(id, "enough", std::chrono::seconds(15)).ok());
    controller->drain();
    EXPECT_THAT(engine.cancelled, ElementsAre(id + ".a1"));
    EXPECT_EQ(record(id).state, RunState::kStopping);
    endGang(id, 1, 137);
    controller->drain();
    EXPECT_EQ(record(id).state, RunState::kCancelled);
}

TEST_F(AgentTest, AQueuedRunThatCannotBeReadIsTriedAgain) {
    inspector.reply->runs = {someInspected()};
    const std::string id = service->submit(order())->runs.at(0).id;
    sql("ALTER TABLE run_param RENAME TO away");
    controller->drain();
    EXPECT_THAT(live.get(id).queuedReason, HasSubstr("cannot be read"));
    sql("ALTER TABLE away RENAME TO run_param");
    clock.advanceMs(3'000);
    controller->drain();
    EXPECT_EQ(record(id).state, RunState::kQueued);
    clock.advanceMs(2'000);
    controller->drain();
    EXPECT_EQ(record(id).state, RunState::kStarting);
}

TEST_F(AgentTest, OldCheckpointsGoByTheRetentionRule) {
    const std::string id = submit();
    hello(id);
    for (int i = 1; i <= 4; ++i) {
        checkpoint(id, static_cast<std::uint64_t>(i), i * 10);
    }
    const auto left = store->checkpoints(id);
    ASSERT_EQ(left->size(), 2u);
    EXPECT_EQ(left->front().step, 40);
    EXPECT_FALSE(std::filesystem::exists(checkpointPath(id, 10)));
    EXPECT_TRUE(std::filesystem::exists(checkpointPath(id, 30)));
}

TEST_F(AgentTest, AFeedThatOutlivesItsRanksIsEnded) {
    const std::string id = submit();
    hello(id);
    say(id, 1, rank::Done{6, 2, "", {}, {}});
    leave(id);
    engine.states[id + ".a1"].workers[1].exitCode = 0;
    controller->post(id + ".a1", engine.states[id + ".a1"]);
    controller->drain();
    EXPECT_THAT(engine.cancelled, ElementsAre(id + ".a1")) << "at once: its ranks were done";
}

TEST_F(AgentTest, ACancelThatTheEngineDoesNotTakeIsAskedForAgain) {
    const std::string id = submit();
    hello(id);
    engine.cancelError = unavailable("nobody answers");
    ASSERT_TRUE(service->stop(id, "enough", std::chrono::seconds(1)).ok());
    const auto pass = [&](std::int64_t ms) {
        clock.advanceMs(ms);
        controller->drain();
        return engine.cancelled.size();
    };
    EXPECT_EQ(pass(1'100), 1u);
    EXPECT_EQ(pass(100), 1u);
    engine.cancelError = okStatus();
    EXPECT_EQ(pass(1'000), 2u);
    EXPECT_EQ(pass(60'000), 2u) << "it was taken";
    leave(id);
    endGang(id, 1, kExitStopped);
    EXPECT_EQ(record(id).state, RunState::kCancelled);
}

TEST_F(AgentTest, TheEnginesWordsAreAskedForWhereAWorkerNeverSpoke) {
    engine.words = {{"rank0", "no such device"}};
    const std::string silent = submit(0);
    endGang(silent, 1, 5);
    EXPECT_THAT(record(silent).exitReason, HasSubstr("the engine says: no such device"));
    const std::string heard = submit(0);
    const job::AttemptPaths paths = job::RunPaths(root + "/runs", heard).attempt(1);
    std::filesystem::create_directories(paths.worker("rank0"));
    std::ofstream(paths.worker("rank0") + "/out.log") << "2026-03-01T12:00:01.000Z e oh no\n";
    endGang(heard, 1, 5);
    EXPECT_THAT(record(heard).exitReason, HasSubstr("its last line: oh no"));
    EXPECT_THAT(record(heard).exitReason, ::testing::Not(HasSubstr("the engine says")));
}

TEST_F(AgentTest, InitFromNamesAnotherRunsCheckpoint) {
    const std::string first = submit();
    hello(first);
    checkpoint(first, 1, 50);
    say(first, 2, rank::Done{6, 2, "", {}, {}});
    leave(first);
    endGang(first, 1, 0);
    inspector.reply->runs = {someInspected()};
    inspector.reply->runs[0].spec["train"]["init_from"] = first;
    const std::string id = service->submit(order())->runs.at(0).id;
    controller->drain();
    const Json job = Json::parse(std::ifstream(root + "/runs/" + id + "/a1/job.json"));
    EXPECT_EQ(job.at("init_from").get<std::string>(), checkpointPath(first, 50));
}

TEST_F(AgentTest, DownStopsAllAndStartsNothingMore) {
    const std::string first = submit(), second = submit();
    hello(first);
    const values::DownReport report = controller->down(std::chrono::seconds(1)).value();
    EXPECT_EQ(report.runsStopped, 1);
    EXPECT_EQ(report.runsQueued, 1);
    leave(first);
    endGang(first, 1, kExitStopped);
    EXPECT_EQ(record(first).state, RunState::kCancelled);
    EXPECT_EQ(record(second).state, RunState::kQueued);
}

TEST_F(AgentTest, AStopThatTheStoreDoesNotTakeIsStoredLater) {
    const std::string id = submit();
    hello(id);
    sql("CREATE TRIGGER full BEFORE UPDATE ON run BEGIN SELECT RAISE(ABORT, 'full'); END");
    ASSERT_TRUE(service->stop(id, "enough", std::chrono::seconds(15)).ok());
    EXPECT_EQ(record(id).state, RunState::kRunning);
    sql("DROP TRIGGER full");
    clock.advanceMs(1'000);
    controller->drain();
    EXPECT_EQ(record(id).state, RunState::kStopping);
    EXPECT_EQ(record(id).exitReason, "enough");
}

}  // namespace
}  // namespace millrace::agent

// Submits, and the queries of services: RunService, RunWatch, MetricFollower.
#include <thread>

#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::HasSubstr;

TEST_F(AgentTest, ErrorsInTheSpecQueueNothing) {
    spec::SpecError error;
    error.line = 3;
    error.column = 5;
    error.message = "unknown key";
    inspector.reply->errors = {error};
    inspector.reply->warnings = {"a.csv: the header is one field"};
    const Result<values::SubmitReply> outcome = service->submit(order());
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    ASSERT_EQ(outcome->errors.size(), 1u);
    EXPECT_EQ(outcome->errors[0].line, 3);
    ASSERT_EQ(outcome->warnings.size(), 1u);
    EXPECT_EQ(outcome->warnings[0].message, "a.csv: the header is one field");
    EXPECT_TRUE(service->list({})->runs.empty());
}

TEST_F(AgentTest, TheHistoryOfARunKeepsItsWarnings) {
    inspector.reply->runs = {someInspected(), someInspected("keep-30")};
    inspector.reply->runs[1].warnings = {"step 'users': none of 8 rows found a partner"};
    const values::SubmitReply outcome = service->submit(order("k")).value();
    EXPECT_TRUE(service->get(outcome.runs.at(0).id)->events.empty());
    const auto events = service->get(outcome.runs.at(1).id)->events;
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].text, "warning: step 'users': none of 8 rows found a partner");
}

TEST_F(AgentTest, TheSameKeyGivesTheSameRun) {
    inspector.reply->runs = {someInspected()};
    const std::string first = service->submit(order("k1"))->runs.at(0).id;
    const Result<values::SubmitReply> again = service->submit(order("k1"));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(again->wasKnown);
    EXPECT_EQ(again->runs.at(0).id, first);
    EXPECT_EQ(inspector.numCalls, 1);
}

TEST_F(AgentTest, AKeyIsNotForTwoSpecs) {
    inspector.reply->runs = {someInspected()};
    ASSERT_TRUE(service->submit(order("k1")).ok());
    values::SubmitRequest other = order("k1");
    other.specText = "name: other\n";
    EXPECT_TRUE(absl::IsAlreadyExists(service->submit(other).status()));
}

// Changes of a submit make another spec of the same text.
TEST_F(AgentTest, AKeyIsNotForOtherChangesOfASpec) {
    inspector.reply->runs = {someInspected()};
    values::SubmitRequest plain = order("k1"), seeded = order("k2"), other = order("k1");
    seeded.sets = {"batch.seed=8"};
    ASSERT_TRUE(service->submit(plain).ok());
    ASSERT_TRUE(service->submit(seeded).ok());
    EXPECT_TRUE(service->submit(seeded)->wasKnown) << "the same changes again";
    other.sets = {"batch.seed=9"};
    EXPECT_TRUE(absl::IsAlreadyExists(service->submit(other).status()));
    seeded.sets = {"batch.seed=8", "batch.rows=64"};
    EXPECT_THAT(std::string(messageOf(service->submit(seeded).status())),
                HasSubstr("key 'k2' was used with --set batch.seed=8 (run r-"));
    seeded.sets.clear();
    EXPECT_TRUE(absl::IsAlreadyExists(service->submit(seeded).status()));
}

TEST_F(AgentTest, TheSpecsOwnerOwnsTheRunUnlessACertificateNamesTheClient) {
    const auto ownerOf = [&](const std::string& certificate) {
        const Result<values::SubmitReply> reply = service->submit(order(), {}, certificate);
        EXPECT_TRUE(reply.ok()) << reply.status();
        return record(reply->runs.at(0).id).owner;
    };
    inspector.reply->runs = {someInspected()};
    EXPECT_EQ(ownerOf(""), "ann");
    inspector.reply->runs[0].spec["owner"] = "berta";
    EXPECT_EQ(ownerOf(""), "berta");
    EXPECT_EQ(ownerOf("ci-1"), "ci-1");
}

TEST_F(AgentTest, VariationsKnowTheirBase) {
    inspector.reply->runs = {someInspected(), someInspected("keep-30"), someInspected("keep-10")};
    const Result<values::SubmitReply> outcome = service->submit(order("k2"));
    ASSERT_EQ(outcome->runs.size(), 3u);
    const std::string base = outcome->runs[0].id;
    EXPECT_EQ(outcome->runs[1].variationOf, base);
    EXPECT_EQ(outcome->runs[2].variation, "keep-10");
    EXPECT_EQ(service->submit(order("k2"))->runs.size(), 3u);
}

TEST_F(AgentTest, ASubmitThatFailsHalfWayLeavesNothing) {
    sql("CREATE TRIGGER full BEFORE INSERT ON run WHEN new.variation = 'keep-10' BEGIN "
        "SELECT RAISE(FAIL, 'no room'); END");
    inspector.reply->runs = {someInspected(), someInspected("keep-30"), someInspected("keep-10")};
    EXPECT_FALSE(service->submit(order("k3")).ok());
    controller->drain();
    EXPECT_TRUE(service->list({})->runs.empty());
    sql("DROP TRIGGER full");
    const Result<values::SubmitReply> again = service->submit(order("k3"));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_FALSE(again->wasKnown);
    EXPECT_EQ(again->runs.size(), 3u);
    controller->drain();
    EXPECT_EQ(record(again->runs[0].id).state, values::RunState::kStarting);
}

TEST_F(AgentTest, WhatIsQueuedInTheStoreIsStartedAndStoppedWithoutAnotherList) {
    // Simulates a daemon that ended between the commit and its own queue.
    inspector.reply->runs = {someInspected(), someInspected("keep-30")};
    const values::SubmitReply outcome = service->submit(order("k5")).value();
    makeController();
    const std::string first = outcome.runs[0].id, second = outcome.runs[1].id;
    ASSERT_TRUE(service->stop(second, "no", std::chrono::seconds(1)).ok());
    EXPECT_EQ(record(second).state, values::RunState::kCancelled);
    controller->queueChanged();
    controller->drain();
    EXPECT_EQ(record(first).state, values::RunState::kStarting);
}

TEST_F(AgentTest, ASubmittedSpecIsParsedOnceAndItsRunStartsWithIt) {
    inspector.reply->runs = {someInspected()};
    const std::string id = service->submit(order("once")).value().runs.at(0).id;
    sql(
        strCat("UPDATE run_document SET text = '{' WHERE kind = 'resolved' AND run_no = "
               "(SELECT no FROM run WHERE id = '",
               id, "')"));
    controller->drain();
    EXPECT_EQ(record(id).state, values::RunState::kStarting);
}

TEST_F(AgentTest, ARunThatCannotBeReadKeepsItsStateAndOthersAreTakenOver) {
    const std::string damaged = submit(), other = submit();
    sql(
        strCat("UPDATE run_document SET text = '{' WHERE kind = 'packages' AND run_no = "
               "(SELECT no FROM run WHERE id = '",
               damaged, "')"));
    makeController();
    ASSERT_TRUE(controller->recover().ok());
    controller->drain();
    EXPECT_THAT(controller->warnings(), ::testing::Contains(HasSubstr(damaged)));
    runs::RunQuery query;
    query.filter = strCat("id = '", damaged, "'");
    EXPECT_EQ(store->list(query)->runs.at(0).state, values::RunState::kStarting);
    EXPECT_EQ(record(other).state, values::RunState::kStarting) << "there is room for it";
    sql(strCat("UPDATE run_document SET text = '{}' WHERE kind = 'packages'"));
    clock.advanceMs(11'000);
    controller->drain();
    EXPECT_TRUE(controller->warnings().empty());
}

TEST_F(AgentTest, AReaderOfLogsKnowsItsRun) {
    const std::string id = submit();
    const auto log = service->followLogs({id.substr(0, 5)}, [] {});
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_EQ(log->runId(), id);
    EXPECT_TRUE(absl::IsNotFound(service->followLogs({"nobody"}, [] {}).status()));
}

TEST_F(AgentTest, WeightsOfARunThatIsNotThereAreRefusedBeforeAnythingStarts) {
    inspector.reply->runs = {someInspected()};
    inspector.reply->runs[0].spec["train"]["init_from"] = "r-nobod";
    const Result<values::SubmitReply> outcome = service->submit(order("init-1"));
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    ASSERT_EQ(outcome->errors.size(), 1u);
    EXPECT_EQ(outcome->errors[0].path, "train.init_from");
    EXPECT_THAT(outcome->errors[0].message, HasSubstr("r-nobod"));
    EXPECT_TRUE(service->list({})->runs.empty());
    const std::string first = submit();
    inspector.reply->runs = {someInspected()};
    inspector.reply->runs[0].spec["train"]["init_from"] = first;
    EXPECT_TRUE(service->submit(order("init-2"))->errors.empty());
    inspector.reply->runs[0].spec["train"]["init_best"] = true;
    const auto best = service->submit(order("init-3"));
    ASSERT_EQ(best->errors.size(), 1u);
    EXPECT_THAT(best->errors[0].message,
                HasSubstr("keeps no best checkpoint, as its spec has no train.early_stop"));
}

TEST_F(AgentTest, ADaemonWithoutATrainerRefusesModelsAndSaysWhy) {
    const std::string queued = submit();
    noTrainer = "model: this daemon trains no models: /opt/bin/millrace-trainer is not there";
    makeController();
    inspector.reply->runs = {someInspected()};
    const Result<values::SubmitReply> outcome = service->submit(order("model-1"));
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    ASSERT_EQ(outcome->errors.size(), 1u);
    EXPECT_EQ(outcome->errors[0].path, "model");
    EXPECT_EQ(outcome->errors[0].message, noTrainer);
    EXPECT_EQ(service->list({})->runs.size(), 1u);
    const Status resumed = service->resume(queued, 0).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(resumed));
    EXPECT_EQ(std::string(messageOf(resumed)), noTrainer);
}

TEST_F(AgentTest, ARunThatADaemonWithATrainerQueuedWaitsForOne) {
    inspector.reply->runs = {someInspected()};
    const std::string id = service->submit(order())->runs.at(0).id;
    noTrainer = "model: this daemon trains no models";
    makeController();
    ASSERT_TRUE(controller->recover().ok());
    controller->drain();
    EXPECT_EQ(live.get(id).queuedReason, "waits: " + noTrainer);
    EXPECT_EQ(record(id).state, values::RunState::kQueued);
}

TEST_F(AgentTest, ASpecThatIsTooLargeIsRefusedWithItsSize) {
    values::SubmitRequest big = order();
    big.specText.assign(10 << 20, '#');
    const Status status = service->submit(big).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(messageOf(status)), HasSubstr("at most"));
    EXPECT_EQ(inspector.numCalls, 0);
}

TEST_F(AgentTest, ARelativeBaseDirectoryIsRefused) {
    values::SubmitRequest relative = order();
    relative.baseDir = "data";
    EXPECT_TRUE(absl::IsInvalidArgument(service->submit(relative).status()));
}

TEST_F(AgentTest, ARunIsFoundByAUniquePrefix) {
    const std::string id = submit();
    const Result<values::RunDetail> details = service->get(id.substr(0, 5));
    ASSERT_TRUE(details.ok()) << details.status();
    EXPECT_EQ(details->summary.id, id);
    EXPECT_EQ(details->specFileName, "spec.yaml");
    EXPECT_FALSE(details->events.empty());
    EXPECT_TRUE(absl::IsNotFound(service->get("nobody").status()));
}

TEST_F(AgentTest, OnlyAnEndedRunIsDeletedAndRestored) {
    const std::string id = submit();
    EXPECT_FALSE(service->remove(id).ok());
    endGang(id, 1, kExitInput);
    ASSERT_TRUE(service->remove(id).ok());
    EXPECT_TRUE(service->list({})->runs.empty());
    ASSERT_TRUE(service->restore(id).ok());
    EXPECT_EQ(service->list({})->runs.size(), 1u);
}

TEST_F(AgentTest, APurgeFreesTheFilesOfADeletedRunAndSaysHowMuch) {
    const std::string id = submit();
    hello(id);
    checkpoint(id, 1, 50);
    EXPECT_FALSE(service->remove(id, true).ok()) << "it runs";
    leave(id);
    endGang(id, 1, kExitInput);
    const auto hidden = service->remove(id);
    ASSERT_TRUE(hidden.ok()) << hidden.status();
    EXPECT_GT(hidden->heldBytes, 7u);
    EXPECT_EQ(hidden->freedBytes, 0u);
    const auto purged = service->remove(id, true);
    ASSERT_TRUE(purged.ok()) << purged.status();
    EXPECT_EQ(purged->freedBytes, hidden->heldBytes);
    EXPECT_FALSE(std::filesystem::exists(root + "/runs/" + id));
    EXPECT_FALSE(service->restore(id).ok());
    EXPECT_TRUE(store->checkpoints(id)->empty());
}

TEST_F(AgentTest, CheckpointsOfRunsThatWereDeletedLongAgoAreFreed) {
    const std::string id = submit();
    hello(id);
    checkpoint(id, 1, 50);
    const std::uint64_t bytes = std::filesystem::file_size(checkpointPath(id, 50));
    leave(id);
    endGang(id, 1, kExitInput);
    ASSERT_TRUE(service->remove(id).ok());
    EXPECT_EQ(deleted->sweep(), 0u) << "not yet";
    clock.advanceMs(std::int64_t{31} * 24 * 3600 * 1000);
    EXPECT_EQ(deleted->sweep(), bytes);
    EXPECT_TRUE(store->checkpoints(id)->empty());
    EXPECT_TRUE(std::filesystem::exists(root + "/runs/" + id + "/events.jsonl")) << "logs stay";
    ASSERT_TRUE(service->restore(id).ok());
}

TEST_F(AgentTest, AClockThatJumpsAheadFreesNoCheckpoints) {
    const std::string id = submit();
    hello(id);
    checkpoint(id, 1, 50);
    leave(id);
    endGang(id, 1, kExitInput);
    ASSERT_TRUE(service->remove(id).ok());
    constexpr std::int64_t kHourMs = 3'600'000;
    EXPECT_EQ(deleted->sweep(), 0u);
    clock.advanceMs(31 * 24 * kHourMs);  // while no daemon runs
    makeController();
    EXPECT_EQ(deleted->sweep(), 0u);
    clock.advanceMs(23 * kHourMs);
    EXPECT_EQ(deleted->sweep(), 0u);
    makeController();  // what was counted stays
    EXPECT_EQ(deleted->sweep(), 0u);
    clock.advanceMs(kHourMs);
    EXPECT_GT(deleted->sweep(), 0u);
    EXPECT_TRUE(store->checkpoints(id)->empty());
}

TEST_F(AgentTest, FilesThatAPurgeLeftAreRemovedByTheNextSweep) {
    const std::string id = submit();
    endGang(id, 1, kExitInput);
    ASSERT_TRUE(service->remove(id, true).ok());
    std::filesystem::create_directories(root + "/runs/" + id + "/a1");
    std::ofstream(root + "/runs/" + id + "/a1/left.bin") << "12345";
    EXPECT_EQ(deleted->sweep(), 5u);
    EXPECT_FALSE(std::filesystem::exists(root + "/runs/" + id));
}

TEST_F(AgentTest, WhatASubmitSaidOutlivesThePurgeOfItsRun) {
    inspector.reply->runs = {someInspected()};
    values::SubmitRequest asked = order();
    asked.fileName = "films/small.yaml";
    asked.sets = {"batch.seed=144", "dataset.where=\"rating > 3\""};
    asked.git.branch = "main";
    const std::string id = service->submit(asked)->runs.at(0).id;
    controller->drain();
    endGang(id, 1, kExitInput);
    ASSERT_TRUE(service->remove(id, true).ok());
    const auto detail = service->get(id);
    ASSERT_TRUE(detail.ok()) << detail.status();
    EXPECT_EQ(detail->sets, asked.sets) << "nothing could repeat it without them";
    EXPECT_EQ(detail->specFileName, asked.fileName);
    EXPECT_EQ(detail->git.branch, "main");
    EXPECT_EQ(detail->specText, asked.specText);
}

// A worker still writes when its run is purged; it makes a new file after each removal.
TEST_F(AgentTest, FilesThatComeWhileAPurgeGoesOnAreRemovedAsWell) {
    const std::string id = submit();
    endGang(id, 1, kExitInput);
    const std::string folder = root + "/runs/" + id;
    std::jthread late([&](const std::stop_token& stop) {
        constexpr int kFiles = 4;
        for (int i = 0; i < kFiles && std::filesystem::exists(folder); ++i) {
            const std::string file = strCat(folder, "/late", i);
            std::ofstream(file) << "late";
            while (std::filesystem::exists(file) && !stop.stop_requested()) {
                std::this_thread::yield();
            }
        }
    });
    const auto purged = service->remove(id, true);
    late.request_stop();
    late.join();
    EXPECT_TRUE(purged.ok()) << purged.status();
    EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(AgentTest, TagsAndNotesAreChanged) {
    const std::string id = submit();
    ASSERT_TRUE(service->setTags(id, {{"team", "x"}}, {}).ok());
    ASSERT_TRUE(service->setNote(id, "good").ok());
    EXPECT_EQ(record(id).tags.at("team"), "x");
    EXPECT_EQ(record(id).note, "good");
    ASSERT_TRUE(service->setTags(id, {}, {"team"}).ok());
    EXPECT_FALSE(record(id).tags.contains("team"));
    EXPECT_FALSE(service->setNote(id, std::string(100'000, 'x')).ok());
}

TEST_F(AgentTest, AFilterIsCheckedWithItsPlace) {
    const auto good = service->checkFilter("name = 'a'", {"metrics.loss DESC"});
    EXPECT_EQ(good, (values::FilterCheck{true, "", 0}));
    EXPECT_EQ(service->checkFilter("tags.teem = 'a'", {}).message, "no run has a tag 'teem'");
    const auto bad = service->checkFilter("name = 'a' AND metrics.loss << 1", {});
    EXPECT_FALSE(bad.isOk);
    EXPECT_THAT(bad.message, HasSubstr(strCat("filter, character ", bad.column, ":")));
    EXPECT_GT(bad.column, 15);
    const auto order = service->checkFilter("", {"metrics.loss", "metrics.loss DESC"});
    EXPECT_THAT(order.message, HasSubstr("twice"));
    EXPECT_EQ(order.column, 0) << "a sentence without a place has no number";
}

TEST_F(AgentTest, AWatchTellsWhatThereIsThenWhatChanges) {
    const std::string id = submit();
    Result<RunWatch> watch = service->watch({id});
    ASSERT_TRUE(watch.ok());
    RunChanges changes = watch->next().value();
    EXPECT_TRUE(changes.isSnapshotEnd);
    ASSERT_EQ(changes.runs.size(), 1u);
    EXPECT_TRUE(watch->next()->runs.empty()) << "nothing changed";
    hello(id);
    changes = watch->next().value();
    ASSERT_EQ(changes.runs.size(), 1u);
    EXPECT_EQ(changes.runs[0].state, values::RunState::kRunning);
    say(id, 1, rank::Done{1, 1, "", {}, {}});
    leave(id);
    endGang(id, 1, 0);
    changes = watch->next().value();
    EXPECT_EQ(changes.runs.at(0).state, values::RunState::kFinished);
    EXPECT_TRUE(changes.isEnd);
}

TEST_F(AgentTest, AWatchOfAnEndedRunEndsAtOnce) {
    const std::string id = submit();
    endGang(id, 1, kExitInput);
    Result<RunWatch> watch = service->watch({id});
    EXPECT_TRUE(watch->next()->isEnd);
}

TEST_F(AgentTest, AFollowerOfMetricsMissesNone) {
    const std::string id = submit();
    hello(id);
    say(id, 1, rank::Metrics{1, 0, 1, 5, {{"loss", 0.5}}});
    say(id, 2, rank::Metrics{2, 0, 2, 6, {{"loss", 0.4}, {"eval.auc", 0.7}}});
    MetricFollower follower = service->followMetrics({id}).value();
    const values::MetricChunk first = follower.next(100).value();
    ASSERT_EQ(first.lines.size(), 2u);
    EXPECT_EQ(first.lines[1].values.size(), 2u);
    EXPECT_EQ(first.names.size(), 2u);
    EXPECT_TRUE(first.isCaughtUp);
    say(id, 3, rank::Metrics{3, 0, 3, 7, {{"loss", 0.3}}});
    const values::MetricChunk more = follower.next(100).value();
    ASSERT_EQ(more.lines.size(), 1u);
    EXPECT_EQ(more.lines[0].step, 3);
    EXPECT_TRUE(more.names.empty()) << "they are told once";
    EXPECT_FALSE(more.isEnd);
    MetricFollower again = service->followMetrics({.run = id, .after = first.cursor}).value();
    EXPECT_EQ(again.next(100)->lines, more.lines) << "another stream goes on where it was";
}

TEST_F(AgentTest, AFollowerTakesManyPointsInPieces) {
    const std::string id = submit();
    hello(id);
    for (int i = 1; i <= 25; ++i) {
        say(id, static_cast<std::uint64_t>(i), rank::Metrics{i, 0, i, 5, {{"loss", 1.0 / i}}});
    }
    MetricFollower follower = service->followMetrics({id, {"loss"}, 6}).value();
    std::vector<std::int64_t> steps;
    for (int turn = 0; turn < 3; ++turn) {
        const values::MetricChunk chunk = follower.next(10).value();
        EXPECT_EQ(chunk.isCaughtUp, turn == 2);
        for (const values::MetricLine& line : chunk.lines) {
            steps.push_back(line.step);
        }
    }
    ASSERT_EQ(steps.size(), 20u);
    EXPECT_EQ(steps.front(), 6);
    EXPECT_EQ(steps.back(), 25);
}

TEST_F(AgentTest, AFollowerHearsWhatARestartMadeVoid) {
    const std::string id = submit();
    hello(id);
    for (int i = 1; i <= 3; ++i) {
        say(id, static_cast<std::uint64_t>(i), rank::Metrics{i, 0, i, 5, {{"loss", 1.0}}});
    }
    checkpoint(id, 4, 2);
    MetricFollower follower = service->followMetrics({id}).value();
    EXPECT_EQ(follower.next(100)->lines.size(), 3u);
    leave(id);
    endGang(id, 1, 137);
    hello(id, 2);
    say(id, 1, rank::Metrics{3, 0, 3, 9, {{"loss", 2.0}}}, 2);
    const values::MetricChunk chunk = follower.next(100).value();
    EXPECT_EQ(chunk.replacesAfterStep, 2);
    ASSERT_EQ(chunk.lines.size(), 1u);
    EXPECT_EQ(chunk.lines[0].step, 3);
    EXPECT_EQ(chunk.lines[0].values.at(0).value, 2.0);
}

}  // namespace
}  // namespace millrace::agent

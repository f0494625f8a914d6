// The data workers of an attempt, on the head's machine and on other nodes.
#include "daemon/agent/crew/data_worker_set.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/core/exit_codes.h"
#include "backend/values/metric_names.h"
#include "daemon/agent/crew/gang.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/agent/crew/fake_nodes.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DataWorkerSetTest : public ::testing::Test {
 protected:
    void begin(int least, int most, std::vector<WorkerBeside> beside = {}) {
        paths = job::RunPaths(directory / "runs", "r-abcde").attempt(1);
        std::filesystem::create_directories(paths.directory());
        crew = std::make_unique<DataWorkerSet>(place, "r-abcde", least, most);
        crew->begin(paths, 1, std::move(beside));
        nodes.isForgetful = true;
    }
    /// A node on another machine, with memory for three workers.
    NodeStatus& comeWith(const std::string& name, double cores) {
        nodes.come(name, cores);
        nodes.nodes[name].address = "10.0.0.1";
        nodes.nodes[name].total.memoryBytes = nodes.nodes[name].free.memoryBytes = 3 * kMemory;
        return nodes.nodes[name];
    }
    void feedListens(const std::string& text = "join") { std::ofstream(paths.joinFile()) << text; }
    std::string tick(bool isWanted = true) {
        std::string all;
        for (const std::string& news : crew->tick(isWanted)) {
            all += news + "\n";
        }
        return all;
    }
    void advise(double wanted) {
        crew->advise({{values::metric::kLoaderDataWorkersWanted, wanted}, {"loss", 0.5}});
    }
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const engines::WorkerState& worker : crew->with(std::nullopt).workers) {
            all.push_back(strCat(worker.name, worker.node.empty() ? "" : "@", worker.node));
        }
        return all;
    }
    static std::string keyOf(int number) { return strCat("r-abcde.a1.d", number); }
    static engines::State ended(engines::Cause cause, int code) {
        engines::State state;
        state.phase = engines::Phase::kEnded;
        state.cause = cause;
        state.exitCode = code;
        state.reason = "it was ended by signal 9";
        return state;
    }

    static constexpr std::uint64_t kMemory = 100;
    tests::TempDir directory;
    FakeClock clock;
    FakeNodes nodes;
    DataWorkerSetOptions place{clock, nodes};
    job::AttemptPaths paths{""};
    std::unique_ptr<DataWorkerSet> crew;
};

TEST_F(DataWorkerSetTest, ChoosesNodesForAllMissingWorkersAtOnce) {
    nodes.come("one");
    nodes.come("two");
    begin(40, 40);
    (void)tick();
    EXPECT_EQ(names().size(), 40U);
    EXPECT_EQ(std::ranges::count(names(), "data39@two"), 1);
    EXPECT_LE(nodes.numLooks, 2);
}

TEST_F(DataWorkerSetTest, WithoutOtherNodesTheLeastAreOnTheHeadsOwn) {
    begin(2, 8);
    advise(8);
    feedListens();
    tick();
    tick();
    EXPECT_THAT(names(), ElementsAre("data0", "data1"));
    EXPECT_EQ(nodes.placed.at(keyOf(0)).first, "");
    EXPECT_THAT(nodes.placed.at(keyOf(1)).second.gang, HasSubstr("{attempt}/data.join"));
}

TEST_F(DataWorkerSetTest, WhereTheHeadDoesNotTrainTheyWaitForANode) {
    nodes.nodes[""].isClosed = true;
    begin(1, 1);
    tick();
    tick();
    EXPECT_THAT(names(), IsEmpty());
    nodes.come("node1");
    tick();
    EXPECT_THAT(names(), ElementsAre("data0@node1"));
}

TEST_F(DataWorkerSetTest, TheyAreSpreadOverTheOtherNodesByTheirCores) {
    nodes.come("big", 8);
    nodes.come("small", 2);
    begin(5, 5);
    tick();
    EXPECT_THAT(names(),
                ElementsAre("data0@big", "data1@big", "data2@big", "data3@big", "data4@small"));
    feedListens();
    tick();
    EXPECT_EQ(nodes.placed.size(), 5U);
}

TEST_F(DataWorkerSetTest, NothingIsPlacedElsewhereBeforeTheFeedListensAndAgainWhenItListensAnew) {
    nodes.come("node1");
    begin(1, 1);
    tick();
    tick();
    EXPECT_THAT(nodes.placed, IsEmpty());
    feedListens("first");
    tick();
    EXPECT_EQ(nodes.placed.at(keyOf(0)).second.joinFile, "first");
    feedListens("second");
    tick();
    EXPECT_EQ(nodes.placed.at(keyOf(0)).second.joinFile, "second");
}

TEST_F(DataWorkerSetTest, WhatIsOnALostNodeIsHadElsewhereAndEndedThere) {
    nodes.come("node1");
    begin(1, 1);
    feedListens();
    tick();
    tick();
    nodes.come("node2");
    nodes.nodes["node1"].isThere = false;
    EXPECT_EQ(tick(), "") << "it may come back";
    nodes.nodes["node1"].isLost = true;
    EXPECT_THAT(tick(), HasSubstr("node node1 is lost: data0 starts elsewhere"));
    tick();
    EXPECT_THAT(names(), ElementsAre("data1@node2"));
    EXPECT_THAT(nodes.ended, ElementsAre(keyOf(0) + " on node1"));
    EXPECT_EQ(nodes.placed.at(keyOf(1)).first, "node2");
}

TEST_F(DataWorkerSetTest, OneThatIsGivenUpHasASuccessorUnlessTheInputIsWrong) {
    begin(2, 2);
    tick();
    tick();
    nodes.states[keyOf(0)] = ended(engines::Cause::kWorkerFailed, 137);
    nodes.states[keyOf(1)] = ended(engines::Cause::kWorkerFailed, kExitInput);
    EXPECT_THAT(tick(), HasSubstr("data0 is given up (it was ended by signal 9)"));
    tick();
    EXPECT_THAT(names(), ElementsAre("data1", "data2"));
}

TEST_F(DataWorkerSetTest, FailuresWithoutEndAreNotAnsweredWithoutEnd) {
    begin(1, 1);
    feedListens();
    int numSuccessors = 0;
    for (int i = 0; i < 100; ++i) {
        tick();
        for (const auto& [key, placed] : nodes.placed) {
            nodes.states[key] = ended(engines::Cause::kWorkerFailed, 1);
        }
        numSuccessors += tick().empty() ? 0 : 1;
    }
    EXPECT_EQ(numSuccessors, 16);
}

TEST_F(DataWorkerSetTest, TheFeedsAdviceIsFollowedSlowlyAndOnOtherNodesOnly) {
    nodes.come("node1");
    begin(1, 3);
    feedListens();
    tick();
    advise(3);
    tick();
    EXPECT_EQ(names().size(), 2U);
    tick();
    EXPECT_EQ(names().size(), 2U) << "not at once";
    clock.advanceMs(5'000);
    tick();
    EXPECT_EQ(names().size(), 3U);
    advise(9);
    clock.advanceMs(5'000);
    tick();
    EXPECT_EQ(names().size(), 3U) << "the spec's most";
    advise(1);
    clock.advanceMs(5'000);
    EXPECT_THAT(tick(), HasSubstr("data2 is not needed any more and leaves"));
    EXPECT_THAT(nodes.ended, ElementsAre(keyOf(2) + " on node1"));
    tick();
    EXPECT_EQ(names().size(), 2U);
}

TEST_F(DataWorkerSetTest, AnotherDaemonFindsThemAgain) {
    nodes.come("node1");
    begin(2, 2);
    feedListens();
    tick();
    tick();
    nodes.placed.clear();
    DataWorkerSet next(place, "r-abcde", 1, 2);
    next.begin(paths, 1);
    (void)next.tick(true);
    EXPECT_EQ(next.with(std::nullopt).workers.size(), 2U);
    EXPECT_THAT(nodes.ended, IsEmpty()) << "its feed has not said yet how many it wants";
    EXPECT_EQ(nodes.placed.size(), 2U);
    EXPECT_EQ(nodes.placed.count(keyOf(1)), 1U);
}

TEST_F(DataWorkerSetTest, ItIsOverWhenNoneIsLeftThatCanBeAsked) {
    nodes.come("node1");
    begin(1, 1);
    EXPECT_TRUE(crew->isOver());
    feedListens();
    tick();
    tick();
    nodes.states[keyOf(0)].phase = engines::Phase::kRunning;
    nodes.states[keyOf(0)].workers.resize(1);
    tick();
    EXPECT_FALSE(crew->isOver());
    tick(false);
    EXPECT_THAT(nodes.ended, ElementsAre(keyOf(0) + " on node1"));
    tick(false);
    EXPECT_TRUE(crew->isOver());
    EXPECT_THAT(names(), IsEmpty()) << "it has ended";
    tick();
    EXPECT_THAT(names(), IsEmpty()) << "no other takes its place";
}

TEST_F(DataWorkerSetTest, ItWaitsForAnEndAtLast) {
    begin(1, 1);
    feedListens();
    tick();
    nodes.isForgetful = false;
    nodes.states[keyOf(0)].phase = engines::Phase::kRunning;
    tick();
    tick(false);
    EXPECT_THAT(nodes.ended, ElementsAre(keyOf(0) + " on the head's"));
    EXPECT_EQ(nodes.whyEnded, "the attempt is over");
    EXPECT_FALSE(crew->isOver());
    clock.advanceMs(20'000);
    EXPECT_TRUE(crew->isOver());
}

TEST_F(DataWorkerSetTest, ANodeWithRanksGetsAWorkerOnItsSpareCores) {
    comeWith("node1", 8).free.cpus = 3.5;
    comeWith("full", 8).free.cpus = 0.5;
    nodes.come("local", 8);  // on the feed's own machine
    begin(0, 0, {{"node1", {}, kMemory}, {"full", {}, kMemory}, {"local", {}, kMemory}});
    EXPECT_EQ(tick(), "data0 is placed on node node1, beside its ranks, with 3 threads\n");
    EXPECT_EQ(nodes.borrowed.at(keyOf(0)), std::make_pair(std::string("node1"), 3.0));
    EXPECT_THAT(nodes.kept, IsEmpty()) << "its cores stay free for other runs";
    feedListens();
    tick();
    EXPECT_THAT(names(), ElementsAre("data0@node1"));
    EXPECT_THAT(nodes.placed.at(keyOf(0)).second.gang, HasSubstr("\"--threads\",\"3\""));
    nodes.nodes["full"].free.cpus = 1;
    EXPECT_THAT(tick(),
                HasSubstr("data1 is placed on node full, beside its ranks, with 1 thread\n"));
}

TEST_F(DataWorkerSetTest, AWorkerOnSpareCoresMakesRoomForReservations) {
    comeWith("node1", 8);
    begin(0, 0, {{"node1", {}, kMemory}});
    feedListens();
    EXPECT_THAT(tick(), HasSubstr("with 8 threads"));
    EXPECT_EQ(tick(), "");
    nodes.nodes["node1"].free.cpus = 2;
    EXPECT_EQ(tick(),
              "data0 leaves: other runs have reserved resources that it uses on node node1\n"
              "data1 is placed on node node1, beside its ranks, with 2 threads\n");
    EXPECT_THAT(nodes.ended, ElementsAre(keyOf(0) + " on node1"));
    tick();
    EXPECT_THAT(names(), ElementsAre("data1@node1"));
    nodes.nodes["node1"].free.memoryBytes = kMemory - 1;
    EXPECT_THAT(tick(), HasSubstr("data1 leaves"));
    EXPECT_EQ(tick(), "");
    EXPECT_THAT(nodes.borrowed, IsEmpty());
}

TEST_F(DataWorkerSetTest, RunsShareTheSpareCoresOfANode) {
    comeWith("node1", 8).borrowed = {6, 0, kMemory};
    begin(0, 0, {{"node1", {}, kMemory}});
    EXPECT_THAT(tick(), HasSubstr("with 2 threads"));
    nodes.nodes["node1"].borrowed.memoryBytes = 4 * kMemory;
    EXPECT_THAT(tick(), HasSubstr("data0 leaves")) << "another worker needs the memory";
}

TEST_F(DataWorkerSetTest, AGivenNumberOfThreadsIsNotSpare) {
    comeWith("node1", 4).free = {};
    nodes.come("local", 8);
    begin(0, 0, {{"node1", 6, kMemory}, {"local", 3, kMemory}});
    EXPECT_EQ(tick(),
              "data0 is placed on node node1, beside its ranks, with 4 threads\n"
              "data1 is placed on node local, beside its ranks, with 3 threads\n");
    EXPECT_THAT(nodes.borrowed, IsEmpty()) << "the part reserves them";
    EXPECT_EQ(tick(), "");
}

TEST_F(DataWorkerSetTest, WorkersBesideRanksCountAndStay) {
    comeWith("node1", 8);
    nodes.come("cpu-1", 4);
    begin(2, 3, {{"node1", {}, kMemory}});
    feedListens();
    tick();
    EXPECT_THAT(names(), ElementsAre("data0@node1", "data1@cpu-1"));
    advise(3);
    tick();
    EXPECT_EQ(names().size(), 3U);
    DataWorkerSet next(place, "r-abcde", 0, 3);
    next.begin(paths, 1, {{"node1", {}, kMemory}});
    nodes.borrowed.clear();
    nodes.nodes["node1"].borrowed = {};
    EXPECT_THAT(next.tick(true), IsEmpty());
    next.advise({{values::metric::kLoaderDataWorkersWanted, 0}});
    for (int i = 0; i < 5; ++i) {
        clock.advanceMs(5'000);
        (void)next.tick(true);
    }
    EXPECT_THAT(nodes.ended, ElementsAre(keyOf(2) + " on node1", keyOf(1) + " on cpu-1"));
}

TEST_F(DataWorkerSetTest, AWorkerBesideRanksIsReplacedAndLeavesADrainedNode) {
    comeWith("node1", 8);
    begin(0, 0, {{"node1", {}, kMemory}});
    feedListens();
    tick();
    nodes.states[keyOf(0)] = ended(engines::Cause::kWorkerFailed, 137);
    EXPECT_THAT(tick(), HasSubstr("data1 is placed on node node1, beside its ranks, with 8"));
    nodes.nodes["node1"].leaving = "is drained";
    EXPECT_THAT(tick(), HasSubstr("node node1 is drained: data1 leaves"));
    EXPECT_EQ(tick(), "");
}

TEST(Parts, WorkersBesideRanksReserveAGivenNumberOfCores) {
    spec::RunSpec spec;
    spec.train.ranks = 2;
    spec.train.nodes = 2;
    spec.resources.memoryLimitMb = 100;
    spec.resources.loaderThreads = 1;
    const schedule::Resources usual = schedule::needsWithBeside(partsOf(spec, true), 1);
    EXPECT_EQ(workersBeside(spec, {"", "node1"}).at(0).threads, std::nullopt);
    EXPECT_EQ(workersBeside(spec, {"", "node1"}).at(0).memoryBytes, 100'000'000U);
    spec.resources.besideRanks = 3;
    const auto parts = partsOf(spec, false);
    EXPECT_EQ(schedule::needsWithBeside(parts, 1).cpus, usual.cpus + 3);
    EXPECT_EQ(schedule::needsWithBeside(parts, 1).memoryBytes, usual.memoryBytes + 100'000'000);
    EXPECT_EQ(schedule::needsWithBeside(parts, 0).cpus, 2) << "the feed computes there";
    const std::vector<WorkerBeside> workers = workersBeside(spec, {"node2", "node1"});
    ASSERT_EQ(workers.size(), 1U);
    EXPECT_EQ(workers[0].node, "node1");
    EXPECT_EQ(workers[0].threads, 3);
    spec.resources.besideRanks = 0;
    EXPECT_EQ(schedule::needsWithBeside(partsOf(spec, true), 1), usual);
    EXPECT_THAT(workersBeside(spec, {"", "node1"}), IsEmpty());
}

TEST_F(DataWorkerSetTest, TheyAreShownBehindTheGang) {
    begin(1, 1);
    tick();
    engines::State gang;
    gang.phase = engines::Phase::kRunning;
    gang.workers.resize(1);
    gang.workers[0].name = "feed";
    const engines::State all = crew->with(gang);
    EXPECT_EQ(all.phase, engines::Phase::kRunning);
    ASSERT_EQ(all.workers.size(), 2U);
    EXPECT_EQ(all.workers[1].name, "data0");
    EXPECT_FALSE(all.workers[1].isCritical);
}

}  // namespace
}  // namespace millrace::agent

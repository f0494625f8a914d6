// The parts of an attempt on other nodes: their places, and the attempt's first failure.
#include "daemon/agent/crew/part_set.h"

#include <filesystem>
#include <fstream>

#include <signal.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/agent/crew/fake_nodes.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

engines::WorkerState worker(const std::string& name, std::optional<int> code, int signal = 0,
                            std::int64_t endedMs = 0) {
    engines::WorkerState one;
    one.name = name;
    one.rank = job::rankOf(name).value_or(-1);
    one.isStarted = true;
    one.exitCode = code;
    one.signal = signal;
    one.endedMs = endedMs;
    return one;
}

engines::State going(const std::string& feed, const std::string& rank) {
    engines::State state;
    state.phase = engines::Phase::kRunning;
    state.masterPort = 4711;
    state.workers = {worker(feed, std::nullopt), worker(rank, std::nullopt)};
    return state;
}

engines::State failed(const std::string& feed, const std::string& rank, int code, int signal,
                      std::int64_t endedMs) {
    engines::State state = going(feed, rank);
    state.phase = engines::Phase::kEnded;
    state.cause = engines::Cause::kWorkerFailed;
    state.worker = rank;
    state.exitCode = code;
    state.reason = rank + " failed";
    state.workers = {worker(feed, 143, SIGTERM, endedMs + 5), worker(rank, code, signal, endedMs)};
    return state;
}

engines::State endedWell(const std::string& feed, const std::string& rank) {
    engines::State state = going(feed, rank);
    state.phase = engines::Phase::kEnded;
    state.cause = engines::Cause::kOk;
    state.workers = {worker(feed, 0), worker(rank, 0)};
    return state;
}

class PartSetTest : public ::testing::Test {
 protected:
    PartSetTest() {
        std::filesystem::create_directories(paths.attempt(1).directory());
        std::filesystem::create_directories(paths.checkpoints());
        nodes.come("node1");
        nodes.come("node2");
    }
    std::unique_ptr<PartSet> make(int numNodes = 2) {
        using Where = schedule::Part::Where;
        std::vector<schedule::Part> parts(static_cast<std::size_t>(numNodes),
                                          {{1, 0, 500}, Where::kOther, 0});
        parts.front() = {{2, 0, 500}, trainsHere ? Where::kHead : Where::kOther, 0};
        const auto make = [](const PartName& name, const std::string&, int port,
                             const schedule::Resources&) -> Result<Placement> {
            return Placement{name.key(), strCat("port ", port), "job", "", "", ""};
        };
        PartSetOptions place{clock, nodes, ranksPerNode, std::move(parts), make};
        return std::make_unique<PartSet>(std::move(place), "r-abcde", numNodes);
    }
    void begin(int numNodes = 2) {
        crew = make(numNodes);
        begun = crew->begin(paths, 1);
    }
    void feedListens(const std::string& text = "join") {
        std::ofstream(paths.attempt(1).joinFile()) << text;
    }
    std::string tick() {
        std::string all;
        for (const std::string& news : crew->tick()) {
            all += news + "\n";
        }
        return all;
    }
    /// Sets the state of part 0, then ticks.
    std::string tick(const engines::State& lead) {
        nodes.states[kLead] = lead;
        return tick();
    }
    engines::State with(const engines::State& lead) {
        tick(lead);
        return crew->state();
    }
    void place() {
        begin();
        feedListens();
        tick(going("feed", "rank0"));
        nodes.states[kKey] = going("feed1", "rank1");
        tick(going("feed", "rank0"));
    }

    const std::string kLead = "r-abcde.a1", kKey = "r-abcde.a1.p1";
    tests::TempDir directory;
    FakeClock clock;
    FakeNodes nodes;
    bool trainsHere = true;
    int ranksPerNode = 1;
    job::RunPaths paths{directory / "runs", "r-abcde"};
    std::unique_ptr<PartSet> crew;
    Status begun;
};

TEST_F(PartSetTest, ARunOfOneNodeHasNone) {
    begin(1);
    EXPECT_TRUE(begun.ok());
    EXPECT_EQ(tick(going("feed", "rank0")), "");
    EXPECT_EQ(with(going("feed", "rank0")).workers.size(), 2U);
    EXPECT_FALSE(std::filesystem::exists(paths.attempt(1).directory() + "/parts.json"));
}

TEST_F(PartSetTest, TheNodesWithTheMostThatIsFreeAreChosenAndTooFewIsSaid) {
    nodes.come("node3", 8);
    nodes.nodes["node2"].free.cpus = 0;
    begin(3);
    EXPECT_TRUE(begun.ok()) << begun;
    EXPECT_EQ(nodes.kept.at("r-abcde.a1.p1").first, "node3");
    EXPECT_EQ(nodes.kept.at("r-abcde.a1.p2").first, "node1");
    EXPECT_EQ(nodes.kept.at(kLead).first, "");
    nodes.nodes["node3"].isThere = false;
    begin(3);
    EXPECT_TRUE(begun.ok()) << "written down: the same again";
    std::filesystem::remove(paths.attempt(1).directory() + "/parts.json");
    begin(3);
    EXPECT_TRUE(absl::IsUnavailable(begun));
    EXPECT_THAT(std::string(messageOf(begun)),
                HasSubstr("needs 2 nodes beside the head's with 1 core and 500 B free for "
                          "each; ready: node1"));
}

TEST_F(PartSetTest, APartIsPlacedWhenTheFeedListensAndAgainWhenItListensAnew) {
    begin();
    tick(going("feed", "rank0"));
    EXPECT_THAT(nodes.placed, IsEmpty());
    feedListens("first");
    EXPECT_THAT(tick(going("feed", "rank0")), HasSubstr("part 1 of its ranks is placed on node"));
    const auto& [node, placement] = nodes.placed.at(kKey);
    EXPECT_EQ(node, "node1");
    EXPECT_EQ(placement.gang, "port 4711");
    EXPECT_EQ(placement.joinFile, "first");
    EXPECT_EQ(placement.probePath, "") << "nodes hand their checkpoints over";
    feedListens("second");
    EXPECT_EQ(tick(going("feed", "rank0")), "");
    EXPECT_EQ(nodes.placed.at(kKey).second.joinFile, "second");
}

TEST_F(PartSetTest, TheNextDaemonFindsThePartsWhereTheyAre) {
    nodes.nodes["node1"].free.cpus = 0;
    place();
    nodes.nodes["node1"].free.cpus = 2;
    begin();
    EXPECT_TRUE(begun.ok());
    EXPECT_EQ(nodes.kept.at(kKey).first, "node2");
    tick(going("feed", "rank0"));
    EXPECT_FALSE(crew->hasFailed());
    EXPECT_EQ(with(going("feed", "rank0")).workers.at(3).node, "node2");
}

TEST_F(PartSetTest, ThatANodeIsToBeLeftHoldsForTheNextDaemonToo) {
    place();
    EXPECT_FALSE(crew->leave().has_value());
    const std::string node = nodes.placed.at(kKey).first;
    nodes.nodes[node].leaving = "is drained";
    nodes.nodes[node].leaveGrace = std::chrono::seconds(30);
    ASSERT_TRUE(crew->leave().has_value());
    nodes.nodes[node].leaving.clear();
    begin();
    ASSERT_TRUE(crew->leave().has_value());
    EXPECT_EQ(crew->leave()->why, strCat("node ", node, " is drained"));
    EXPECT_EQ(crew->leave()->grace, std::chrono::seconds(30));
    std::filesystem::create_directories(paths.attempt(2).directory());
    ASSERT_TRUE(crew->begin(paths, 2).ok());
    EXPECT_FALSE(crew->leave().has_value()) << "the next attempt has left it";
}

TEST_F(PartSetTest, WhereThePartsAreIsNotGuessed) {
    const std::string path = paths.attempt(1).directory() + "/parts.json";
    for (const char* text : {
             "",
             "[]",
             "7",
             R"([{"part":1,"node":"node2"}])",
             R"([{"part":1,"node":"node2"},{"part":1,"node":"node1"}])",
             R"([{"part":1,"node":"node2"},{"part":3,"node":"node1"}])",
             R"([{"part":0,"node":"node2"},{"part":1,"node":"node1"}])",
             R"([{"part":1,"node":"node2"},{"part":2}])",
         }) {
        std::ofstream(path) << text;
        begin(3);
        EXPECT_THAT(std::string(messageOf(begun)), HasSubstr("parts.json")) << text;
        EXPECT_FALSE(absl::IsUnavailable(begun)) << text;
        EXPECT_THAT(nodes.kept, IsEmpty()) << text;
        EXPECT_EQ(readFile(path).value(), text);
    }
    std::filesystem::remove(path);
    std::filesystem::create_directory(path);
    begin(3);
    EXPECT_FALSE(begun.ok());
    EXPECT_THAT(nodes.kept, IsEmpty());
    std::filesystem::remove(path);
    std::ofstream(path) << R"([{"part":2,"node":"node1"},{"part":1,"node":"node2"}])";
    EXPECT_TRUE(crew->begin(paths, 1).ok()) << "tried again";
    EXPECT_EQ(nodes.kept.at(kKey).first, "node2");
}

TEST_F(PartSetTest, TheAttemptIsOverWhenNothingIsLeftAnywhere) {
    place();
    EXPECT_EQ(with(going("feed", "rank0")).phase, engines::Phase::kRunning);
    const engines::State own = endedWell("feed", "rank0");
    tick(own);
    EXPECT_EQ(with(own).phase, engines::Phase::kStopping) << "the part is not over";
    nodes.states[kKey] = endedWell("feed1", "rank1");
    tick(own);
    EXPECT_EQ(with(own).phase, engines::Phase::kEnded);
    EXPECT_EQ(with(own).cause, engines::Cause::kOk);
    EXPECT_THAT(nodes.ended, IsEmpty());
}

TEST_F(PartSetTest, APartThatDoesNotEndAfterTheOthersIsEnded) {
    place();
    tick(endedWell("feed", "rank0"));
    clock.advanceMs(14'999);
    tick(endedWell("feed", "rank0"));
    EXPECT_THAT(nodes.ended, IsEmpty());
    clock.advanceMs(1);
    tick(endedWell("feed", "rank0"));
    EXPECT_THAT(nodes.ended, ElementsAre(kKey + " on node1"));
}

TEST_F(PartSetTest, APartsFailureIsTheAttempts) {
    place();
    nodes.states[kKey] = failed("feed1", "rank1", 1, 0, 1'000);
    tick(going("feed", "rank0"));
    EXPECT_TRUE(crew->hasFailed());
    const engines::State all = with(going("feed", "rank0"));
    EXPECT_EQ(all.phase, engines::Phase::kStopping);
    EXPECT_EQ(all.worker, "rank1");
    // Neither workers that were ended because of it nor a survivor that failed later are the cause.
    engines::State own = failed("feed", "rank0", 1, 0, 1'400);
    own.phase = engines::Phase::kStopping;
    EXPECT_EQ(with(own).worker, "rank1");
    own.cause = engines::Cause::kCancelled;
    own.phase = engines::Phase::kEnded;
    EXPECT_EQ(with(own).worker, "rank1");
    EXPECT_EQ(with(own).cause, engines::Cause::kWorkerFailed);
}

TEST_F(PartSetTest, TheFirstByTheHeadsClockIsTheCauseAndAKilledOneWithinTheBlur) {
    const auto culprit = [this](const engines::State& lead, const engines::State& part) {
        nodes.states.clear();
        place();
        nodes.states[kKey] = part;
        return with(lead).worker;
    };
    const engines::State at4000 = failed("feed", "rank0", 1, 0, 4'000);
    EXPECT_EQ(culprit(at4000, failed("feed1", "rank1", 1, 0, 5'000)), "rank0");
    const engines::State killed = failed("feed1", "rank1", 137, SIGKILL, 4'300);
    EXPECT_EQ(culprit(at4000, killed), "rank1");
    EXPECT_EQ(culprit(failed("feed", "rank0", 1, 0, 3'000), killed), "rank0");
}

TEST_F(PartSetTest, AFailureOfTheHeadsGangEndsTheParts) {
    place();
    tick(failed("feed", "rank0", 1, 0, 1'000));
    EXPECT_THAT(nodes.ended, ElementsAre(kKey + " on node1"));
    EXPECT_FALSE(crew->hasFailed());
    nodes.states[kKey].phase = engines::Phase::kEnded;
    nodes.states[kKey].cause = engines::Cause::kCancelled;
    tick(failed("feed", "rank0", 1, 0, 1'000));
    const engines::State all = with(failed("feed", "rank0", 1, 0, 1'000));
    EXPECT_EQ(all.phase, engines::Phase::kEnded);
    EXPECT_EQ(all.worker, "rank0");
}

// The crew asked for the end of the part because of an earlier known failure; the part had failed
// before that.
TEST_F(PartSetTest, WhatAPartTookAndHowItEndedIsKnownAlsoWhereItsEndWasAskedFor) {
    place();
    nodes.states[kKey] = going("feed1", "rank1");
    tick(failed("feed", "rank0", 1, 0, 1'000));
    nodes.states.erase(kKey);
    nodes.lastWords[kKey] = failed("feed1", "rank1", 1, 0, 900);
    for (engines::WorkerState& worker : nodes.lastWords[kKey].workers) {
        worker.cpuSeconds = 2;
    }
    tick(failed("feed", "rank0", 1, 0, 1'000));
    const engines::State all = with(failed("feed", "rank0", 1, 0, 1'000));
    EXPECT_EQ(all.phase, engines::Phase::kEnded);
    EXPECT_EQ(all.worker, "rank1");
    double seconds = 0;
    for (const engines::WorkerState& worker : all.workers) {
        seconds += worker.cpuSeconds;
    }
    EXPECT_EQ(seconds, 4);
}

TEST_F(PartSetTest, APartOfWhichNothingWasHeardYetIsAwaited) {
    begin();
    feedListens();
    tick(going("feed", "rank0"));
    EXPECT_TRUE(crew->isAwaited());
    nodes.states[kKey] = going("feed1", "rank1");
    tick(going("feed", "rank0"));
    EXPECT_FALSE(crew->isAwaited());
}

TEST_F(PartSetTest, WorkersOfANodeThatIsAwayCannotBeHeardOf) {
    ranksPerNode = 2;
    place();
    EXPECT_THAT(nodes.speakers.at(kKey), ::testing::ElementsAre("feed1", "rank2", "rank3"));
    EXPECT_THAT(crew->unreached(), IsEmpty());
    nodes.nodes["node1"].isThere = false;
    EXPECT_THAT(crew->unreached(), ::testing::ElementsAre("feed1", "rank2", "rank3"));
    nodes.nodes["node1"].isLost = true;
    tick(going("feed", "rank0"));
    EXPECT_THAT(crew->unreached(), IsEmpty()) << "they count as ended";
}

TEST_F(PartSetTest, ALostNodeEndsTheAttemptForItsOwnReason) {
    place();
    nodes.nodes["node1"].isThere = false;
    tick(going("feed", "rank0"));
    EXPECT_FALSE(crew->hasFailed()) << "it may come back";
    nodes.nodes["node1"].isLost = true;
    nodes.nodes["node1"].heardMs = 2'000;
    EXPECT_THAT(tick(going("feed", "rank0")), HasSubstr("node node1 is lost"));
    EXPECT_TRUE(crew->hasFailed());
    // A rank that failed later, because its peer was gone, is not the cause.
    const engines::State all = with(failed("feed", "rank0", 1, 0, 9'000));
    EXPECT_EQ(all.phase, engines::Phase::kEnded);
    EXPECT_EQ(all.cause, engines::Cause::kNodeLost);
    EXPECT_EQ(all.reason, "node node1 with feed1 and its ranks is lost");
}

TEST_F(PartSetTest, APartWhoseMachineWasReplacedUnderItsNameIsLost) {
    place();
    nodes.states[kKey] = going("feed1", "rank1");
    nodes.states[kKey].asOfMs = 2'000;
    const engines::State survivor = failed("feed", "rank0", 1, 0, 2'300);
    tick(survivor);
    EXPECT_THAT(nodes.ended, ElementsAre(kKey + " on node1"));
    nodes.states.erase(kKey);
    tick(survivor);
    const engines::State all = with(survivor);
    EXPECT_EQ(all.phase, engines::Phase::kEnded);
    EXPECT_EQ(all.cause, engines::Cause::kNodeLost);
}

TEST_F(PartSetTest, ACheckpointThatDoesNotComeIsGivenUpOnceTheGraceIsOver) {
    trainsHere = false;
    begin();
    engines::State lead = going("feed", "rank0");
    lead.handOver = values::HandOver{8, 100, 10};
    EXPECT_EQ(with(lead).handOver->step, 8);
    EXPECT_THAT(crew->giveUpFiles(true), IsEmpty()) << "its workers may still write one";
    (void)crew->end({.why = "over"});
    EXPECT_THAT(crew->giveUpFiles(false), IsEmpty());
    EXPECT_THAT(nodes.givenUp, IsEmpty());
    EXPECT_THAT(crew->giveUpFiles(true), ElementsAre(HasSubstr("the checkpoint of step 8")));
    EXPECT_THAT(nodes.givenUp, ElementsAre(HasSubstr("r-abcde.a1 on")));
    EXPECT_THAT(crew->giveUpFiles(true), IsEmpty()) << "said once";
    NodeStatus& node = nodes.nodes[nodes.kept.at(kLead).first];
    node.isThere = false;
    node.isLost = true;
    tick();
    EXPECT_FALSE(crew->state().handOver.has_value()) << "it never comes";
}

TEST_F(PartSetTest, WhereAllNodesSeeTheCheckpointsThatIsProbed) {
    std::filesystem::remove(paths.checkpoints());
    std::filesystem::create_directories(directory / "shared");
    std::filesystem::create_directory_symlink(directory / "shared", paths.checkpoints());
    begin();
    feedListens("first");
    tick(going("feed", "rank0"));
    const Placement& placement = nodes.placed.at(kKey).second;
    EXPECT_EQ(placement.probePath, directory / "shared/.probe") << "not the link to it";
    EXPECT_EQ(readFile(placement.probePath).value(), placement.probeText);
}

TEST_F(PartSetTest, WhereTheHeadDoesNotTrainTheFirstPartIsOnANodeToo) {
    trainsHere = false;
    nodes.come("big", 8);
    begin();
    ASSERT_TRUE(begun.ok()) << begun;
    EXPECT_EQ(nodes.kept.at(kLead), std::make_pair(std::string("big"), 2.0));
    EXPECT_EQ(nodes.kept.at(kKey).first, "node1");
    ASSERT_TRUE(crew->placeLead().ok());
    const auto& [node, placement] = nodes.placed.at(kLead);
    EXPECT_EQ(node, "big");
    EXPECT_EQ(placement.joinFile, "");
    EXPECT_EQ(placement.probePath, "") << "nodes hand their checkpoints over";
    tick();
    EXPECT_EQ(crew->state().phase, engines::Phase::kPlacing);
    feedListens();
    EXPECT_THAT(tick(going("feed", "rank0")), HasSubstr("part 1 of its ranks is placed"));
    EXPECT_EQ(nodes.placed.at(kKey).second.gang, "port 4711");
    nodes.nodes["big"].isThere = false;
    EXPECT_THAT(crew->unreached(), ::testing::ElementsAre("feed", "rank0"));
    nodes.nodes["big"].isLost = true;
    EXPECT_THAT(tick(), HasSubstr("node big is lost"));
    EXPECT_EQ(crew->state().cause, engines::Cause::kNodeLost);
    EXPECT_EQ(crew->state().phase, engines::Phase::kStopping) << "the other part is left";
    EXPECT_THAT(nodes.ended, ElementsAre(kKey + " on node1"));
    EXPECT_TRUE(crew->isHolding());
    EXPECT_TRUE(crew->end({.why = "over"}).ok());
    EXPECT_FALSE(crew->isHolding());
    EXPECT_EQ(nodes.ended.back(), kLead + " on big");
}

TEST_F(PartSetTest, TheNextDaemonAsksForTheFirstPartWhereItIs) {
    trainsHere = false;
    begin(1);
    ASSERT_TRUE(begun.ok()) << begun;
    trainsHere = true;  // another configuration
    crew = make(1);
    EXPECT_FALSE(crew->find(paths, 1).value()) << "it never was placed";
    ASSERT_TRUE(crew->begin(paths, 1).ok());
    EXPECT_EQ(nodes.kept.at(kLead).first, "node1");
    crew = make(1);
    EXPECT_FALSE(crew->find(paths, 2).value()) << "of an attempt that has no such file";
    ASSERT_TRUE(crew->begin(paths, 2).ok());
    EXPECT_EQ(nodes.kept.at("r-abcde.a2").first, "");
}

TEST_F(PartSetTest, TheNextDaemonFindsOnTheHeadsMachineWhatItWouldPlaceElsewhere) {
    nodes.states[kLead] = going("feed", "rank0");
    trainsHere = false;  // another configuration
    crew = make(1);
    EXPECT_TRUE(crew->find(paths, 1).value());
    ASSERT_TRUE(crew->begin(paths, 1).ok());
    EXPECT_EQ(nodes.kept.at(kLead).first, "");
}

TEST_F(PartSetTest, ThatTheFeedWasReplacedIsToldOnce) {
    begin(1);
    engines::State lead = going("feed", "rank0");
    EXPECT_EQ(tick(lead), "");
    lead.phase = engines::Phase::kSubmitting;
    lead.workers[0].numReplaced = 1;
    EXPECT_EQ(tick(lead), "") << "its place is free";
    lead.phase = engines::Phase::kRunning;
    EXPECT_EQ(tick(lead), "the feed failed and was replaced; its ranks go on\n");
    EXPECT_EQ(tick(lead), "");
}

TEST_F(PartSetTest, AnAttemptThatNeverWasPlacedIsOverAtOnce) {
    begin();
    (void)crew->end({.why = "over"});
    tick(endedWell("feed", "rank0"));
    EXPECT_EQ(with(endedWell("feed", "rank0")).phase, engines::Phase::kEnded);
}

TEST(PartName, IsReadAsItIsWritten) {
    const PartName name{"r-abcde", 3, 2};
    EXPECT_EQ(name.key(), "r-abcde.a3.p2");
    EXPECT_EQ(name.feed(), "feed2");
    const auto read = PartName::parse(name.key());
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->key(), name.key());
    const PartName lead{"r-abcde", 3, 0};
    EXPECT_EQ(lead.key(), "r-abcde.a3");
    EXPECT_EQ(lead.feed(), "feed");
    EXPECT_EQ(PartName::parse(lead.key())->part, 0);
    for (const char* other :
         {"r-abcde", "r-abcde.a", ".a3", "r-abcde.a3.d1", "r-abcde.a3.p", ".a3.p1"}) {
        EXPECT_FALSE(PartName::parse(other).has_value()) << other;
    }
}

TEST(PartName, ItsGangHasARelayAndItsRanks) {
    engines::Group ranks;
    ranks.name = "rank";
    ranks.procs = 2;
    ranks.hasRanks = true;
    ranks.place = {2, 4, 1, 2, "10.0.0.1", 4711};
    giveCommand(ranks);
    engines::Gang gang = relayGang({"r-abcde", 1, 1}, ranks);
    settle(gang, "/bin", "/n", "node1");
    EXPECT_THAT(engines::workerNames(gang.groups.at(0)), ElementsAre("feed1"));
    EXPECT_THAT(engines::workerNames(gang.groups.at(1)), ElementsAre("rank2", "rank3"));
    EXPECT_EQ(gang.groups.at(0).replacements, 0);
    EXPECT_THAT(gang.groups.at(1).argv,
                ElementsAre("/bin/millrace-trainer", "--job", "/n/job.json", "--rank", "{rank}"));
    ranks.isUsers = true;
    ranks.argv = {"/usr/bin/python3", "{bin}", "{attempt}"};
    engines::Gang script = relayGang({"r-abcde", 1, 1}, ranks);
    settle(script, "/bin", "/n", "node1");
    EXPECT_GT(script.groups.at(0).replacements, 3);
    EXPECT_EQ(script.groups.at(1).argv, ranks.argv) << "a user's arguments stay as they are";
    EXPECT_EQ(script.groups.at(1).environment.at("MILLRACE_JOB"), "/n/job.json");
}

}  // namespace
}  // namespace millrace::agent

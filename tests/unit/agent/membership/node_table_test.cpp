#include "daemon/agent/membership/node_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/job/log_files.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FakeSession final : public NodeSession {
 public:
    void send(const NodeOrders& orders) override { sent.push_back(orders); }
    void shutOut(const Status& why) override { shutOutWith = why; }
    std::vector<NodeOrders> sent;
    Status shutOutWith = okStatus();
};

engines::State living() {
    engines::State state;
    state.phase = engines::Phase::kRunning;
    state.workers.resize(1);
    state.workers.front().name = "data0";
    return state;
}

engines::State ended() {
    engines::State state = living();
    state.phase = engines::Phase::kEnded;
    state.cause = engines::Cause::kOk;
    return state;
}

Placement partPlacement(engines::Group ranks) {
    const PartName name{"r-abcde", 1, 1};
    return {name.key(), engines::gangText(relayGang(name, std::move(ranks))), "", "join", "", ""};
}

Placement dataPlacement(int number) {
    const DataWorkerName name{"r-abcde", 1, number};
    return {name.key(), engines::gangText(dataGang(name)), "", "join", "", ""};
}

engines::Group ranksFrom(int first, int count) {
    engines::Group ranks;
    ranks.name = "rank";
    ranks.procs = count;
    ranks.hasRanks = true;
    ranks.place.first = first;
    return ranks;
}

const Placement kPlacement = dataPlacement(0);
const std::string kKey = kPlacement.key;
const std::string kPartKey = "r-abcde.a1.p1";
const Placement kPart = partPlacement(ranksFrom(0, 1));

class NodeTableTest : public ::testing::Test {
 protected:
    std::shared_ptr<FakeSession> attach(const std::string& name = "node1",
                                        std::map<std::string, engines::State> gangs = {}) {
        auto session = std::make_shared<FakeSession>();
        values::NodeInfo info;
        info.name = name;
        info.cores = 4;
        attached = table.attach(session, info, std::move(gangs));
        return session;
    }
    void say(const FakeSession& session, std::map<std::string, engines::State> gangs = {}) {
        EXPECT_TRUE(table.report(session, {std::move(gangs), std::nullopt}).ok());
    }
    /// Lets time pass while the head looks at its nodes.
    void pass(std::int64_t ms) {
        for (std::int64_t left = ms; left > 0; left -= 500) {
            clock.advanceMs(std::min<std::int64_t>(left, 500));
            (void)table.standing("node1");
        }
    }
    std::string stateOf(const std::string& name) {
        for (const values::NodeInfo& node : table.nodes()) {
            if (node.name == name) {
                return node.state;
            }
        }
        return "unknown";
    }

    tests::TempDir directory;
    FakeClock clock;
    job::FileLogs logs{directory / "runs"};
    NodeTable table{{"head", std::chrono::milliseconds(20'000)}, clock, logs};
    Status attached;
};

TEST_F(NodeTableTest, AnAgentWhoseNameIsTakenIsRefused) {
    attach("head");
    EXPECT_TRUE(absl::IsAlreadyExists(attached));
    const auto first = attach("node1");
    EXPECT_TRUE(attached.ok());
    attach("node1");
    EXPECT_TRUE(absl::IsAlreadyExists(attached));
    pass(3'000);  // the first agent is silent now
    attach("node1");
    EXPECT_TRUE(attached.ok());
}

TEST_F(NodeTableTest, AnotherMachineOfTheNameWaitsForTheEndOfTheFirstOnesWorkers) {
    values::NodeInfo info;
    info.name = "node1";
    const auto comesFrom = [&](const std::string& machine) {
        const auto session = std::make_shared<FakeSession>();
        const Status status = table.attach(session, info, {}, machine);
        table.detach(*session);
        return status;
    };
    ASSERT_TRUE(comesFrom("a").ok());
    EXPECT_TRUE(comesFrom("b").ok()) << "nothing was placed there";
    table.keep("node1", kKey, {}, {"rank1"});
    EXPECT_TRUE(absl::IsUnavailable(comesFrom("a")));
    EXPECT_TRUE(comesFrom("b").ok()) << "where the workers are";
    pass(20'000);
    EXPECT_TRUE(absl::IsUnavailable(comesFrom("a"))) << "lost, and not given up yet";
    table.end("node1", kKey);
    EXPECT_TRUE(comesFrom("a").ok());
}

TEST_F(NodeTableTest, ANodeIsAwayAtOnceAndLostLater) {
    const auto session = attach();
    EXPECT_EQ(stateOf("node1"), "attached");
    table.detach(*session);
    EXPECT_EQ(stateOf("node1"), "away");
    pass(19'999);
    EXPECT_FALSE(table.standing("node1").isLost);
    pass(1);
    EXPECT_EQ(stateOf("node1"), "lost");
    attach();
    EXPECT_EQ(stateOf("node1"), "attached");
}

TEST_F(NodeTableTest, ANodeOfTheConfigurationIsShownBeforeItComesAndGetsNothing) {
    table.expect("node1", "ssh: no route to host");
    EXPECT_EQ(stateOf("node1"), "absent");
    EXPECT_EQ(table.nodes().front().trouble, "ssh: no route to host");
    EXPECT_THAT(table.standings(), IsEmpty());
    EXPECT_THAT(table.standings(), IsEmpty());
    EXPECT_FALSE(table.knows("node1"));
    attach();
    EXPECT_EQ(stateOf("node1"), "attached");
    EXPECT_EQ(table.nodes().front().trouble, "");
    EXPECT_EQ(table.standings().size(), 1U);
}

TEST_F(NodeTableTest, OneThatStandsStillIsAwayWithoutAnEndOfItsConnection) {
    const auto session = attach();
    pass(2'999);
    EXPECT_EQ(stateOf("node1"), "attached");
    pass(1);
    EXPECT_EQ(stateOf("node1"), "away");
    pass(20'000);
    EXPECT_TRUE(table.standing("node1").isLost);
    say(*session);
    EXPECT_EQ(stateOf("node1"), "attached");
}

TEST_F(NodeTableTest, AHeadThatStoodStillHasSeenNoNodeFallSilent) {
    const auto session = attach();
    clock.advanceMs(60'000);
    EXPECT_EQ(stateOf("node1"), "attached");
    pass(3'000);
    EXPECT_EQ(stateOf("node1"), "away") << "it had its time to say something";
    EXPECT_FALSE(table.standing("node1").isLost);
    pass(20'000);
    EXPECT_TRUE(table.standing("node1").isLost);
}

TEST_F(NodeTableTest, AnAgentWhosePlaceAnotherHasTakenIsTold) {
    const auto first = attach();
    pass(3'000);
    const auto second = attach();
    ASSERT_TRUE(attached.ok());
    EXPECT_TRUE(absl::IsFailedPrecondition(table.report(*first, {})));
    EXPECT_TRUE(table.report(*second, {}).ok());
}

/// Ends the placed gang while the ends of logs are read.
class EndingLogs final : public job::WorkerLogs {
 public:
    std::vector<int> attempts(const std::string&) const override { return {}; }
    std::vector<std::string> workers(const std::string&, int) const override { return {}; }
    Result<job::LogBlock> read(const job::LogKey&, std::uint64_t, std::size_t) const override {
        return job::LogBlock{};
    }
    Result<job::LogBlock> readBack(const job::LogKey&, std::uint64_t, std::size_t) const override {
        return job::LogBlock{};
    }
    std::uint64_t end(const job::LogKey&) const override {
        onEnd();
        return 0;
    }
    job::LogSubscription subscribe(const std::string&, job::OnLogNews) const override {
        return nullptr;
    }
    std::function<void()> onEnd;
};

TEST_F(NodeTableTest, WhatIsEndedWhileItsNodeComesIsNotBegun) {
    EndingLogs ending;
    NodeTable other{{"head", std::chrono::milliseconds(20'000)}, clock, ending};
    ending.onEnd = [&] {
        other.end("node1", kKey);
        other.end("node1", kPartKey);
    };
    other.place("node1", kPlacement);
    other.place("node1", kPart);
    auto session = std::make_shared<FakeSession>();
    values::NodeInfo info;
    info.name = "node1";
    ASSERT_TRUE(other.attach(session, info, {}).ok());
    std::vector<std::string> ended;
    for (const NodeOrders& orders : session->sent) {
        EXPECT_THAT(orders.placed, IsEmpty());
        for (const auto& [key, wish] : orders.ended) {
            ended.push_back(key);
        }
    }
    EXPECT_THAT(ended, ElementsAre(kKey, kPartKey));
}

TEST_F(NodeTableTest, PartsOfRunsThatCannotBeReadAreLeftAlone) {
    const auto session = attach("node1", {{kPartKey, living()}});
    for (int i = 0; i < 120; ++i) {
        table.setUnread(true, {{"r-abcde", 0}});
        pass(1'000);
        say(*session);
    }
    EXPECT_EQ(session->sent.size(), 1U);
    table.setUnread(false, {{"r-abcde", 1}});
    pass(60'000);
    say(*session);
    EXPECT_THAT(session->sent.back().ended, ElementsAre(::testing::Key(kPartKey)));
}

TEST_F(NodeTableTest, APartThatNoRunUnderWayCanAskForIsEndedWhateverIsNotRead) {
    table.setUnread(true, {{"r-abcde", 2}});
    const auto older = attach("node1", {{kPartKey, living()}});
    EXPECT_THAT(older->sent.back().ended, ElementsAre(::testing::Key(kPartKey)));
    table.setUnread(true, {{"r-fghij", 0}});
    const auto nobodys = attach("node2", {{kPartKey, living()}});
    EXPECT_THAT(nobodys->sent.back().ended, ElementsAre(::testing::Key(kPartKey)));
}

TEST_F(NodeTableTest, AnAgentThatLeavesIsNotWaitedForAndGoesFromTheList) {
    const auto session = attach("node1");
    NodeNews news;
    news.leave = NodeLeave{std::chrono::seconds(30), false};
    ASSERT_TRUE(table.report(*session, news).ok());
    EXPECT_FALSE(table.standing("node1").mayTake());
    EXPECT_EQ(table.standing("node1").leaveGrace, std::chrono::seconds(30));
    EXPECT_EQ(table.nodes().front().state, "leaving");
    news.leave->isGone = true;
    ASSERT_TRUE(table.report(*session, news).ok());
    table.detach(*session);
    EXPECT_TRUE(table.standing("node1").isLost) << "20 s are not waited for";
    EXPECT_TRUE(table.standing("node1").hasLeft);
    EXPECT_THAT(table.nodes(), IsEmpty());
}

TEST_F(NodeTableTest, AForgottenNodeIsLostAtOnceAndItsAgentEndsWithItsWorkers) {
    const auto session = attach("node1");
    table.keep("node1", kPartKey, {1, 0, 0}, {"rank0"});
    table.place("node1", kPart);
    ASSERT_TRUE(table.drain("node1", true).ok());
    ASSERT_TRUE(table.forget("node1").ok());
    EXPECT_TRUE(session->sent.back().isEnd);
    EXPECT_TRUE(absl::IsUnauthenticated(session->shutOutWith));
    EXPECT_TRUE(table.standing("node1").isLost) << "20 s are not waited for";
    EXPECT_FALSE(table.report(*session, {}).ok());
    EXPECT_THAT(table.partWorkers(*session, "r-abcde", 1), IsEmpty());
    table.end("node1", kPartKey);
    EXPECT_THAT(table.nodes(), IsEmpty());
    const auto invited = attach("node1");
    EXPECT_TRUE(table.standing("node1").mayTake()) << "it is not drained any more";
    EXPECT_TRUE(table.forget("nobody").ok());
}

TEST_F(NodeTableTest, AnAgentThatIsNotTakenInIsShownWithTheReason) {
    table.noteRefused("node7", "build a came to build b");
    ASSERT_EQ(table.nodes().size(), 1U);
    EXPECT_EQ(table.nodes().front().state, "refused");
    EXPECT_EQ(table.nodes().front().trouble, "build a came to build b");
    attach("node7");
    EXPECT_EQ(table.nodes().front().state, "attached");
    EXPECT_EQ(table.nodes().front().trouble, "");
}

TEST_F(NodeTableTest, ANodeWhoseAgentIsRefusedForItsBuildIsNotLostForAWhile) {
    const auto session = attach("node1");
    table.noteRefused("node1", "build a came to build b", true);
    EXPECT_EQ(table.nodes().front().trouble, "") << "it is there";
    table.detach(*session);
    table.noteRefused("node1", "build a came to build b", true);
    table.noteRefused("node2", "build a came to build b", true);  // only an earlier head knew it
    table.noteRefused("node3", "build a came to build b");  // its workers ended with the agent
    pass(599'000);
    for (const char* name : {"node1", "node2"}) {
        EXPECT_FALSE(table.standing(name).isLost) << name;
        EXPECT_FALSE(table.standing(name).mayTake()) << name;
        EXPECT_THAT(table.standing(name).held, HasSubstr("10 min after")) << name;
    }
    EXPECT_TRUE(table.standing("node3").isLost);
    EXPECT_THAT(table.nodes().front().trouble, HasSubstr("millrace nodes forget node1"));
    ASSERT_TRUE(table.forget("node2").ok());
    EXPECT_TRUE(table.standing("node2").isLost);
    pass(2'000);
    EXPECT_TRUE(table.standing("node1").isLost);
    EXPECT_EQ(table.standing("node1").held, "");
    attach("node1");
    EXPECT_TRUE(table.standing("node1").mayTake());
}

TEST_F(NodeTableTest, HowAPartEndedIsKnownAlsoWhereItsNodeComesAfterItsEndWasAskedFor) {
    table.keep("node1", kPartKey, {1, 0, 0}, {});
    table.end("node1", kPartKey);
    engines::State failed = ended();
    failed.cause = engines::Cause::kWorkerFailed;
    const auto session = attach("node1", {{kPartKey, failed}});
    ASSERT_TRUE(table.lastWord("node1", kPartKey).has_value());
    EXPECT_EQ(table.lastWord("node1", kPartKey)->cause, engines::Cause::kWorkerFailed);
}

TEST_F(NodeTableTest, ANodeThatNeverCameIsAwaySinceTheStart) {
    EXPECT_FALSE(table.standing("gone").isThere);
    EXPECT_FALSE(table.standing("gone").isLost);
    pass(20'000);
    EXPECT_TRUE(table.standing("gone").isLost);
    EXPECT_THAT(table.standings(), IsEmpty());
}

TEST_F(NodeTableTest, WhatIsPlacedIsToldNowOrWhenTheNodeComes) {
    table.place("node1", kPlacement);
    const auto session = attach();
    ASSERT_EQ(session->sent.size(), 1U);
    ASSERT_EQ(session->sent[0].placed.size(), 1U);
    EXPECT_EQ(session->sent[0].placed[0].placement.joinFile, "join");
    table.place("node1", dataPlacement(1));
    EXPECT_EQ(session->sent.at(1).placed.at(0).placement.key, "r-abcde.a1.d1");
    EXPECT_EQ(table.standing("node1").numPlaced, 2);
    EXPECT_EQ(table.logOf(*session, kKey, "data0")->worker, "data0");
    EXPECT_FALSE(table.logOf(*session, "r-other.a1.d0", "data0").has_value());
}

TEST_F(NodeTableTest, ANodeSpeaksForTheWorkersOfItsOwnParts) {
    const auto one = attach("node1"), two = attach("node2");
    EXPECT_THAT(table.partWorkers(*one, "r-abcde", 1), IsEmpty());
    table.keep("node1", "r-abcde.a1", {1, 0, 0}, {"feed", "rank0"});
    table.keep("node2", kPartKey, {1, 0, 0}, {"feed1", "rank1"});
    EXPECT_THAT(table.partWorkers(*one, "r-abcde", 1), ElementsAre("feed", "rank0"));
    EXPECT_THAT(table.partWorkers(*two, "r-abcde", 1), ElementsAre("feed1", "rank1"));
    EXPECT_THAT(table.partWorkers(*two, "r-abcde", 2), IsEmpty());
    table.end("node2", kPartKey);
    EXPECT_THAT(table.partWorkers(*two, "r-abcde", 1), IsEmpty());
}

TEST_F(NodeTableTest, WhatIsKeptForAPartIsNotFreeUntilItsEnd) {
    const auto session = attach();
    const std::string& key = kPartKey;
    table.keep("node1", key, {3, 0, 0}, {"feed1", "rank1"});
    EXPECT_EQ(table.standing("node1").free.cpus, 1);
    EXPECT_EQ(table.standings().at(0).total.cpus, 4);
    table.place("node1", kPart);
    EXPECT_THAT(session->sent.back().placed.at(0).logOffsets,
                ElementsAre(std::pair("feed1", 0), std::pair("rank0", 0)));
    EXPECT_EQ(table.logOf(*session, key, "rank0")->worker, "rank0");
    EXPECT_FALSE(table.logOf(*session, key, "../rank0").has_value());
    say(*session, {{key, living()}});
    table.end("node1", key);
    EXPECT_THAT(session->sent.back().ended, ElementsAre(::testing::Key(key)));
    EXPECT_EQ(table.standing("node1").free.cpus, 4);
    EXPECT_TRUE(table.logOf(*session, key, "feed1").has_value()) << "its last lines";
}

TEST_F(NodeTableTest, ANodeSendsLogsOfTheWorkersThatWerePlacedThere) {
    const auto session = attach(), other = attach("node2");
    EXPECT_FALSE(table.logOf(*session, kPartKey, "rank2").has_value());
    table.place("node1", partPlacement(ranksFrom(2, 2)));
    const auto expectOpen = [&] {
        for (const char* worker : {"feed1", "rank2", "rank3"}) {
            EXPECT_EQ(table.logOf(*session, kPartKey, worker)->worker, worker);
            EXPECT_FALSE(table.logOf(*other, kPartKey, worker).has_value()) << worker;
        }
        for (const char* worker : {"feed", "feed2", "rank0", "rank4", "../rank2", ""}) {
            EXPECT_FALSE(table.logOf(*session, kPartKey, worker).has_value()) << worker;
        }
    };
    expectOpen();
    say(*session, {{kPartKey, living()}});
    table.end("node1", kPartKey);
    expectOpen();  // its last lines
    say(*session, {{kPartKey, ended()}});
    EXPECT_FALSE(table.logOf(*session, kPartKey, "rank2").has_value());
}

TEST_F(NodeTableTest, OneWhoseEndFollowsItsOrderHasNotEndedBeforeItsNodeSaysSo) {
    const auto session = attach();
    table.keep("node1", kPartKey, {1, 0, 0}, {});
    table.place("node1", kPart);
    table.place("node1", kPlacement);
    for (const std::string& key : {kPartKey, kKey}) {
        table.end("node1", key);
        EXPECT_THAT(session->sent.back().ended, ElementsAre(::testing::Key(key)));
        EXPECT_EQ(table.state("node1", key)->phase, engines::Phase::kStopping) << "on its way";
        say(*session, {{key, living()}});
        EXPECT_EQ(table.state("node1", key)->phase, engines::Phase::kRunning)
            << "begun all the same";
        say(*session, {{key, ended()}});
        EXPECT_FALSE(table.state("node1", key).has_value());
    }
    EXPECT_EQ(table.lastWord("node1", kPartKey)->phase, engines::Phase::kEnded);
    EXPECT_FALSE(table.lastWord("node1", kKey).has_value()) << "of parts alone";
}

TEST_F(NodeTableTest, AnOrderThatWasLostWithItsConnectionHasNothingToEnd) {
    const auto session = attach();
    table.keep("node1", kPartKey, {1, 0, 0}, {});
    table.place("node1", kPart);
    table.end("node1", kPartKey);
    table.detach(*session);
    attach();
    EXPECT_FALSE(table.state("node1", kPartKey).has_value());
}

TEST_F(NodeTableTest, APartThatEndedIsReleasedWhenItsCrewHasHeardIt) {
    const auto session = attach();
    table.keep("node1", kPartKey, {1, 0, 0}, {});
    table.place("node1", kPart);
    say(*session, {{kPartKey, ended()}});
    EXPECT_EQ(session->sent.size(), 2U);
    EXPECT_EQ(table.state("node1", kPartKey)->cause, engines::Cause::kOk);
    table.end("node1", kPartKey);
    table.end("node1", kPartKey);
    ASSERT_EQ(session->sent.size(), 3U) << "told once";
    EXPECT_THAT(session->sent[2].ended, ElementsAre(::testing::Key(kPartKey)));
    EXPECT_FALSE(table.state("node1", kPartKey).has_value());
}

TEST_F(NodeTableTest, TheNextHeadHearsOfPartsThatEndedBefore) {
    const auto session = attach("node1", {{kPartKey, ended()}});
    EXPECT_EQ(table.state("node1", kPartKey)->cause, engines::Cause::kOk);
    table.keep("node1", kPartKey, {1, 0, 0}, {});
    pass(60'000);
    say(*session);
    EXPECT_EQ(session->sent.size(), 1U) << "its crew may ask for it at any time";
    table.end("node1", kPartKey);
    EXPECT_THAT(session->sent.back().ended, ElementsAre(::testing::Key(kPartKey)));
}

TEST_F(NodeTableTest, APartThatNobodyKnowsIsReleasedInTheEnd) {
    const auto session = attach("node1", {{kPartKey, ended()}});
    EXPECT_THAT(session->sent.at(0).ended, IsEmpty());
    pass(60'000);
    say(*session);
    EXPECT_THAT(session->sent.back().ended, ElementsAre(::testing::Key(kPartKey)));
    EXPECT_FALSE(table.state("node1", kPartKey).has_value());
    say(*session);
    EXPECT_EQ(session->sent.size(), 2U);
}

TEST_F(NodeTableTest, APartsEndIsToldToANodeThatComesLater) {
    for (const engines::State& state : {living(), ended()}) {
        table.keep("node1", kPartKey, {1, 0, 0}, {});
        table.end("node1", kPartKey);
        const auto session = attach("node1", {{kPartKey, state}});
        EXPECT_THAT(session->sent.at(0).ended, ElementsAre(::testing::Key(kPartKey)));
        table.detach(*session);
    }
}

TEST_F(NodeTableTest, ItsWordIsKeptUntilNobodyAsksAnyMore) {
    const auto session = attach();
    table.place("node1", kPlacement);
    EXPECT_FALSE(table.state("node1", kKey).has_value());
    say(*session, {{kKey, living()}});
    EXPECT_EQ(table.state("node1", kKey)->workers[0].node, "node1");
    say(*session, {{kKey, ended()}});
    EXPECT_EQ(table.state("node1", kKey)->cause, engines::Cause::kOk);
    table.end("node1", kKey);
    EXPECT_FALSE(table.state("node1", kKey).has_value());
    EXPECT_EQ(session->sent.back().ended.size(), 0U) << "it has ended by itself";
}

TEST_F(NodeTableTest, WhatWasHadElsewhereEndsWhenTheNodeComesBack) {
    const auto session = attach();
    table.place("node1", kPlacement);
    say(*session, {{kKey, living()}});
    table.detach(*session);
    table.end("node1", kKey);
    const auto again = attach("node1", {{kKey, living()}});
    EXPECT_THAT(again->sent.at(0).ended, ElementsAre(::testing::Key(kKey)));
    EXPECT_THAT(again->sent.at(0).placed, IsEmpty());
    say(*again, {{kKey, living()}});
    EXPECT_EQ(again->sent.size(), 1U) << "told once a connection";
}

TEST_F(NodeTableTest, AGangThatNobodyKnowsIsGivenTimeAfterTheHeadsStart) {
    const auto session = attach("node1", {{kKey, living()}});
    EXPECT_THAT(session->sent.at(0).ended, IsEmpty());
    pass(60'000);
    say(*session);
    EXPECT_THAT(session->sent.back().ended, ElementsAre(::testing::Key(kKey)));
}

TEST_F(NodeTableTest, SamplesAreWantedWhileSomebodyWatches) {
    const auto session = attach();
    {
        const auto one = table.watch(), two = table.watch();
        ASSERT_EQ(session->sent.size(), 2U);
        EXPECT_TRUE(session->sent[1].wantsSamples);
        values::NodeSample sample;
        sample.node = "as it calls itself";
        EXPECT_TRUE(table.report(*session, {{}, sample}).ok());
        EXPECT_EQ(table.samples().at("node1").sample.node, "node1");
    }
    ASSERT_EQ(session->sent.size(), 3U);
    EXPECT_FALSE(session->sent[2].wantsSamples);
}

TEST_F(NodeTableTest, AllAgentsEndTogether) {
    const auto session = attach();
    EXPECT_FALSE(table.isOver());
    table.endAll();
    EXPECT_TRUE(session->sent.back().isEnd);
    EXPECT_TRUE(table.isOver());
}

TEST_F(NodeTableTest, CheckpointsAreTakenFromThePartsNodeUntilTheyAreGivenUp) {
    const std::string key = "r-abcde.a2";
    const auto takes = [&](const FakeSession& session, int attempt = 2) {
        return table.takesFiles(session, "r-abcde", attempt).code();
    };
    const auto session = attach("node1", {{key, living()}});
    const auto other = attach("node2");
    EXPECT_EQ(takes(*session), absl::StatusCode::kUnavailable) << "its run may not be read yet";
    table.keep("node1", key, {}, {"feed", "rank0"});
    EXPECT_TRUE(table.takesFiles(*session, "r-abcde", 2).ok());
    EXPECT_EQ(takes(*other), absl::StatusCode::kUnavailable);
    EXPECT_EQ(takes(FakeSession()), absl::StatusCode::kUnavailable) << "it is not attached";
    table.setUnread(false, {{"r-abcde", 2}});
    EXPECT_EQ(takes(*session, 1), absl::StatusCode::kAborted) << "of an attempt that was followed";
    table.end("node1", key);
    EXPECT_TRUE(table.takesFiles(*session, "r-abcde", 2).ok()) << "the last one may be on its way";
    table.giveUpFiles("node1", key);
    EXPECT_EQ(takes(*session), absl::StatusCode::kAborted);
    say(*session, {{key, ended()}});
    pass(61'000);
    EXPECT_EQ(takes(*session), absl::StatusCode::kAborted) << "nobody asks for it";
}

TEST_F(NodeTableTest, WhatAGangBorrowsStaysFree) {
    (void)attach();
    table.keep("node1", kPartKey, {1, 0, 0}, {});
    table.borrow("node1", kKey, {2, 0, 0});
    table.borrow("node1", "r-abcde.a1.d1", {1, 0, 0});
    EXPECT_EQ(table.standing("node1").free.cpus, 3);
    EXPECT_EQ(table.standing("node1").borrowed.cpus, 3);
    table.end("node1", kKey);
    EXPECT_EQ(table.standing("node1").borrowed.cpus, 1);
}

TEST_F(NodeTableTest, ANodeThatHandsACheckpointOverIsNotDrainedYet) {
    const std::string key = "r-abcde.a1";
    engines::State going = living();
    going.handOver = values::HandOver{8, 100, 10};
    const auto session = attach("node1", {{key, going}});
    ASSERT_TRUE(table.drain("node1", true).ok());
    EXPECT_EQ(table.nodes().at(0).state, "draining");
    going.handOver.reset();
    say(*session, {{key, going}});
    EXPECT_EQ(table.nodes().at(0).state, "drained");
}

}  // namespace
}  // namespace millrace::agent

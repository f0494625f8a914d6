#include "tests/unit/gui_bridge/bridge_fixture.h"

namespace millrace::gui {
namespace {

using session::LinkState;
using ::testing::ElementsAre;
using values::RunState;

class BridgeRunsTest : public BridgeTest {};

TEST_F(BridgeRunsTest, TheFirstPageIsDeliveredBeforeTheOthersAndSaysReset) {
    daemon.addRuns(3'200);
    ASSERT_TRUE(connectAndWait());
    ASSERT_FALSE(deltas.empty());
    EXPECT_TRUE(deltas.front().isReset);
    EXPECT_EQ(runs.size(), 3'200U);
    for (std::size_t i = 1; i < deltas.size(); ++i) {
        EXPECT_FALSE(deltas[i].isReset);
    }
    const auto lists = daemon.lists();
    ASSERT_GE(lists.size(), 4U);
    EXPECT_EQ(lists[0].pageSize, 500);
    EXPECT_EQ(lists[1].pageSize, 1'000);
    EXPECT_TRUE(lists[0].withParams);
    EXPECT_EQ(runs.at("r-00001").params.at("batch.seed"), "1");
}

TEST_F(BridgeRunsTest, AnEmptyStoreIsCompleteAtOnce) {
    ASSERT_TRUE(connectAndWait());
    EXPECT_TRUE(runs.empty());
    EXPECT_TRUE(deltas.front().isReset);
    EXPECT_EQ(bridge->link().state, LinkState::kConnected);
    EXPECT_EQ(bridge->handshake().version, "0.1.0");
}

TEST_F(BridgeRunsTest, ARunThatComesLaterGetsItsParameters) {
    ASSERT_TRUE(connectAndWait());
    daemon.putRun(running("r-new"));
    EXPECT_TRUE(until([&] { return runs.contains("r-new") && !runs["r-new"].params.empty(); }));
}

TEST_F(BridgeRunsTest, AnOlderValueOfARunDoesNotReplaceANewerOne) {
    daemon.putRun(running("r-a"));
    const values::RunSummary old = daemon.runs().front();
    ASSERT_TRUE(connectAndWait());
    daemon.setState("r-a", RunState::kFinished);
    daemon.tellOld(old);
    daemon.putRun(running("r-b"));
    ASSERT_TRUE(until([&] { return runs.contains("r-b"); }));
    EXPECT_EQ(runs["r-a"].state, RunState::kFinished);
}

TEST_F(BridgeRunsTest, ADeletedRunLeavesAndARestoredOneComesBack) {
    daemon.addRuns(3);
    ASSERT_TRUE(connectAndWait());
    daemon.removeRun("r-00001");
    ASSERT_TRUE(until([&] { return runs.size() == 2; }));
    daemon.restoreRun("r-00001");
    EXPECT_TRUE(until([&] { return runs.size() == 3 && !runs["r-00001"].params.empty(); }))
        << "with its parameters";
}

TEST_F(BridgeRunsTest, AfterALostConnectionOnlyWhatChangedIsRead) {
    daemon.addRuns(600);
    ASSERT_TRUE(connectAndWait());
    const std::size_t listsBefore = daemon.lists().size();
    daemon.goAway();
    ASSERT_TRUE(until([&] { return bridge->link().state == LinkState::kReconnecting; }));
    EXPECT_THAT(bridge->link().sentence, testing::HasSubstr("no daemon answers"));
    daemon.removeRun("r-00005");
    daemon.putRun(running("r-new"));
    daemon.comeBack();
    ASSERT_TRUE(until([&] { return runs.contains("r-new") && !runs.contains("r-00005"); }));
    EXPECT_EQ(runs.size(), 600U);
    EXPECT_EQ(bridge->link().state, LinkState::kConnected);
    const auto lists = daemon.lists();
    for (std::size_t i = listsBefore; i < lists.size(); ++i) {
        EXPECT_GT(lists[i].changesSince, 0U);
    }
    EXPECT_EQ(std::count_if(deltas.begin(), deltas.end(), [](auto& d) { return d.isReset; }), 1);
}

TEST_F(BridgeRunsTest, AnotherStoreBehindTheSameAddressIsReadFromTheStart) {
    daemon.addRuns(10);
    ASSERT_TRUE(connectAndWait());
    daemon.goAway();
    daemon.forgetEverything();
    daemon.putRun(running("r-x"));
    daemon.comeBack();
    EXPECT_TRUE(until([&] { return runs.size() == 1 && runs.contains("r-x"); }));
}

TEST_F(BridgeRunsTest, AChangeWhileTheListIsReadIsNotLost) {
    daemon.addRuns(1'200);
    daemon.hang("list");
    bridge->connectTo("unix:/fake.sock");
    ASSERT_TRUE(until([&] { return daemon.numStreams("runs") == 1 && daemon.numHanging() == 1; }));
    daemon.putRun(running("r-new"));
    daemon.removeRun("r-00100");
    daemon.release("list");
    ASSERT_TRUE(until([&] { return isComplete; }));
    EXPECT_TRUE(until([&] { return runs.contains("r-new") && !runs.contains("r-00100"); }));
    EXPECT_EQ(runs.size(), 1'200U);
}

TEST_F(BridgeRunsTest, ADeadAddressIsALinkWithASentenceAndIsTriedAgain) {
    daemon.goAway();
    bridge->connectTo("unix:/fake.sock");
    EXPECT_EQ(bridge->link().state, LinkState::kConnecting);
    ASSERT_TRUE(until([&] { return bridge->link().tries >= 2; }));
    EXPECT_EQ(bridge->link().state, LinkState::kReconnecting);
    EXPECT_THAT(bridge->link().sentence, testing::HasSubstr("unix:/fake.sock"));
    daemon.comeBack();
    EXPECT_TRUE(until([&] { return isComplete; }));
}

TEST_F(BridgeRunsTest, ANewerProtocolIsRefusedInASentenceWithBothVersions) {
    daemon.speakProtocol(7);
    bridge->connectTo("unix:/fake.sock");
    ASSERT_TRUE(until([&] { return bridge->link().state == LinkState::kRefused; }));
    EXPECT_THAT(bridge->link().sentence, testing::HasSubstr("protocol 7"));
    EXPECT_THAT(bridge->link().sentence, testing::HasSubstr("speaks 1"));
    daemon.speakProtocol(1);
    bridge->retryNow();
    EXPECT_TRUE(until([&] { return isComplete; }));
}

TEST_F(BridgeRunsTest, TheNewestSampleOfANodeIsDeliveredAndNodesAreKnown) {
    daemon.setNodes({values::NodeInfo{"head"}});
    std::vector<values::NodeSample> samples;
    QObject::connect(&*bridge, &DaemonBridge::nodeSampled, &*bridge,
                     [&](const values::NodeSample& sample) { samples.push_back(sample); });
    ASSERT_TRUE(connectAndWait());
    ASSERT_EQ(bridge->nodes().size(), 1U);
    ASSERT_TRUE(until([&] { return daemon.numStreams("telemetry") == 1; }));
    for (int i = 1; i <= 500; ++i) {
        daemon.sample({"head", i});
    }
    ASSERT_TRUE(until([&] { return !samples.empty() && samples.back().timeMs == 500; }));
    EXPECT_LT(samples.size(), 20U);
}

TEST_F(BridgeRunsTest, ANodeThatJoinsLaterIsAskedFor) {
    daemon.setNodes({values::NodeInfo{"head"}});
    ASSERT_TRUE(connectAndWait());
    daemon.setNodes({values::NodeInfo{"head"}, values::NodeInfo{"second"}});
    ASSERT_TRUE(until([&] { return daemon.numStreams("telemetry") == 1; }));
    daemon.sample({"second", 1});
    EXPECT_TRUE(until([&] { return bridge->nodes().size() == 2; }));
}

TEST_F(BridgeRunsTest, ANodesStateIsAskedForAgain) {
    values::NodeInfo node{"head"};
    daemon.setNodes({node});
    ASSERT_TRUE(connectAndWait());
    node.state = "drained";
    daemon.setNodes({node});
    EXPECT_TRUE(until([&] { return bridge->nodes().front().state == "drained"; }));
}

TEST_F(BridgeRunsTest, ADaemonWithoutTelemetryIsLivedWith) {
    daemon.fail("telemetry", Status(absl::StatusCode::kUnimplemented, "too old"));
    daemon.addRuns(2);
    ASSERT_TRUE(connectAndWait());
    daemon.putRun(running("r-new"));
    ASSERT_TRUE(until([&] { return runs.contains("r-new"); }));
    EXPECT_EQ(bridge->link().state, LinkState::kConnected);
}

TEST_F(BridgeRunsTest, NothingIsDeliveredWhileNothingHappens) {
    daemon.addRuns(5);
    ASSERT_TRUE(connectAndWait());
    ASSERT_TRUE(becomesQuiet());
    const std::uint64_t before = bridge->numDeliveries();
    EXPECT_FALSE(QTest::qWaitFor([&] { return bridge->numDeliveries() > before; }, 400));
}

TEST_F(BridgeRunsTest, ManyChangesOfARunAreAtMostTwentyDeliveriesASecond) {
    daemon.addRuns(1);
    ASSERT_TRUE(connectAndWait());
    const std::uint64_t before = bridge->numDeliveries();
    const auto start = std::chrono::steady_clock::now();
    values::RunSummary run = running("r-a");
    while (std::chrono::steady_clock::now() - start < std::chrono::seconds(1)) {
        ++run.progress.step;
        daemon.putRun(run);
        QCoreApplication::processEvents(QEventLoop::AllEvents, 1);
    }
    ASSERT_TRUE(until([&] { return runs["r-a"].progress.step == run.progress.step; }));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LE(static_cast<double>(bridge->numDeliveries() - before), 20 * took.count() + 3)
        << took.count() << " s";
    EXPECT_GE(bridge->numDeliveries() - before, 5U);
}

TEST_F(BridgeRunsTest, ASwitchVoidsWhatTheDaemonBeforeSaid) {
    client::FakeDaemon other;
    daemon.addRuns(300);
    other.putRun(running("r-other"));
    auto two = std::make_unique<DaemonBridge>([&](const std::string& address) {
        return address == "unix:/other" ? other.makeClient(address) : daemon.makeClient(address);
    });
    bridge.swap(two);
    two.reset();
    QObject::connect(&*bridge, &DaemonBridge::runsChanged, &*bridge,
                     [this](const RunsDelta& delta) { take(delta); });
    QSignalSpy switched(&*bridge, &DaemonBridge::switched);
    bridge->connectTo("unix:/fake.sock");
    ASSERT_TRUE(until([&] { return runs.size() == 300; }));
    bridge->connectTo("unix:/other");
    EXPECT_FALSE(bridge->isSettled());
    ASSERT_TRUE(until([&] { return runs.size() == 1 && runs.contains("r-other"); }));
    EXPECT_EQ(switched.count(), 2);
    daemon.putRun(running("r-late"));
    ASSERT_TRUE(becomesQuiet());
    EXPECT_FALSE(runs.contains("r-late"));
    bridge.reset();
}

}  // namespace
}  // namespace millrace::gui

// Drained nodes: after a restart of the head, and after nodes have gone for good.
#include "daemon/agent/membership/drained_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "backend/job/log_files.h"
#include "daemon/agent/membership/node_table.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kWorker[] = "r-abcde.a1.data0";

class DeafSession final : public NodeSession {
 public:
    void send(const NodeOrders&) override {}
    void shutOut(const Status&) override {}
};

class DrainedNodesTest : public ::testing::Test {
 protected:
    std::string file() const { return directory / "nodes.drained"; }
    std::set<std::string> read() const { return DrainedNodes::read(file()).value(); }
    std::unique_ptr<NodeTable> head(bool trainsHere = true) {
        NodeTableOptions options{"head", std::chrono::seconds(20), file()};
        options.drained = read();
        options.trainsHere = trainsHere;
        return std::make_unique<NodeTable>(std::move(options), clock, logs);
    }
    static std::shared_ptr<DeafSession> attach(NodeTable& table) {
        auto session = std::make_shared<DeafSession>();
        values::NodeInfo info;
        info.name = "node1";
        EXPECT_TRUE(table.attach(session, info, {}).ok());
        return session;
    }

    tests::TempDir directory;
    FakeClock clock;
    job::FileLogs logs{directory / "runs"};
};

TEST_F(DrainedNodesTest, ADrainedNodeIsToBeLeftAlsoForTheNextHead) {
    const auto drained = head();
    EXPECT_TRUE(absl::IsNotFound(drained->drain("node1", true)));
    EXPECT_TRUE(absl::IsInvalidArgument(drained->drain("head", true)));
    attach(*drained);
    EXPECT_TRUE(drained->standing("node1").mayTake());
    ASSERT_TRUE(drained->drain("node1", true).ok());
    EXPECT_FALSE(drained->standing("node1").mayTake());
    EXPECT_EQ(drained->nodes().front().state, "drained");
    drained->keep("node1", kWorker, {1, 0, 0}, {});
    EXPECT_EQ(drained->nodes().front().state, "draining");

    const auto next = head();
    EXPECT_TRUE(next->drain("node1", true).ok()) << "it has not come yet";
    attach(*next);
    EXPECT_FALSE(next->standing("node1").mayTake());
    ASSERT_TRUE(next->drain("node1", false).ok());
    EXPECT_TRUE(next->standing("node1").mayTake());
}

TEST_F(DrainedNodesTest, AForgottenNodeIsUnknownWhileItsWorkIsStillThere) {
    const auto table = head();
    attach(*table);
    table->keep("node1", kWorker, {1, 0, 0}, {});
    ASSERT_TRUE(table->drain("node1", true).ok());
    ASSERT_TRUE(table->forget("node1").ok());
    EXPECT_THAT(read(), IsEmpty());
    EXPECT_TRUE(absl::IsNotFound(table->drain("node1", true)));
    table->end("node1", kWorker);
    EXPECT_TRUE(absl::IsNotFound(table->drain("node1", true)));
    EXPECT_THAT(read(), IsEmpty());
    attach(*table);  // invited again
    EXPECT_TRUE(table->standing("node1").mayTake());
    EXPECT_TRUE(table->drain("node1", true).ok());
}

TEST_F(DrainedNodesTest, ANodeWhoseAgentHasLeftIsNotDrainedWhenItComesAgain) {
    const auto table = head();
    const auto session = attach(*table);
    ASSERT_TRUE(table->drain("node1", true).ok());
    NodeNews news;
    news.leave = NodeLeave{std::chrono::seconds(30), false};
    ASSERT_TRUE(table->report(*session, news).ok());
    EXPECT_THAT(read(), ElementsAre("node1")) << "it has work";
    news.leave->isGone = true;
    ASSERT_TRUE(table->report(*session, news).ok());
    table->detach(*session);
    EXPECT_THAT(read(), IsEmpty());
    EXPECT_TRUE(absl::IsNotFound(table->drain("node1", true)));
}

TEST_F(DrainedNodesTest, ANodeThatIsAwayStaysDrained) {
    const auto table = head();
    const auto session = attach(*table);
    ASSERT_TRUE(table->drain("node1", true).ok());
    table->detach(*session);
    EXPECT_THAT(read(), ElementsAre("node1"));
}

TEST_F(DrainedNodesTest, ADamagedFileIsRefusedWithTheWayToMendIt) {
    for (const std::string text : {"", "[\"node1\"", "garbage", "{}", "[1,2]", "7", "null"}) {
        ASSERT_TRUE(writeFileAtomic(file(), text).ok());
        const auto names = DrainedNodes::read(file());
        ASSERT_TRUE(absl::IsDataLoss(names.status())) << text;
        EXPECT_THAT(std::string(messageOf(names.status())), HasSubstr(file() + ": is damaged"));
        EXPECT_THAT(std::string(messageOf(names.status())), HasSubstr("or [] if none is drained"));
    }
    EXPECT_THAT(DrainedNodes::read(directory / "none").value(), IsEmpty());
}

TEST_F(DrainedNodesTest, AHeadThatDoesNotTrainIsNotToldToBeStartedSo) {
    const auto advice = [&](bool trainsHere) {
        return std::string(messageOf(head(trainsHere)->drain("head", true)));
    };
    EXPECT_THAT(advice(true), HasSubstr("start the daemon with --no-train-here"));
    EXPECT_THAT(advice(false), HasSubstr("runs are kept off it"));
}

}  // namespace
}  // namespace millrace::agent

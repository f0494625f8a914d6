// Agents of the hosts in the configuration; ssh is a script of the test.
#include "daemon/nodes/host_agents.h"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "backend/job/log_files.h"
#include "daemon/nodes/start_pace.h"
#include "tests/support/poll.h"
#include "tests/support/temp_dir.h"

namespace millrace::nodes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(StartPace, AHostIsTriedAtOnceAndThenMoreAndMoreRarely) {
    StartPace pace(0, false);
    EXPECT_TRUE(pace.isDue(0, false));
    pace.started(0);
    EXPECT_FALSE(pace.isDue(5 * kSecond - 1, false));
    EXPECT_TRUE(pace.isDue(5 * kSecond, false));
    std::int64_t now = 5 * kSecond;
    for (const int wait : {10, 20, 40, 60, 60}) {
        pace.started(now);
        now += wait * kSecond;
        EXPECT_FALSE(pace.isDue(now - 1, false)) << wait;
        EXPECT_TRUE(pace.isDue(now, false)) << wait;
    }
}

TEST(StartPace, AnAgentThatMayComeByItselfIsWaitedFor) {
    StartPace pace(0, true);
    EXPECT_FALSE(pace.isDue(5 * kSecond - 1, false));
    EXPECT_TRUE(pace.isDue(5 * kSecond, false));
    for (int i = 0; i < 5; ++i) {
        pace.started(5 * kSecond);
    }
    EXPECT_FALSE(pace.isDue(10 * kSecond, true)) << "it is there";
    EXPECT_FALSE(pace.isDue(15 * kSecond - 1, false)) << "away for a moment";
    EXPECT_TRUE(pace.isDue(15 * kSecond, false));
    pace.started(15 * kSecond);
    EXPECT_TRUE(pace.isDue(20 * kSecond, false)) << "what was before is forgotten";
}

class Session final : public agent::NodeSession {
 public:
    void send(const agent::NodeOrders& orders) override { isEnd = isEnd || orders.isEnd; }
    void shutOut(const Status&) override {}
    bool isEnd = false;
};

class HostAgentsTest : public ::testing::Test {
 protected:
    HostAgentsTest() {
        tokens.serve("shared", [](const std::string& node, const std::string&) {
            return strCat("s3cret of ", node, "\n");
        });
    }
    /// A script instead of ssh; it writes its arguments to "arguments" and its input to "input".
    void ssh(const std::string& end) {
        const std::string path = directory / "ssh";
        EXPECT_TRUE(
            writeFileAtomic(path,
                            strCat("#!/bin/sh\necho \"$@\" >> '", directory / "arguments",
                                   "'\ncat > '", directory / "input.new", "'\nmv '",
                                   directory / "input.new", "' '", directory / "input", "'\n", end),
                            0700)
                .ok());
    }
    void start() {
        agents = std::make_unique<HostAgents>(
            HostAgentsOptions{{Address::parse("ssh://bob@cpu-1:2222").value()},
                              directory / "config",
                              directory / "ssh"},
            table, tokens, clock);
    }
    values::NodeInfo node() const {
        const auto all = table.nodes();
        return all.empty() ? values::NodeInfo() : all.front();
    }
    std::string text(const std::string& name) const {
        return readFile(directory / name).value_or("");
    }

    tests::TempDir directory;
    SystemClock clock;
    job::FileLogs logs{directory / "runs"};
    agent::NodeTable table{{"head", std::chrono::milliseconds(20'000)}, clock, logs};
    agent::JoinTokens tokens{""};
    std::unique_ptr<HostAgents> agents;
};

TEST_F(HostAgentsTest, TheAgentIsStartedOverSshWithoutTheTokenInACommandLine) {
    ssh("exit 0\n");
    start();
    EXPECT_EQ(node().name, "cpu-1");
    EXPECT_EQ(node().state, "absent");
    ASSERT_TRUE(test::eventually([&] { return !text("input").empty(); }));
    const std::string arguments = text("arguments");
    EXPECT_THAT(arguments, HasSubstr("-p 2222 -l bob"));
    EXPECT_THAT(arguments, HasSubstr("BatchMode=yes"));
    EXPECT_THAT(arguments, HasSubstr("-- cpu-1 sh -s"));
    EXPECT_THAT(arguments, Not(HasSubstr("s3cret")));
    EXPECT_THAT(text("input"), HasSubstr("s3cret of cpu-1"));
    EXPECT_THAT(text("input"), HasSubstr("--slot"));
    EXPECT_THAT(text("input"), HasSubstr("--name 'cpu-1'"));
}

TEST_F(HostAgentsTest, WhatSshSaysIsTheNodesTroubleUntilItComes) {
    ssh("echo 'a banner' >&2\necho 'bob@cpu-1: Permission denied (publickey).' >&2\nexit 255\n");
    start();
    ASSERT_TRUE(test::eventually([&] { return !node().trouble.empty(); }));
    EXPECT_EQ(node().trouble, "bob@cpu-1: Permission denied (publickey).");
    values::NodeInfo info;
    info.name = "cpu-1";
    const auto session = std::make_shared<Session>();
    ASSERT_TRUE(table.attach(session, info, {}).ok());
    EXPECT_EQ(node().state, "attached");
    EXPECT_EQ(node().trouble, "");
    table.endAll();
    EXPECT_TRUE(session->isEnd);
}

TEST_F(HostAgentsTest, AnAgentThatComesWhileTheHeadGoesDownIsEnded) {
    table.endAll();
    values::NodeInfo info;
    info.name = "cpu-1";
    const auto session = std::make_shared<Session>();
    ASSERT_TRUE(table.attach(session, info, {}).ok());
    EXPECT_TRUE(session->isEnd);
}

TEST_F(HostAgentsTest, AnSshThatHangsEndsWithTheHead) {
    ssh("exec tail -f /dev/null\n");
    start();
    ASSERT_TRUE(test::eventually([&] { return !text("input").empty(); }));
    agents.reset();  // returns
    EXPECT_EQ(node().trouble, "") << "that the head ends is not a trouble of the host's";
}

}  // namespace
}  // namespace millrace::nodes

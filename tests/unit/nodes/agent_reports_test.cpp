// An agent's reports of gangs that were placed on another node.
#include "daemon/nodes/agent_reports.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "backend/job/attempt_paths.h"
#include "backend/job/log_files.h"
#include "daemon/nodes/messages.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace millrace::nodes {
namespace {

const agent::PartName kPart{"r-abcde", 1, 0};

class SilentSession final : public agent::NodeSession {
 public:
    void send(const agent::NodeOrders&) override {}
    void shutOut(const Status&) override {}
};

class AgentReportsTest : public ::testing::Test {
 protected:
    AgentReportsTest() {
        tokens.serve("shared", [](const std::string&, const std::string& token) { return token; });
        std::filesystem::create_directories(paths().directory());
    }
    Status attach(const std::string& name, const std::string& token,
                  std::shared_ptr<SilentSession> session = std::make_shared<SilentSession>()) {
        v1::AgentReport first;
        first.mutable_attachment()->mutable_node()->set_name(name);
        first.mutable_attachment()->set_token(token);
        first.mutable_attachment()->set_build_id("build");
        return reports.attach(session, first);
    }
    std::shared_ptr<SilentSession> attached(const std::string& name) {
        auto session = std::make_shared<SilentSession>();
        EXPECT_TRUE(attach(name, "shared", session).ok());
        return session;
    }
    /// The part has ended, with a log and the join file of its feed.
    static v1::AgentReport report() {
        engines::State state;
        state.phase = engines::Phase::kEnded;
        state.cause = engines::Cause::kOk;
        v1::AgentReport report;
        *report.add_gangs() = toProto(kPart.key(), state, 0);
        report.mutable_gangs(0)->set_join_file("evil");
        v1::LogPart& log = *report.add_logs();
        log.set_key(kPart.key());
        log.set_worker("feed");
        log.set_lines("evil\n");
        return report;
    }
    job::AttemptPaths paths() const {
        return job::RunPaths(directory / "runs", kPart.run).attempt(kPart.attempt);
    }
    void place(const std::string& node) {
        engines::Group feed;
        feed.name = "feed";
        engines::Gang gang;
        gang.key = kPart.key();
        gang.groups = {feed};
        table.keep(node, kPart.key(), {1, 0, 0}, {"feed"});
        table.place(node, {kPart.key(), engines::gangText(gang), "", "", "", ""});
    }
    bool isBelieved(const std::string& node) const {
        const auto state = table.state(node, kPart.key());
        return state.has_value() && state->phase == engines::Phase::kEnded;
    }

    tests::TempDir directory;
    FakeClock clock;
    job::FileLogs logs{directory / "runs"};
    agent::NodeTable table{{"head", std::chrono::milliseconds(20'000)}, clock, logs};
    agent::JoinTokens tokens{""};
    AgentReports reports{directory / "runs", "build", table, tokens, clock};
};

TEST_F(AgentReportsTest, ANodeSpeaksOnlyOfWhatWasPlacedOnIt) {
    const auto own = attached("node1"), other = attached("node2");
    place("node1");
    ASSERT_TRUE(reports.heard(*other, report()).ok());
    EXPECT_FALSE(isBelieved("node1"));
    EXPECT_FALSE(std::filesystem::exists(paths().joinFile()));
    EXPECT_EQ(logs.end({kPart.run, kPart.attempt, "feed"}), 0U);
    ASSERT_TRUE(reports.heard(*own, report()).ok());
    EXPECT_TRUE(isBelieved("node1"));
    EXPECT_EQ(readFile(paths().joinFile()).value(), "evil");
    EXPECT_EQ(logs.end({kPart.run, kPart.attempt, "feed"}), 5U);
}

TEST_F(AgentReportsTest, AnInvitedNodeAttachesUnderItsOwnNameOnly) {
    const std::string token = tokens.invite("cpu-1").value();
    EXPECT_TRUE(absl::IsUnauthenticated(attach("cpu-1", "shared")));
    EXPECT_TRUE(absl::IsUnauthenticated(attach("cpu-2", token)));
    EXPECT_TRUE(attach("cpu-1", token).ok());
}

}  // namespace
}  // namespace millrace::nodes

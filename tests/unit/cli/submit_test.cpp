// Requests that `run` sends or refuses, and the display of a run's log lines.
#include <gmock/gmock.h>

#include "tests/unit/cli/commands_fixture.h"

namespace millrace::cli {
namespace {

using client::aRun;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using values::RunState;

TEST_F(CommandsTest, SpecErrorsAreShownWithLineAndCaret) {
    fake.submitReply.errors = {{"unknown key 'learnig_rate'; did you mean 'learning_rate'?",
                                "unknown-key", "", "train", 3, 3}};
    EXPECT_EQ(run({"run", spec(), "--detach"}), kExitFailed);
    EXPECT_THAT(err.str(), HasSubstr(spec() + ":3:3: unknown key 'learnig_rate'"));
    EXPECT_THAT(err.str(), HasSubstr("      learnig_rate: 0.1\n      ^\n"));
    EXPECT_EQ(run({"run", spec(), "--detach", "--json"}), kExitFailed);
    EXPECT_EQ(json()["errors"][0]["line"], 3);
}

TEST_F(CommandsTest, AnErrorWithoutAPlaceMayComeFromSet) {
    fake.submitReply.errors = {{"unknown key 'lr' in train", "unknown-key", "", "train.lr", 0, 0}};
    EXPECT_EQ(run({"run", spec(), "--detach", "--set", "train.lr=1"}), kExitFailed);
    EXPECT_EQ(err.str(), spec() + " with --set: unknown key 'lr' in train\n");
    EXPECT_EQ(run({"run", spec(), "--detach"}), kExitFailed);
    EXPECT_EQ(err.str(), spec() + ": unknown key 'lr' in train\n");
}

TEST_F(CommandsTest, RunSendsWhatWasAskedFor) {
    fake.submitReply.runs = {aRun("r-abc23", "keep-30", RunState::kQueued)};
    EXPECT_EQ(run({"run", spec(), "--variation", "keep-30", "--set", "batch.seed=9", "--tag",
                   "team=ads", "--project", "p", "--detach"}),
              kExitOk)
        << err.str();
    const values::SubmitRequest& request = fake.submits.back();
    EXPECT_THAT(request.variations, ElementsAre("keep-30"));
    EXPECT_TRUE(request.withoutBase);
    EXPECT_THAT(request.sets, ElementsAre("batch.seed=9"));
    EXPECT_EQ(request.tags.at("team"), "ads");
    EXPECT_EQ(request.project, "p");
    EXPECT_FALSE(request.key.empty());
    EXPECT_THAT(out.str(), HasSubstr("millrace watch r-abc23"));
    EXPECT_EQ(run({"run", spec(), "--tag", "team"}), kExitUsage);
    EXPECT_EQ(run({"run", spec(), "--watch", "--detach"}), kExitUsage);
}

TEST_F(CommandsTest, RunNamesTheRunsAndRefusesANameWithoutEffect) {
    fake.submitReply.runs = {aRun("r-abc23", "keep-30", RunState::kQueued)};
    EXPECT_EQ(run({"run", spec(), "--detach", "--set", "batch.seed=9", "--name", "a: \"b\""}),
              kExitOk)
        << err.str();
    EXPECT_THAT(fake.submits.back().sets, ElementsAre("batch.seed=9", R"(name="a: \"b\"")"));
    EXPECT_EQ(run({"run", spec(), "--detach", "--set", "name=c", "--name", "b"}), kExitUsage);
    EXPECT_THAT(err.str(), HasSubstr("--name and --set name= exclude each other"));
    EXPECT_EQ(run({"run", spec(), "--detach", "--name", " "}), kExitUsage);
    EXPECT_THAT(err.str(), HasSubstr("an empty name is not a name"));
    EXPECT_EQ(fake.submits.size(), 1U);

    fake.submitReply.wasKnown = true;
    EXPECT_EQ(run({"run", spec(), "--detach", "--key", "k", "--name", "movielens-dlrm"}), kExitOk);
    EXPECT_EQ(run({"run", spec(), "--detach", "--key", "k", "--name", "new"}), kExitFailed);
    EXPECT_THAT(err.str(), HasSubstr("--name: run r-abc23 was submitted before with this --key, as "
                                     "'movielens-dlrm'"));
}

TEST_F(CommandsTest, LogsAreCleanedForTheTerminalAndExactInJson) {
    values::LogLine line{1'700'000'000'000, "rank0", "a\x1b[2Jb", true, 1};
    line.rank = 0;
    fake.logScripts = {{{values::LogChunk{{line}, "c", true, 0}}},
                       {{values::LogChunk{{line}, "c", true, 0}}}};
    EXPECT_EQ(run({"logs", "r-abc23", "--tail", "5", "--worker", "rank0"}), kExitOk);
    EXPECT_EQ(out.str(), "2023-11-14T22:13:20.000Z rank0  a?[2Jb\n");
    EXPECT_EQ(fake.logRequests().front().tailLines, 5);
    EXPECT_FALSE(fake.logRequests().front().follow);
    EXPECT_EQ(fake.logRequests().front().minLevel, values::LogLevel::kInfo);
    EXPECT_EQ(run({"logs", "r-abc23", "--json"}), kExitOk);
    EXPECT_EQ(jsonLines()[0]["text"], "a\x1b[2Jb");
    EXPECT_EQ(jsonLines()[0]["stream"], "stderr");
    EXPECT_EQ(jsonLines()[0]["rank"], 0);
    EXPECT_EQ(jsonLines()[0]["level"], Json());
}

TEST_F(CommandsTest, LogsLeaveDebugLinesOutUnlessAllAreWanted) {
    values::LogLine line{1'700'000'000'000, "feed", "feed: reader rank=0", true, 1};
    line.level = values::LogLevel::kDebug;
    fake.logScripts = {{{values::LogChunk{{}, "c", true, 0}}},
                       {{values::LogChunk{{line}, "c", true, 0}}}};
    EXPECT_EQ(run({"logs", "r-abc23"}), kExitOk);
    EXPECT_THAT(err.str(), HasSubstr("--all: Millrace's own messages too"));
    EXPECT_EQ(run({"logs", "r-abc23", "--all", "--json"}), kExitOk);
    EXPECT_EQ(fake.logRequests().back().minLevel, values::LogLevel::kNone);
    EXPECT_EQ(jsonLines()[0]["level"], "debug");
}

}  // namespace
}  // namespace millrace::cli

// Runs without a dataset: a command alone.
#include "daemon/agent/crew/gang.h"
#include "daemon/agent/run/verdict.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The gang of one rank, which has ended with that code.
engines::State stateAfter(int code) {
    FakeEngine engine;
    engines::Gang gang;
    gang.key = "r-a.a1";
    engines::Group rank;
    rank.name = "rank";
    rank.hasRanks = true;
    gang.groups = {rank};
    (void)engine.submit(gang);
    return engine.end("r-a.a1", code);
}

TEST(BareRun, ItsExitCodesDecide) {
    AttemptReports facts;
    facts.maxRestarts = 3;
    facts.isScript = true;
    facts.hasStream = false;
    facts.idleRanks = {0};
    EXPECT_EQ(judge(facts, stateAfter(0)).kind, Verdict::Kind::kFinished);
    const Verdict failed = judge(facts, stateAfter(7));
    EXPECT_EQ(failed.kind, Verdict::Kind::kFailed);
    EXPECT_THAT(failed.reason, HasSubstr("rank0 ended with code 7 (no restart: it got no step"));
    facts.start.idleAttempts = 2;
    EXPECT_EQ(judge(facts, stateAfter(137)).kind, Verdict::Kind::kRestart) << "killed";
    facts.start.restarts = 3;
    EXPECT_EQ(judge(facts, stateAfter(137)).kind, Verdict::Kind::kFailed);
    facts.start.restarts = 0;
    facts.lastStep = 4;
    EXPECT_EQ(judge(facts, stateAfter(7)).kind, Verdict::Kind::kRestart) << "it has logged a step";
    engines::State stopped = stateAfter(0);
    stopped.cause = engines::Cause::kCancelled;
    facts.isStopRequested = true;
    EXPECT_EQ(judge(facts, stopped).kind, Verdict::Kind::kCancelled) << "it obeyed the signal";
}

TEST(BareRun, ItHasNoFeedAndGetsItsParameters) {
    runs::RunRecord run;
    run.id = "r-abcde";
    run.launch = launchText({.workingDirectory = "/", .environment = {{"PATH", "/usr/bin:/bin"}}});
    const Result<SharedSpec> spec = readSpec(
        R"({"command": ["true"], "params": {"lr": 0.5, "w": {"n": 3}}, "train": {"ranks": 3}})");
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ((*spec)->model.type(), "");
    EXPECT_EQ(epochsOf(**spec), 0);
    const auto gang = makeGang(run, 1, **spec, {}, {});
    ASSERT_TRUE(gang.ok()) << gang.status();
    ASSERT_EQ(gang->groups.size(), 1U);
    EXPECT_THAT(engines::workerNames(gang->groups.front()), ElementsAre("rank0", "rank1", "rank2"));
    EXPECT_EQ(gang->groups.front().environment.at("MILLRACE_PARAMS"), R"({"lr":0.5,"w":{"n":3}})");
    const schedule::Resources needs = schedule::needsWithBeside(partsOf(**spec, true), 0);
    EXPECT_EQ(needs.cpus, 3) << "no loader";
    EXPECT_EQ(needs.memoryBytes, 0U);
}

}  // namespace
}  // namespace millrace::agent

// The ends of attempts of a user's script: exit codes without a meaning, exceptions that repeat.
#include <gmock/gmock.h>

#include "daemon/agent/run/verdict.h"
#include "tests/unit/agent/fake_engine.h"

namespace millrace::agent {
namespace {

engines::State scriptGang(int rankCode, int feedCode) {
    FakeEngine engine;
    engines::Gang gang;
    gang.key = "r-a.a1";
    engines::Group feed, rank;
    feed.name = "feed";
    rank.name = "rank";
    rank.hasRanks = true;
    gang.groups = {feed, rank};
    (void)engine.submit(gang);
    return engine.end("r-a.a1", rankCode, feedCode);
}

AttemptReports scriptFacts() {
    AttemptReports facts;
    facts.maxRestarts = 3;
    facts.lastStep = 10;
    facts.isScript = true;
    return facts;
}

TEST(Verdict, AnExitCodeOfAScriptHasNoMeaningOfOurs) {
    AttemptReports facts = scriptFacts();
    for (const int code : {kExitUsage, kExitStopped, kExitInput, kExitResources}) {
        EXPECT_EQ(judge(facts, scriptGang(code, 0)).reason,
                  strCat("rank0 ended with code ", code, " after step 10"));
    }
    EXPECT_THAT(judge(facts, scriptGang(0, kExitResources)).reason,
                ::testing::StartsWith("feed ended with code 6 (memory"));
    EXPECT_THAT(judge(facts, scriptGang(kExitShim, 0)).reason,
                ::testing::StartsWith("rank0 ended with code 125 (the shim"));
    facts.isScript = false;
    EXPECT_THAT(judge(facts, scriptGang(kExitStopped, 0)).reason,
                ::testing::StartsWith("rank0 ended with code 3 (told to end)"));
}

TEST(Verdict, AnExceptionThatRepeatsWithoutAFurtherStepIsNotTriedAThirdTime) {
    AttemptReports facts = scriptFacts();
    facts.maxRestarts = 9;
    facts.errors["rank0"] = "KeyError: 'user'";
    const Verdict first = judge(facts, scriptGang(1, 0));
    ASSERT_EQ(first.kind, Verdict::Kind::kRestart);
    facts.start.failure = first.reason;
    facts.start.failedStep = facts.lastStep;
    const Verdict second = judge(facts, scriptGang(1, 0));
    EXPECT_EQ(second.kind, Verdict::Kind::kFailed);
    EXPECT_EQ(second.reason,
              "rank0: KeyError: 'user' (no restart: the attempt before failed at step 10 in the "
              "same way)");
    facts.start.failure = "rank1: KeyError: 'user'";
    EXPECT_EQ(judge(facts, scriptGang(1, 0)).kind, Verdict::Kind::kFailed)
        << "whichever rank was the first to raise it";
    facts.start.failure = first.reason;
    facts.lackedRoom = true;
    EXPECT_EQ(judge(facts, scriptGang(1, 0)).kind, Verdict::Kind::kRestart) << "the disk was full";
    facts.lackedRoom = false;
    EXPECT_EQ(judge(facts, scriptGang(137, 0)).kind, Verdict::Kind::kRestart) << "it was killed";
    facts.lastStep = 11;
    EXPECT_EQ(judge(facts, scriptGang(1, 0)).kind, Verdict::Kind::kRestart) << "a step further";
    facts.ranks = 2;
    EXPECT_EQ(judge(facts, scriptGang(1, 0)).kind, Verdict::Kind::kFailed)
        << "ranks that raise it are a step apart";
    facts.lastStep = 12;
    EXPECT_EQ(judge(facts, scriptGang(1, 0)).kind, Verdict::Kind::kRestart) << "two steps further";
    facts.ranks = 1;
    facts.lastStep = 10;
    facts.errors["rank0"] = "KeyError: 'item'";
    EXPECT_EQ(judge(facts, scriptGang(1, 0)).kind, Verdict::Kind::kRestart) << "another exception";
}

}  // namespace
}  // namespace millrace::agent

// Commands that change a run (stop, rm, resume), and how waiting and deleted runs are shown.
#include <gmock/gmock.h>

#include "tests/unit/cli/commands_fixture.h"

namespace millrace::cli {
namespace {

using client::aDetail;
using client::aRun;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using values::RunState;

TEST_F(CommandsTest, StopAndRmTryEveryRunAndReportTheFirstError) {
    fake.runs[0].summary.state = RunState::kRunning;
    EXPECT_EQ(run({"rm", "r-abc23", "r-def45"}), kExitFailed);
    EXPECT_THAT(err.str(), HasSubstr("r-abc23 is running"));
    EXPECT_THAT(out.str(), HasSubstr("r-def45"));
    EXPECT_THAT(out.str(), HasSubstr("its files keep 1.2 GB: --purge frees them"));
    EXPECT_EQ(run({"rm", "--undo", "r-def45"}), kExitOk);
    EXPECT_EQ(run({"rm", "--purge", "--yes", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("purged for good: 1.2 GB freed"));
    EXPECT_EQ(run({"stop", "r-abc23", "--json"}), kExitOk);
    EXPECT_EQ(json()["runs"][0]["state"], "stopping");
}

TEST_F(CommandsTest, ARunThatGoesOnSaysWhatItWaitsFor) {
    values::RunSummary& one = fake.runs[0].summary;
    one.state = RunState::kRunning;
    one.queuedReason = "its workers cannot be asked for: no answer; trying again";
    EXPECT_EQ(run({"ls", "--columns", "id,reason"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("its workers cannot be asked for"));
    EXPECT_EQ(run({"show", "r-abc23"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("its workers cannot be asked for"));
    one.state = RunState::kStopping;
    one.exitReason = "enough";
    EXPECT_EQ(one.reason(), "enough");
    one.trouble = "rank0 stands still";
    EXPECT_EQ(one.reason(), "rank0 stands still");
    one.state = RunState::kCancelled;
    EXPECT_EQ(one.reason(), "enough");
}

TEST_F(CommandsTest, ShowSaysWhatARunTook) {
    EXPECT_EQ(run({"show", "r-abc23"}), kExitOk);
    EXPECT_THAT(out.str(),
                ::testing::ContainsRegex("CPU +feed .*, ranks .*; largest process 1.2 GB"));
    EXPECT_EQ(run({"show", "r-abc23", "--json"}), kExitOk);
    const Json ranks = {
        {"role", "ranks"}, {"cpu_seconds", 7'200.0}, {"peak_memory_bytes", 1'200'000'000}};
    EXPECT_EQ(json()["run"]["receipt"]["costs"][1], ranks);
}

TEST_F(CommandsTest, RmSaysWhatADaemonThatKnowsNoPurgeDid) {
    fake.knowsPurge = false;
    EXPECT_EQ(run({"rm", "--purge", "-y", "r-def45"}), kExitFailed);
    EXPECT_THAT(err.str(), HasSubstr("r-def45 is deleted and not purged"));
    EXPECT_EQ(out.str(), "");
}

TEST_F(CommandsTest, PurgeNeedsAYesWhereNobodyCanBeAsked) {
    EXPECT_EQ(run({"rm", "--purge", "r-def45"}), kExitUsage);
    EXPECT_THAT(err.str(), HasSubstr("--yes purges without a question"));
    EXPECT_EQ(fake.numPurges, 0);
    EXPECT_EQ(run({"rm", "--yes", "r-def45"}), kExitUsage);
    EXPECT_THAT(err.str(), HasSubstr("without --purge nothing is asked"));
}

TEST_F(CommandsTest, PurgeAsksOnATerminalAndNamesWhatGoes) {
    terminal.isTty = true;
    fake.runs.push_back(aDetail(aRun("r-lone2")));
    fake.runs[1].summary.evalOrderHash = "";
    typed = "n";
    EXPECT_EQ(run({"rm", "--purge", "r-abc23", "r-lone2"}), kExitFailed);
    EXPECT_EQ(fake.numPurges, 0);
    EXPECT_THAT(err.str(), HasSubstr("  r-abc23  movielens-dlrm  finished; 1 variation is compared "
                                     "with it: r-def45; the only evaluation of its submit\n"));
    EXPECT_THAT(err.str(), HasSubstr("  r-lone2  movielens-dlrm  finished; the only evaluation of "
                                     "its submit\nPurge 2 runs? [y/N] "));
    EXPECT_THAT(err.str(), HasSubstr("nothing was purged"));
    typed = "y";
    EXPECT_EQ(run({"rm", "--purge", "r-def45"}), kExitOk);
    EXPECT_THAT(err.str(),
                HasSubstr("  r-def45  movielens-dlrm / keep-30  finished\nPurge 1 run?"));
    EXPECT_EQ(fake.numPurges, 1);
    EXPECT_EQ(run({"rm", "--purge", "r-abc23", "r-def45"}), kExitOk) << "all of a submit";
    EXPECT_THAT(err.str(), Not(HasSubstr("is compared")));
}

TEST_F(CommandsTest, APurgedRunIsToldFromOneThatCanBeRestored) {
    fake.runs[0].summary.deletedMs = 1'700'000'000'000;
    fake.runs[1].summary.deletedMs = 1'700'000'000'000;
    fake.runs[1].summary.purgedMs = 1'700'000'060'000;
    EXPECT_EQ(run({"ls", "--deleted", "--columns", "id,state"}), kExitOk);
    EXPECT_THAT(out.str(), ::testing::ContainsRegex("r-def45 +purged"));
    EXPECT_THAT(out.str(), Not(::testing::ContainsRegex("r-abc23 +purged")));
    EXPECT_EQ(run({"show", "r-abc23"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("'millrace rm --undo' restores it"));
    EXPECT_EQ(run({"show", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("for good: its files, metrics and plan are gone"));
    EXPECT_THAT(out.str(), Not(HasSubstr("shows it again")));
    EXPECT_EQ(run({"show", "r-def45", "--json"}), kExitOk);
    EXPECT_EQ(json()["run"]["state"], "finished");
    EXPECT_TRUE(json()["run"]["purged"].is_string());
}

class ResumeTest : public CommandsTest {
 protected:
    ResumeTest() {
        fake.runs[0].summary.state = RunState::kFailed;
        fake.runs[0].checkpoints.clear();
    }
};

TEST_F(ResumeTest, WithoutACheckpointIsRefusedWhereNobodyCanBeAsked) {
    EXPECT_EQ(run({"resume", "r-abc23"}), kExitFailed);
    EXPECT_THAT(err.str(), HasSubstr("has no checkpoint"));
    EXPECT_THAT(err.str(), HasSubstr("--from-start"));
    EXPECT_THAT(fake.resumes, ElementsAre(0));
    EXPECT_EQ(run({"resume", "r-abc23", "--from-start"}), kExitOk);
    EXPECT_THAT(fake.resumes, ElementsAre(0, -1));
}

TEST_F(ResumeTest, WithoutACheckpointIsAskedAboutOnATerminal) {
    terminal.isTty = true;
    typed = "n";
    EXPECT_EQ(run({"resume", "r-abc23"}), kExitFailed);
    EXPECT_THAT(err.str(), HasSubstr("Begin again at step 0? [y/N]"));
    EXPECT_THAT(fake.resumes, ElementsAre(0));
    typed = "y";
    EXPECT_EQ(run({"resume", "r-abc23"}), kExitOk);
    EXPECT_THAT(fake.resumes, ElementsAre(0, 0, -1));
}

TEST_F(ResumeTest, TakesOneWordForWhereToGoOn) {
    EXPECT_EQ(run({"resume", "r-abc23", "--from-start", "--step", "5"}), kExitUsage);
    EXPECT_EQ(run({"resume", "r-abc23", "--step", "0"}), kExitUsage);
    EXPECT_THAT(fake.resumes, ::testing::IsEmpty());
}

}  // namespace
}  // namespace millrace::cli

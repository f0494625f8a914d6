#include "app/cli/follow_lines.h"

#include <sstream>

#include <gmock/gmock.h>

#include "tests/support/fake_clock.h"
#include "tests/support/metric_lines.h"
#include "tests/support/sample_runs.h"

namespace millrace::cli {
namespace {

using client::aRun;
using ::testing::HasSubstr;
using ::testing::Not;

class LinePrinterTest : public testing::Test {
 protected:
    LinePrinterTest() {
        values::NodeInfo& node = model_.nodes["node-a"].info;
        node.name = "node-a";
        node.cores = 2;
        node.gpuNote = "no NVIDIA driver";
    }
    void take(const session::FollowEvent& event) {
        model_.apply(event, clock_.wallMs());
        printer_.take(event, model_);
    }
    void takeProgress(std::int64_t step) {
        clock_.advanceMs(2'500);
        values::RunSummary run = aRun("r-abc23", "", values::RunState::kRunning);
        run.progress.step = step;
        run.progress.timeMs = clock_.wallMs();
        const auto steps = static_cast<double>(step);
        run.progress.times = values::PhaseTimes{60 * steps, 36 * steps, 4 * steps};
        run.progress.stallPercentNow = 1;
        run.progress.stepsPerSecond = 10;
        take(session::RunChanged{run});
    }
    void takeSample(bool hasGpu) {
        values::NodeSample sample;
        sample.node = "node-a";
        sample.cpuPercent = 43;
        if (hasGpu) {
            sample.gpus = {values::GpuSample{0, 83}};
        }
        take(session::NodeSampled{sample});
    }

    std::ostringstream out_, err_;
    FakeClock clock_;
    std::atomic<int> interrupts_{0};
    CliContext context_{out_,
                        err_,
                        Terminal{},
                        Terminal{},
                        [](const char*) { return std::string(); },
                        clock_,
                        "",
                        [](const Address&) { return nullptr; },
                        [] { return failedPrecondition("no screen"); },
                        interrupts_};
    session::LiveModel model_;
    LinePrinter printer_{context_, false};
};

TEST_F(LinePrinterTest, TheMachineIsIntroducedOnceAndSaysThatItHasNoGpu) {
    takeProgress(100);
    takeProgress(110);
    EXPECT_THAT(out_.str(), HasSubstr("node-a: 2 cores, no GPU (no NVIDIA driver)\n"));
    EXPECT_EQ(out_.str().find("no GPU"), out_.str().rfind("no GPU"));
}

TEST_F(LinePrinterTest, ProgressTellsCpuAndWhereThereIsOneGpu) {
    takeProgress(100);
    takeProgress(110);
    EXPECT_THAT(out_.str(), Not(HasSubstr("CPU"))) << "unknown is not 0";
    takeSample(false);
    takeProgress(120);
    EXPECT_THAT(out_.str(), HasSubstr("stall now 1.0 %, run 36 %  node CPU 43 %  time left"));
    takeSample(true);
    takeProgress(130);
    EXPECT_THAT(out_.str(), HasSubstr("node CPU 43 %  GPU 83 %"));
}

TEST_F(LinePrinterTest, ARunThatTakesNoStepsSaysWhatItDoes) {
    clock_.advanceMs(2'500);
    values::RunSummary run = aRun("r-abc23", "", values::RunState::kRunning);
    run.progress.step = 420;
    take(session::RunChanged{run});
    clock_.advanceMs(2'500);
    run.progress.phase = values::Phase::kCheckpoint;
    take(session::RunChanged{run});
    EXPECT_THAT(out_.str(), HasSubstr("  writing a checkpoint"));
}

TEST_F(LinePrinterTest, WhatARunWaitsForBetweenItsAttemptsIsToldOnce) {
    values::RunSummary run = aRun("r-abc23", "", values::RunState::kRunning);
    run.queuedReason = "reads its checkpoints";
    take(session::RunChanged{run});
    EXPECT_THAT(out_.str(), HasSubstr("running: reads its checkpoints\n"));
    for (const char* bytes : {"1.2 GB", "1.3 GB"}) {
        run.queuedReason = strCat("reads its checkpoints: ", bytes, " so far");
        take(session::RunChanged{run});
    }
    EXPECT_THAT(out_.str(), Not(HasSubstr("so far")));
    run.queuedReason.clear();
    run.trouble = "rank0 stands still";
    take(session::RunChanged{run});
    EXPECT_THAT(out_.str(), HasSubstr("running: rank0 stands still\n"));
}

TEST_F(LinePrinterTest, AnEvaluationNamesItsRowsAndPositives) {
    takeProgress(300);
    take(
        session::addedOf("r-abc23", {{"eval.auc", 0.73, 158, 0, 0}, {"eval.rows", 37, 158, 0, 0}}));
    EXPECT_THAT(out_.str(), HasSubstr("evaluated at step 158:  AUC 0.7300  on 37 rows\n"));
    take(session::addedOf("r-abc23", {{"eval.auc", 0.74, 160, 0, 0},
                                      {"eval.positives", 18, 160, 0, 0},
                                      {"eval.rows", 37, 160, 0, 0}}));
    EXPECT_THAT(out_.str(), HasSubstr("AUC 0.7400  on 37 rows, 18 positive\n"));
}

// Metrics without a head are those of the first head by name.
TEST_F(LinePrinterTest, AnEvaluationOfSeveralHeadsNamesTheRowsOfEach) {
    takeProgress(300);
    take(session::addedOf("r-abc23", {{"eval.evening.auc", 0.71, 158, 0, 0},
                                      {"eval.evening.positives", 1'392, 158, 0, 0},
                                      {"eval.evening.rows", 6'386, 158, 0, 0},
                                      {"eval.positives", 1'392, 158, 0, 0},
                                      {"eval.quick.positives", 1'350, 158, 0, 0},
                                      {"eval.quick.rows", 3'556, 158, 0, 0},
                                      {"eval.rows", 6'386, 158, 0, 0}}));
    EXPECT_THAT(out_.str(), HasSubstr("  on evening: 6,386 rows, 1,392 positive; quick: 3,556 "
                                      "rows, 1,350 positive\n"));
    take(session::addedOf("r-abc23", {{"eval.auc", 0.71, 160, 0, 0},
                                      {"eval.quick.auc", 0.71, 160, 0, 0},
                                      {"eval.quick.rows", 3'556, 160, 0, 0},
                                      {"eval.rows", 3'556, 160, 0, 0}}));
    EXPECT_THAT(out_.str(), HasSubstr("  on 3,556 rows\n")) << "one head needs no name";
}

TEST_F(LinePrinterTest, WhoComesLateIsToldTheNewestEvaluationOnly) {
    takeProgress(300);
    take(session::addedOf("r-abc23",
                          {{"eval.auc", 0.71, 100, 0, 0}, {"eval.auc", 0.72, 200, 0, 0}}));
    take(session::addedOf(
        "r-abc23", {{"eval.auc", 0.73, 300, 0, 0}, {"eval.rows_without_label", 0, 300, 0, 0}}));
    EXPECT_THAT(out_.str(), Not(HasSubstr("0.7100")));
    EXPECT_THAT(out_.str(), HasSubstr("evaluated at step 200:  AUC 0.7200\n"));
    EXPECT_THAT(out_.str(), HasSubstr("evaluated at step 300:  AUC 0.7300\n"));
}

}  // namespace
}  // namespace millrace::cli

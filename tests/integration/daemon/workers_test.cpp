// Runs with the real workers and the real daemon on a small data set, with kills, stops and
// resumes.
#include <fstream>

#include <gmock/gmock.h>

#include "tests/integration/daemon/daemon_place.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr char kSpec[] = R"(name: tiny
dataset: {path: rows.csv, csv_split_rows: 2000}
recipe:
  - {name: keep, sample: {keep: 0.9, by: [id]}}
labels: {y: "x + id % 7 > 5"}
features: {dense: [x], ids: [id]}
embeddings: {id: {rows: 1000}}
batch: {rows: 64, micro_rows: 32, epochs: %EPOCHS%, seed: 3, segment_splits: 1}
model: {type: mlp, embedding_dim: 8, hidden: [16]}
train: {optimizer: sgd, learning_rate: 0.05, checkpoint: {every_steps: 50, keep: 2}, max_restarts: 3}
variations:
  - {name: half, set: {recipe.keep.keep: 0.5}}
)";

class WorkersTest : public DaemonPlace {
 protected:
    void SetUp() override {
        if (!hasWorkers_) {
            GTEST_SKIP() << "millrace-loader and millrace-trainer are not built here";
        }
        std::ofstream rows(home_.path("rows.csv"));
        rows << "id,x\n";
        for (int i = 0; i < 10'000; ++i) {
            rows << i % 997 << "," << (i * 37 % 100) / 10.0 << "\n";
        }
        rows.close();
        up();
    }
    v1::SubmitResponse submit(int epochs, const std::string& extra = "",
                              const std::string& key = "") {
        std::string text = kSpec + extra;
        const std::string mark = "%EPOCHS%";
        text.replace(text.find(mark), mark.size(), strCat(epochs));
        v1::SubmitRequest request;
        request.set_spec_text(text);
        request.set_file_name("tiny.yaml");
        request.set_base_dir(home_.path(""));
        request.set_key(key);
        v1::SubmitResponse response;
        grpc::ClientContext context;
        const grpc::Status status = runs->Submit(&context, request, &response);
        EXPECT_TRUE(status.ok()) << status.error_message();
        return response;
    }
    std::string start(int epochs) {
        const v1::SubmitResponse response = submit(epochs);
        EXPECT_EQ(response.runs_size(), 1) << response.ShortDebugString();
        return response.runs_size() > 0 ? response.runs(0).id() : "";
    }
    bool reaches(const std::string& run, v1::RunState state, double seconds = 90) {
        return waitUntil([&] { return get(run).summary().state() == state; }, seconds);
    }
    bool passes(const std::string& run, std::int64_t step) {
        return waitUntil([&] { return get(run).summary().progress().step() >= step; }, 90);
    }
    /// The steps of the loss, as WatchMetrics sends them, applied as a client would.
    std::vector<std::int64_t> lossSteps(const std::string& run) {
        v1::WatchMetricsRequest request;
        request.set_run(run);
        request.add_names("loss");
        grpc::ClientContext context;
        const auto reader = runs->WatchMetrics(&context, request);
        std::vector<std::int64_t> steps;
        v1::MetricChunk chunk;
        while (reader->Read(&chunk)) {
            for (const v1::MetricLine& line : chunk.lines()) {
                steps.push_back(line.step());
            }
        }
        EXPECT_TRUE(reader->Finish().ok());
        return steps;
    }
    void expectNoHole(const std::string& run) {
        const std::vector<std::int64_t> steps = lossSteps(run);
        ASSERT_FALSE(steps.empty());
        for (std::size_t i = 0; i < steps.size(); ++i) {
            ASSERT_EQ(steps[i], static_cast<std::int64_t>(i) + 1);
        }
        EXPECT_EQ(steps.back(), get(run).summary().progress().step());
    }
};

TEST_F(WorkersTest, ARunFinishesWithAReceipt) {
    const std::string run = start(2);
    ASSERT_TRUE(reaches(run, v1::RUN_STATE_FINISHED)) << get(run).ShortDebugString();
    const v1::GetRunResponse got = get(run);
    EXPECT_EQ(got.receipt().rows_scanned(), 20'000);
    EXPECT_EQ(got.receipt().order_hash().size(), 32u);
    ASSERT_EQ(got.receipt().steps_size(), 2);
    const v1::StepReceipt& keep = got.receipt().steps(1);
    EXPECT_EQ(keep.step(), "keep");
    ASSERT_EQ(keep.reasons_size(), 1);
    EXPECT_EQ(keep.reasons(0).name(), "dropped");
    EXPECT_EQ(keep.reasons(0).rows(), keep.rows_in() - keep.rows_out());
    EXPECT_EQ(got.receipt().rows_trained(), got.receipt().rows_kept());
    expectNoHole(run);
}

TEST_F(WorkersTest, ErrorsInASpecAreToldByLineAndColumn) {
    const v1::SubmitResponse response = submit(1, "trian: {}\n");
    EXPECT_EQ(response.runs_size(), 0);
    ASSERT_GT(response.errors_size(), 0);
    EXPECT_THAT(response.errors(0).message(), HasSubstr("train"));
    EXPECT_GT(response.errors(0).line(), 10u);
    EXPECT_EQ(status().runs_total(), 0u);
}

TEST_F(WorkersTest, TheSameKeyIsTheSameRun) {
    const v1::SubmitResponse first = submit(1, "", "k"), second = submit(1, "", "k");
    EXPECT_TRUE(second.was_known());
    EXPECT_EQ(second.runs(0).id(), first.runs(0).id());
}

TEST_F(WorkersTest, AKilledDaemonIsReplacedAndTheRunEndsAsIfNothingHadHappened) {
    const std::string run = start(40);
    ASSERT_TRUE(passes(run, 60));
    ::kill(daemonPid(), SIGKILL);
    ASSERT_TRUE(waitUntil([&] { return processes("millraced").empty(); }, 20));
    EXPECT_FALSE(processes("millrace-trainer").empty()) << "workers go on";
    up();
    ASSERT_TRUE(reaches(run, v1::RUN_STATE_FINISHED)) << get(run).ShortDebugString();
    EXPECT_EQ(get(run).summary().attempt(), 1);
    expectNoHole(run);
    EXPECT_TRUE(waitUntil([&] { return processes().size() == 1; }, 20)) << "only the daemon";
}

TEST_F(WorkersTest, AKilledRankResumesFromItsCheckpoint) {
    const std::string run = start(40);
    ASSERT_TRUE(passes(run, 120));
    const std::vector<int> ranks = processes("millrace-trainer");
    ASSERT_FALSE(ranks.empty());
    ::kill(ranks.front(), SIGKILL);
    ASSERT_TRUE(reaches(run, v1::RUN_STATE_FINISHED)) << get(run).ShortDebugString();
    EXPECT_EQ(get(run).summary().attempt(), 2);
    expectNoHole(run);
}

TEST_F(WorkersTest, WorkersThatAreStoppedAreNamedWithinFifteenSecondsAndSoIsTheirGoingOn) {
    const std::string run = start(5'000);
    ASSERT_TRUE(passes(run, 60));
    EXPECT_EQ(get(run).summary().trouble(), "");
    const int rank = processes("millrace-trainer").at(0), feed = processes("millrace-loader").at(0);
    ::kill(rank, SIGSTOP);
    ::kill(feed, SIGSTOP);
    const auto trouble = [&] { return get(run).summary().trouble(); };
    const std::string stopped = "its process is stopped (SIGSTOP)";
    EXPECT_TRUE(waitUntil(
        [&] {
            const std::string text = trouble();
            return text.find("rank0 stands still after step ") != std::string::npos &&
                   text.find("feed stands still: " + stopped) != std::string::npos;
        },
        15))
        << trouble();
    EXPECT_GT(get(run).summary().stands_since_ms(), 0);
    EXPECT_EQ(get(run).summary().state(), v1::RUN_STATE_RUNNING) << "nothing is ended for it";
    const v1::GetRunResponse stopping = get(run);
    for (const v1::WorkerInfo& worker : stopping.workers()) {
        EXPECT_EQ(worker.state(), "stopped") << worker.name();
    }
    const std::int64_t step = stopping.summary().progress().step();
    ::kill(feed, SIGCONT);
    ::kill(rank, SIGCONT);
    EXPECT_TRUE(waitUntil([&] { return trouble().empty(); }, 15)) << trouble();
    EXPECT_EQ(get(run).summary().stands_since_ms(), 0);
    EXPECT_TRUE(passes(run, step + 1));
    const v1::GetRunResponse after = get(run);
    std::string history;
    for (const v1::RunEvent& event : after.events()) {
        history += event.text() + "\n";
    }
    for (const char* worker : {"rank0", "feed"}) {
        EXPECT_THAT(history, HasSubstr(strCat(worker, " stands still")));
        EXPECT_THAT(history, HasSubstr(strCat(worker, " goes on after ")));
    }
    EXPECT_THAT(history, HasSubstr(stopped + ", for "));
}

TEST_F(WorkersTest, GuardiansThatAreStoppedAreATroubleOfTheRunUntilTheyAnswer) {
    const std::string run = start(5'000);
    ASSERT_TRUE(passes(run, 60));
    const std::vector<int> guardians = processes("millrace-exec");
    ASSERT_EQ(guardians.size(), 2u);
    for (const int guardian : guardians) {
        ::kill(guardian, SIGSTOP);
    }
    const auto trouble = [&] { return get(run).summary().trouble(); };
    EXPECT_TRUE(waitUntil(
        [&] {
            const std::string text = trouble();
            return text.find("the guardian of rank0 does not answer") != std::string::npos &&
                   text.find("the guardian of feed does not answer") != std::string::npos;
        },
        60))
        << trouble();
    EXPECT_EQ(get(run).summary().stands_since_ms(), 0) << "the run itself gets on";
    for (const int guardian : guardians) {
        ::kill(guardian, SIGCONT);
    }
    EXPECT_TRUE(waitUntil([&] { return trouble().empty(); }, 30)) << trouble();
}

TEST_F(WorkersTest, AStoppedRunIsCancelledWithACheckpointAndResumes) {
    const std::string run = start(40);
    ASSERT_TRUE(passes(run, 60));
    v1::StopRunRequest stop;
    stop.set_run(run);
    stop.set_reason("enough");
    v1::StopRunResponse stopped;
    grpc::ClientContext first, second;
    ASSERT_TRUE(runs->Stop(&first, stop, &stopped).ok());
    ASSERT_TRUE(reaches(run, v1::RUN_STATE_CANCELLED));
    const v1::GetRunResponse got = get(run);
    EXPECT_EQ(got.summary().exit_reason(), "enough");
    ASSERT_GT(got.checkpoints_size(), 0);
    v1::ResumeRunRequest resume;
    resume.set_run(run);
    v1::ResumeRunResponse resumed;
    ASSERT_TRUE(runs->Resume(&second, resume, &resumed).ok());
    ASSERT_TRUE(reaches(run, v1::RUN_STATE_FINISHED)) << get(run).ShortDebugString();
    expectNoHole(run);
}

TEST_F(WorkersTest, DownEndsRunsWithACheckpointAndLeavesNoProcess) {
    const std::string run = start(200);
    ASSERT_TRUE(passes(run, 60));
    EXPECT_TRUE(down().ok());
    EXPECT_TRUE(waitUntil([&] { return processes().empty(); }, 30));
    up();
    const v1::GetRunResponse got = get(run);
    EXPECT_EQ(got.summary().state(), v1::RUN_STATE_CANCELLED);
    EXPECT_GT(got.checkpoints_size(), 0);
}

TEST_F(WorkersTest, LogsAreFollowedToTheEnd) {
    const std::string run = start(2);
    v1::LogsRequest request;
    request.set_run(run);
    request.set_follow(true);
    grpc::ClientContext context;
    const auto reader = runs->Logs(&context, request);
    int lines = 0;
    bool sawEnd = false;
    v1::LogChunk chunk;
    while (reader->Read(&chunk)) {
        lines += chunk.lines_size();
        sawEnd = chunk.is_end();
    }
    EXPECT_TRUE(reader->Finish().ok());
    EXPECT_TRUE(sawEnd);
    EXPECT_GT(lines, 0);
    EXPECT_EQ(get(run).summary().state(), v1::RUN_STATE_FINISHED);
}

}  // namespace
}  // namespace millrace

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/session/words.h"
#include "app/tui/top_view.h"
#include "app/tui/watch_view.h"
#include "backend/text/text.h"
#include "tests/support/fake_client.h"
#include "tests/support/metric_lines.h"

namespace millrace::tui {
namespace {

using client::aRun;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using values::RunState;

constexpr std::int64_t kNow = 1'700'000'010'000;

session::LiveModel aModel(int numRuns) {
    session::LiveModel model;
    const char* ids[] = {"r-abc23", "r-def45", "r-ghi67"};
    const char* names[] = {"", "keep-30", "keep-10"};
    for (int i = 0; i < numRuns; ++i) {
        values::RunSummary run =
            aRun(ids[i], names[i], i == 0 ? RunState::kRunning : RunState::kQueued);
        run.queuedReason = i == 0 ? "" : "behind 1 run";
        model.apply(session::RunChanged{run}, kNow);
        run.progress.times = values::PhaseTimes{64'000, 36'000};
        run.progress.stallPercentNow = 1;
        run.progress.stepsPerSecond = 10;
        run.progress.timeMs += 1'000;
        model.apply(session::RunChanged{run}, kNow);
    }
    std::vector<values::RunFigure> points;
    for (int step = 1; step <= 390; ++step) {
        points.push_back({"loss", 0.7 - step * 0.0005, step, kNow, 0});
        points.push_back({"samples_per_second", 42'000.0 + step, step, kNow, 0});
        points.push_back({"input_stall_percent", step % 7 == 0 ? 3.0 : 0.1, step, kNow, 0});
    }
    points.push_back({"eval.auc", 0.7934, 300, kNow, 1});
    model.apply(session::addedOf(ids[0], points), kNow);
    model.apply(
        session::LogsAdded{ids[0], {{kNow, "rank0", "step 300: wrote a checkpoint", true, 1}}, 0},
        kNow);
    model.apply(session::LinkChanged{{session::LinkState::kConnected, "", kNow, 0}}, kNow);
    return model;
}

// The first run stalled two minutes ago.
session::LiveModel stalled(session::LiveModel model) {
    values::RunSummary run = model.runs["r-abc23"].summary;
    run.trouble = "rank0 stands still after step 390: its process is stopped (SIGSTOP)";
    run.standsSinceMs = kNow - 123'000;
    model.apply(session::RunChanged{run}, kNow);
    return model;
}

session::LiveModel aCluster(bool hasGpu) {
    session::LiveModel model = aModel(3);
    values::NodeInfo info;
    info.name = "node-a";
    info.cores = 16;
    info.cpuModel = "AMD EPYC 9654";
    info.gpuNote = "no NVIDIA driver on this machine";
    values::NodeSample sample;
    sample.node = "node-a";
    sample.cpuPercent = 43.2;
    sample.memoryUsedBytes = 3'200'000'000;
    sample.memoryTotalBytes = 24'000'000'000;
    sample.diskReadBytesPerSecond = 1.2e6;
    sample.networkSendBytesPerSecond = 2e3;
    sample.load1 = 1.25;
    sample.processes = {{"r-abc23", "rank0", 7, 98.0, 412'000'000}};
    if (hasGpu) {
        info.gpus = {{0, "NVIDIA H200", "u", "570", 141'000'000'000}};
        values::GpuSample gpu;
        gpu.utilizationPercent = 83;
        gpu.memoryUsedBytes = 12'000'000'000;
        gpu.memoryTotalBytes = 141'000'000'000;
        gpu.powerWatts = 350;
        sample.gpus = {gpu};
    }
    model.nodes["node-a"].info = info;
    model.apply(session::NodeSampled{sample}, kNow);
    return model;
}

std::vector<std::string> drawn(View& view, const session::LiveModel& model, int width, int height,
                               bool isUtf8 = true) {
    CellGrid grid(width, height, isUtf8);
    view.draw(grid, model, kNow);
    for (const std::string& line : grid.lines()) {
        EXPECT_LE(displayWidth(line), width) << line;
    }
    return grid.lines();
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) {
        text += line + "\n";
    }
    return text;
}

TEST(WatchView, AnEightyColumnTerminalShowsProgressFiguresChartAndLog) {
    WatchView view({"r-abc23"});
    const auto lines = drawn(view, aModel(1), 80, 24);
    EXPECT_THAT(lines[0], HasSubstr("movielens-dlrm  r-abc23  running"));
    EXPECT_THAT(lines[1], HasSubstr("62 %  step 390/630  epoch 2/3  time left"));
    EXPECT_THAT(lines[2], HasSubstr("99,840 rows"));
    const std::string text = joined(lines);
    EXPECT_THAT(text, HasSubstr("loss"));
    EXPECT_THAT(text, HasSubstr("samples/s"));
    EXPECT_THAT(text, HasSubstr("input stall"));
    EXPECT_THAT(text, HasSubstr("0.7934"));
    EXPECT_THAT(text, HasSubstr("rank0 step 300: wrote a checkpoint"));
    EXPECT_THAT(text, HasSubstr("step 390"));
    EXPECT_THAT(lines[23], HasSubstr("q leave"));
}

TEST(WatchView, ARunThatStandsStillSaysSoAndItsRatesSayHowOldTheyAre) {
    WatchView view({"r-abc23"});
    const auto lines = drawn(view, stalled(aModel(1)), 120, 40);
    EXPECT_THAT(lines[0], HasSubstr("movielens-dlrm  r-abc23  stalled"));
    EXPECT_THAT(lines[1], HasSubstr("time left -"));
    EXPECT_THAT(lines[2], HasSubstr("its process is stopped (SIGSTOP), for 2 m 03 s"));
    EXPECT_THAT(joined(lines), HasSubstr("samples/s, 2 m 03 s old"));
    EXPECT_THAT(joined(lines), HasSubstr("input stall, 2 m 03 s old"));
}

TEST(WatchView, WhatIsOnItsWayToTheHeadHasALine) {
    WatchView view({"r-abc23"});
    session::LiveModel model = aModel(1);
    values::RunSummary run = model.runs["r-abc23"].summary;
    run.handOver = values::HandOver{.step = 390, .bytes = 3'100'000, .sent = 1'200'000};
    run.handOver->areScores = true;
    model.apply(session::RunChanged{run}, kNow);
    const auto lines = drawn(view, model, 120, 40);
    EXPECT_THAT(lines[3], HasSubstr("scores of step 390 are on their way to the head: 1.2 MB of "
                                    "3.1 MB"));
    EXPECT_THAT(joined(drawn(view, aModel(1), 120, 40)), Not(HasSubstr("to the head")));
}

TEST(WatchView, ARunOfSeveralRanksHasARowForEach) {
    session::LiveModel model = aCluster(false);
    values::RunSummary run = model.runs["r-abc23"].summary;
    run.host = "node-a";
    for (int i = 0; i < 2; ++i) {
        values::RankNow rank;
        rank.rank = i;
        rank.state = "running";
        rank.phase = values::Phase::kTraining;
        rank.step = 1'240 + i;
        rank.stepMs = 12.34;
        rank.stepStallPercent = 3;
        rank.steppedMs = kNow - 1'000;
        run.ranks.push_back(rank);
    }
    model.apply(session::RunChanged{run}, kNow);
    WatchView view({"r-abc23"});
    std::string text = joined(drawn(view, model, 100, 30));
    EXPECT_THAT(text, HasSubstr("rank 0   training                    step 1,240     12.3 ms"));
    EXPECT_THAT(text, HasSubstr("rank 1   training                    step 1,241     12.3 ms"));
    EXPECT_THAT(text, Not(HasSubstr("rank0 98 %"))) << "once is enough";
    EXPECT_THAT(text, HasSubstr("stall 3.0 %   CPU 98 %"));
    for (int i = 2; i < 64; ++i) {
        run.ranks.push_back(run.ranks[0]);
        run.ranks.back().rank = i;
    }
    run.ranks[40].state = "stopped";
    run.ranks[40].standsSinceMs = kNow - 16'000;
    run.ranks[40].steppedMs = kNow - 16'000;
    model.apply(session::RunChanged{run}, kNow);
    text = joined(drawn(view, model, 80, 24));
    EXPECT_THAT(text, HasSubstr("rank 40  stopped for 16.0 s          step 1,240     16.0 s old"))
        << "a stalled rank comes first";
    EXPECT_THAT(text, HasSubstr("and 61 more of 64 ranks, rank 40 is stalled"));
    EXPECT_THAT(text, HasSubstr("loss")) << "and leaves room for the rest";
}

TEST(WatchView, ABigTerminalPutsTheLogBesideTheChart) {
    WatchView view({"r-abc23"});
    const auto lines = drawn(view, aModel(1), 200, 50);
    bool isBeside = false;
    for (const std::string& line : lines) {
        isBeside = isBeside || (line.find(" loss ") != std::string::npos &&
                                line.find(" log ") != std::string::npos);
    }
    EXPECT_TRUE(isBeside) << joined(lines);
}

TEST(WatchView, SeveralRunsStandInAListAndTabChoosesTheNext) {
    WatchView view({"r-abc23", "r-def45", "r-ghi67"});
    const session::LiveModel model = aModel(3);
    EXPECT_THAT(drawn(view, model, 80, 24)[1], HasSubstr("▸ movielens-dlrm"));
    EXPECT_TRUE(view.press({Key::kTab}, model));
    const auto lines = drawn(view, model, 80, 24);
    EXPECT_THAT(lines[0], HasSubstr("keep-30  r-def45  queued"));
    EXPECT_THAT(lines[2], HasSubstr("▸ keep-30  "));
    EXPECT_THAT(joined(lines), HasSubstr("behind 1 run"));
}

TEST(WatchView, TheArrowsChooseTheMetricOfTheChart) {
    WatchView view({"r-abc23"});
    const session::LiveModel model = aModel(1);
    EXPECT_THAT(joined(drawn(view, model, 80, 24)), HasSubstr("─ loss ─"));
    view.press({Key::kRight}, model);
    EXPECT_THAT(joined(drawn(view, model, 80, 24)), HasSubstr("─ samples/s ─"));
    view.press({Key::kLeft}, model);
    EXPECT_THAT(joined(drawn(view, model, 80, 24)), HasSubstr("─ loss ─"));
}

TEST(WatchView, ALostConnectionIsSaidInTheLastRow) {
    session::LiveModel model = aModel(1);
    model.apply(session::LinkChanged{{session::LinkState::kReconnecting, "nobody listens",
                                      kNow - 5'000, 3}},
                kNow);
    WatchView view({"r-abc23"});
    EXPECT_THAT(drawn(view, model, 80, 24)[23],
                HasSubstr("connection lost 5 s ago, trying again (3): nobody listens"));
    model.apply(session::LinkChanged{{session::LinkState::kReconnecting,
                                      "no daemon answers at unix:/x; 'millrace up' starts one",
                                      kNow - 5'000, 4}},
                kNow);
    EXPECT_THAT(drawn(view, model, 80, 24)[23], HasSubstr("'millrace up' starts the daemon"));
}

TEST(WatchView, TheMachinesCpuAndGpuStandWithTheFigures) {
    for (const auto& [width, height] : {std::pair{80, 24}, {120, 40}, {200, 50}}) {
        WatchView view({"r-abc23"});
        const std::string without = joined(drawn(view, aCluster(false), width, height));
        EXPECT_THAT(without, HasSubstr("CPU (16 cores)                 43 %"));
        EXPECT_THAT(without, HasSubstr("GPU                          no GPU"));
        EXPECT_THAT(without, HasSubstr("rank0 98 %  412 MB"));
        EXPECT_THAT(joined(drawn(view, aCluster(true), width, height)),
                    HasSubstr("GPU                            83 %"));
    }
}

TEST(WatchView, CpuAndGpuStayWhereSeveralRunsLeaveLittleRoom) {
    WatchView view({"r-abc23", "r-def45", "r-ghi67"});
    const std::string text = joined(drawn(view, aCluster(false), 80, 24));
    EXPECT_THAT(text, HasSubstr("43 %"));
    EXPECT_THAT(text, HasSubstr("no GPU"));
}

TEST(WatchView, AMachineThatWentSilentIsUnknownNeverZero) {
    session::LiveModel model = aCluster(true);
    model.nodes["node-a"].receivedMs = kNow - 20'000;
    WatchView view({"r-abc23"});
    const std::string text = joined(drawn(view, model, 80, 24));
    EXPECT_THAT(text, HasSubstr("CPU (16 cores)                  n/a"));
    EXPECT_THAT(text, HasSubstr("GPU                             n/a"));
}

TEST(WatchView, CountsOfNothingAreHiddenAndTestFiguresHaveTheirNames) {
    session::LiveModel model = aModel(1);
    model.apply(session::addedOf("r-abc23", {{"eval.rows", 90, 300, kNow, 1},
                                             {"eval.rows_without_label", 0, 300, kNow, 1}}),
                kNow);
    WatchView view({"r-abc23"});
    EXPECT_THAT(joined(drawn(view, model, 120, 40)),
                AllOf(HasSubstr("test AUC"), Not(HasSubstr("rows without label"))));
    model.apply(session::addedOf("r-abc23", {{"eval.rows_without_label", 7, 400, kNow, 1}}), kNow);
    EXPECT_THAT(joined(drawn(view, model, 120, 40)), HasSubstr("rows without label"));
}

TEST(WatchView, WithoutUtf8EveryByteIsAscii) {
    WatchView view({"r-abc23", "r-def45"});
    for (const char c : joined(drawn(view, aModel(2), 80, 24, false))) {
        ASSERT_GE(c, 0) << "not ASCII";
    }
}

TEST(WatchView, TheSmallestTerminalBreaksNothing) {
    WatchView view({"r-abc23", "r-def45"});
    for (const auto& [width, height] : {std::pair{1, 1}, {20, 5}, {40, 10}, {300, 8}}) {
        EXPECT_EQ(drawn(view, aModel(2), width, height).size(), static_cast<std::size_t>(height));
    }
}

// A head and `count` more nodes, each with a data worker of the run.
session::LiveModel withNodes(session::LiveModel model, int count) {
    for (int i = 2; i < 2 + count; ++i) {
        values::NodeSample sample;
        sample.node = "node-" + std::to_string(i);
        sample.cpuPercent = 61;
        sample.processes.push_back(
            {"r-abc23", "data" + std::to_string(i), 4'000 + i, 97.0, 210'000'000});
        model.apply(session::NodeSampled{sample}, kNow);
    }
    return model;
}

TEST(TopView, AMachineWithoutAGpuSaysSo) {
    TopView view;
    const auto lines = drawn(view, aCluster(false), 80, 24);
    EXPECT_THAT(lines[0], HasSubstr("1 running   2 queued"));
    const std::string text = joined(lines);
    EXPECT_THAT(text, HasSubstr("node-a  16 cores  AMD EPYC 9654"));
    EXPECT_THAT(text, HasSubstr("43 %"));
    EXPECT_THAT(text, HasSubstr("3.2/24.0 GB"));
    EXPECT_THAT(text, HasSubstr("r 1.2 MB/s  w n/a"));
    EXPECT_THAT(text, HasSubstr("no GPU (no NVIDIA driver on this machine)"));
    EXPECT_THAT(text, HasSubstr("390/630"));
    EXPECT_THAT(text, HasSubstr("1.0 %"));
}

TEST(TopView, ARunThatStandsStillShowsItsReasonAndTheAgeOfItsRates) {
    TopView view;
    const std::string before = joined(drawn(view, aCluster(false), 120, 40));
    EXPECT_THAT(before, AllOf(HasSubstr("42,100   0.5050"), Not(HasSubstr("old"))));
    const std::string text = joined(drawn(view, stalled(aCluster(false)), 120, 40));
    EXPECT_THAT(text, HasSubstr("stalled"));
    EXPECT_THAT(text, HasSubstr("2 m 03 s old"));
    EXPECT_THAT(text, HasSubstr("rank0 stands still after step 390: its process is stopped"));
    EXPECT_THAT(text, Not(HasSubstr("42,100   0.5050"))) << "a rate of a time that is gone";
}

TEST(TopView, IdNameAndStateOfARunStayApartOnANarrowScreen) {
    for (const int width : {40, 60, 70, 80, 123, 124}) {
        TopView view;
        const std::string text = joined(drawn(view, aCluster(false), width, 30));
        EXPECT_THAT(text, ContainsRegex(" RUN +NAME +STATE")) << width << "\n" << text;
        EXPECT_THAT(text, ContainsRegex("r-abc23 +[^ ]+.* running")) << width << "\n" << text;
    }
}

TEST(TopView, HasTheHeadingsOfTheWords) {
    namespace word = session::word;
    TopView view;
    const std::string titles = drawn(view, aCluster(true), 124, 30)[6];
    for (const session::Word* one :
         {&word::kRun, &word::kName, &word::kState, &word::kStep, &word::kRate, &word::kStall,
          &word::kCpu, &word::kMemory, &word::kTimeLeft}) {
        EXPECT_THAT(titles, HasSubstr(strCat(" ", one->heading))) << one->key;
    }
    WatchView watch({"r-abc23"});
    const std::string text = joined(drawn(watch, aModel(1), 120, 40));
    for (const session::Word* one :
         {&word::kTimeLeft, &word::kRate, &word::kStall, &word::kCpu, &word::kGpu}) {
        EXPECT_THAT(text, HasSubstr(strCat(" ", one->label, " "))) << one->key;
    }
}

// Parts that do not fit are left out whole, and nothing is written over anything else.
TEST(TopView, ANarrowScreenLeavesColumnsOut) {
    const std::map<int, std::string> titles = {
        {40, "NAME +STATE +STEP$"},
        {56, "NAME +STATE +STEP +LOSS$"},
        {64, "NAME +STATE +STEP +LOSS +TIME LEFT$"},
        {80, "NAME +STATE +STEP +SAMPLES/S +LOSS +STALL +TIME LEFT$"},
        {124, "NAME +STATE +STEP +SAMPLES/S +LOSS +STALL NOW +RUN +CPU +MEMORY +TIME LEFT$"}};
    for (const auto& [width, title] : titles) {
        SCOPED_TRACE(width);
        TopView view;
        const auto lines = drawn(view, aCluster(true), width, 30);
        EXPECT_THAT(lines[0], ContainsRegex("^ (millrace )?top   1 running   2 queued +"
                                            "[0-9][0-9]:[0-9][0-9]:[0-9][0-9]( [^ ]+)?$"));
        EXPECT_THAT(lines[2], ContainsRegex("^ cpu .* 43 %  .*mem .*3.2/24.0 GB$"));
        EXPECT_THAT(lines[3], ContainsRegex("^ disk r 1.2 MB/s .*net  in n/a( |$)"));
        EXPECT_THAT(lines[4], ContainsRegex("^ gpu0 .* 83 %  mem 12.0/141 GB(  350 W.*)?$"));
        EXPECT_THAT(lines[6], ContainsRegex(title));
        EXPECT_THAT(lines[8], ContainsRegex("^ r-def45  keep-30 +queued +390/630"));
        for (const std::string& line : {lines[2], lines[3], lines[4]}) {
            EXPECT_THAT(line, Not(HasSubstr("…")));
        }
        const auto many = drawn(view, withNodes(aCluster(true), 30), width, 30);
        EXPECT_THAT(many[2], ContainsRegex("^ node-10 +cpu .*61 %  mem n/a( |$)"));
    }
}

TEST(TopView, AGpuHasUseMemoryAndPower) {
    TopView view;
    const std::string text = joined(drawn(view, aCluster(true), 200, 50));
    EXPECT_THAT(text, HasSubstr("gpu0"));
    EXPECT_THAT(text, HasSubstr("83 %  mem 12.0/141 GB  350 W  NVIDIA H200"));
    EXPECT_THAT(text, HasSubstr("98 %"));
    EXPECT_THAT(text, HasSubstr("412 MB"));
}

TEST(TopView, ANodeThatWentSilentIsMarked) {
    session::LiveModel model = aCluster(false);
    model.nodes["node-a"].receivedMs = kNow - 20'000;
    TopView view;
    EXPECT_THAT(joined(drawn(view, model, 80, 24)), HasSubstr("no sample since 20 s ago"));
}

TEST(TopView, TheStateOfANodeIsShown) {
    for (const int count : {2, 30}) {  // whole, and one row each
        session::LiveModel model = withNodes(aCluster(false), count);
        model.nodes["node-2"].info.state = "drained";
        model.nodes["node-3"].info.state = "lost";
        TopView view;
        const std::string text = joined(drawn(view, model, 120, 60));
        EXPECT_THAT(text, AllOf(HasSubstr("drained"), HasSubstr("lost"))) << text;
        EXPECT_THAT(text, HasSubstr("data2 97 %")) << "it still says what it does";
        EXPECT_THAT(text, Not(HasSubstr("data3 97"))) << "nothing is known of a lost one";
    }
}

TEST(TopView, ARunThatWaitsBetweenItsAttemptsSaysForWhat) {
    session::LiveModel model = aCluster(false);
    values::RunSummary run = model.runs["r-abc23"].summary;
    run.state = values::RunState::kStarting;
    run.queuedReason = "cannot be started now: needs 2 nodes";
    model.apply(session::RunChanged{run}, kNow);
    TopView view;
    EXPECT_THAT(joined(drawn(view, model, 120, 40)), HasSubstr("now: needs 2 nodes"));
}

TEST(TopView, SeveralNodesShowWhoWorksThere) {
    TopView view;
    const std::string text = joined(drawn(view, withNodes(aCluster(false), 2), 120, 60));
    EXPECT_THAT(text, AllOf(HasSubstr("node-a"), HasSubstr("node-2"), HasSubstr("node-3")));
    EXPECT_THAT(text, HasSubstr("work r-abc23  data2 97 %  210 MB"));
    EXPECT_THAT(joined(drawn(view, aCluster(false), 120, 60)), Not(HasSubstr("work ")))
        << "of one node the runs' own rows say it";
}

TEST(TopView, ManyNodesAreARowEachAndLeaveHalfToTheRuns) {
    TopView view;
    session::LiveModel model = withNodes(aCluster(false), 40);
    model.nodes["node-3"].receivedMs = kNow - 20'000;
    const auto lines = drawn(view, model, 120, 40);
    const std::string text = joined(lines);
    EXPECT_THAT(text, HasSubstr("41 nodes"));
    EXPECT_THAT(text, HasSubstr("and 23 more"));
    EXPECT_THAT(text, HasSubstr("61 %  mem"));
    EXPECT_THAT(text, HasSubstr("data2 97 %"));
    EXPECT_THAT(text, HasSubstr("r-abc23")) << "runs have their place";
}

TEST(WatchView, WorkersOnOtherNodesSayWhere) {
    WatchView view({"r-abc23"});
    session::LiveModel model = withNodes(aCluster(false), 1);
    model.nodes["node-a"].info.isHead = true;
    EXPECT_THAT(joined(drawn(view, model, 200, 40)),
                AllOf(HasSubstr("data2 97 % on node-2"), HasSubstr("rank0 98 %  ")));
}

TEST(TopView, EndedRunsAreBelowAHeadingThatAKeyHides) {
    session::LiveModel model = aCluster(false);
    for (const char* const id : {"r-done1", "r-done2"}) {
        values::RunSummary run = aRun(id);
        run.state = values::RunState::kFinished;
        model.apply(session::RunChanged{run}, kNow);
    }
    TopView view;
    const std::string text = joined(drawn(view, model, 80, 24));
    EXPECT_THAT(text, ContainsRegex("queued.*\n.* ended  2 .*\n r-done"));
    EXPECT_THAT(text, HasSubstr("e hide ended"));
    EXPECT_TRUE(view.press({Key::kCharacter, 'e'}, model));
    for (const int width : {40, 80}) {
        const std::string hidden = joined(drawn(view, model, width, 24));
        EXPECT_THAT(hidden, Not(HasSubstr("r-done")));
        EXPECT_THAT(hidden, AllOf(HasSubstr("r-abc23"), HasSubstr("e show ended")));
    }
    EXPECT_TRUE(view.press({Key::kCharacter, 'e'}, model));
    EXPECT_THAT(joined(drawn(view, model, 40, 24)), HasSubstr("r-done1"));
    EXPECT_FALSE(view.press({Key::kCharacter, 'x'}, model));
}

TEST(TopView, ManyRunsScroll) {
    session::LiveModel model = aCluster(false);
    for (int i = 0; i < 60; ++i) {
        model.apply(session::RunChanged{aRun("r-" + std::to_string(10000 + i))}, kNow);
    }
    TopView view;
    EXPECT_THAT(drawn(view, model, 80, 24)[23], HasSubstr("more below"));
    view.press({Key::kPageDown}, model);
    EXPECT_THAT(joined(drawn(view, model, 80, 24)), Not(HasSubstr("r-abc23")));
}

// A screen in memory: it shows into a list and takes keys from a list.
class FakeScreen final : public Screen {
 public:
    explicit FakeScreen(std::deque<KeyPress> keys) : keys_(std::move(keys)) {}
    int width() const override { return width_; }
    int height() const override { return 24; }
    bool isUtf8() const override { return true; }
    void show(const CellGrid& grid) override { shown.push_back(grid.text()); }
    KeyPress readKey(std::chrono::milliseconds) override {
        if (keys_.empty()) {
            return {};
        }
        const KeyPress key = keys_.front();
        keys_.pop_front();
        width_ += key.key == Key::kResize ? 40 : 0;
        return key;
    }
    std::vector<std::string> shown;

 private:
    std::deque<KeyPress> keys_;
    int width_ = 80;
};

class LiveLoopTest : public testing::Test {
 protected:
    LoopEnd run(Screen& screen, LoopOptions options) {
        session::FollowOptions follow;
        follow.runIds = {"r-abc23"};
        session::Follower follower(client_, clock_, follow);
        session::LiveModel model = aModel(1);
        WatchView view({"r-abc23"});
        return runLiveLoop(screen, follower, model, view, clock_, interrupts_, options);
    }
    client::FakeAnswers fake_;
    client::FakeClient client_{fake_};
    SystemClock clock_;
    std::atomic<int> interrupts_{0};
};

TEST_F(LiveLoopTest, QLeaves) {
    FakeScreen screen({{Key::kResize}, {Key::kCharacter, 'x'}, {Key::kCharacter, 'q'}});
    EXPECT_EQ(run(screen, {}), LoopEnd::kLeft);
    ASSERT_GE(screen.shown.size(), 2U);
    EXPECT_NE(screen.shown[0].size(), screen.shown[1].size());
}

TEST_F(LiveLoopTest, TheEndOfTheRunEndsTheViewWhereThatWasAskedFor) {
    fake_.runScripts = {{{values::RunUpdate{aRun("r-abc23"), false, false}}}};
    FakeScreen screen({});
    EXPECT_EQ(run(screen, {true}), LoopEnd::kAllEnded);
    EXPECT_THAT(screen.shown.back(), HasSubstr("finished"));
}

}  // namespace
}  // namespace millrace::tui

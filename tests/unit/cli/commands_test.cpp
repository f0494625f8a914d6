#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>

#include "app/cli/data/profile_view.h"
#include "backend/text/text.h"
#include "tests/support/metric_lines.h"
#include "tests/support/poll.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/cli/commands_fixture.h"

namespace millrace::cli {
namespace {

using client::aDetail;
using client::aRun;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using values::RunState;

TEST_F(CommandsTest, LsShowsRunsAsATable) {
    EXPECT_EQ(run({"ls"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("RUN"));
    EXPECT_THAT(out.str(), HasSubstr("r-def45  movielens-dlrm / keep-30  finished"));
    EXPECT_THAT(out.str(), HasSubstr("0.7934"));
}

TEST_F(CommandsTest, LsJsonHasTheDocumentedShape) {
    EXPECT_EQ(run({"ls", "--json"}), kExitOk);
    const Json document = json();
    EXPECT_EQ(document["schema_version"], 1);
    EXPECT_EQ(document["has_more"], false);
    ASSERT_EQ(document["runs"].size(), 2U);
    const Json& one = document["runs"][0];
    EXPECT_EQ(one["id"], "r-abc23");
    EXPECT_EQ(one["state"], "finished");
    EXPECT_EQ(one["variation"], nullptr);
    EXPECT_EQ(one["metrics"]["eval.auc"], 0.7934);
    EXPECT_EQ(one["created"], "2023-11-14T22:13:20.000Z");
    EXPECT_EQ(one["deleted"], nullptr);
    EXPECT_EQ(one["purged"], nullptr);
    EXPECT_EQ(out.str().find('\n'), out.str().size() - 1) << "one line where nobody looks";
}

TEST_F(CommandsTest, LsColumnsMayBeMetricsParamsAndTags) {
    fake.runs[0].summary.params["batch.seed"] = "7";
    EXPECT_EQ(run({"ls", "--columns", "id,params.batch.seed,metrics.eval.auc"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("r-abc23  7"));
    EXPECT_TRUE(fake.lists.back().withParams);
    EXPECT_EQ(run({"ls", "--columns", "id,step,rows_kept,progress.step"}), kExitOk);
    EXPECT_THAT(out.str(), ContainsRegex("^RUN +STEP +KEPT +PROGRESS.STEP\n"));
    fake.runs[0].summary.note = "lost the second node";
    EXPECT_EQ(run({"ls", "--columns", "id,note"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("r-abc23  lost the second node"));
    EXPECT_EQ(run({"ls", "--columns", "id,stat"}), kExitUsage);
    EXPECT_THAT(err.str(), HasSubstr("did you mean 'state'?"));
}

TEST_F(CommandsTest, LsLimitSaysThatThereIsMore) {
    EXPECT_EQ(run({"ls", "--limit", "1"}), kExitOk);
    EXPECT_THAT(err.str(), HasSubstr("1 of 2 runs; --limit N shows more"));
}

TEST_F(CommandsTest, ALimitOfNothingIsRefused) {
    EXPECT_EQ(run({"ls", "-n", "0"}), kExitUsage);
    EXPECT_EQ(run({"logs", "r-abc23", "-n", "0"}), kExitUsage);
}

TEST_F(CommandsTest, ARunThatHasEndedIsInNoPhase) {
    fake.runs[0].summary.progress.phase = values::Phase::kCheckpoint;
    fake.runs[1].summary.progress.phase = values::Phase::kCheckpoint;
    fake.runs[1].summary.state = RunState::kRunning;
    EXPECT_EQ(run({"ls", "--json"}), kExitOk);
    EXPECT_EQ(json()["runs"][0]["progress"]["phase"], nullptr);
    EXPECT_EQ(json()["runs"][1]["progress"]["phase"], "writing a checkpoint");
}

TEST_F(CommandsTest, LsShowsTheRunsOfOneSubmitTogetherTheBaseFirst) {
    fake.runs = {aDetail(aRun("r-late2", "keep-30")), aDetail(aRun("r-base2")),
                 aDetail(aRun("r-old22"))};
    fake.runs[0].summary.group = fake.runs[1].summary.group = "r-base2";
    EXPECT_EQ(run({"ls", "--quiet"}), kExitOk);
    EXPECT_EQ(out.str(), "r-base2\nr-late2\nr-old22\n");
    EXPECT_EQ(run({"ls", "--quiet", "--order-by", "name"}), kExitOk);
    EXPECT_EQ(out.str(), "r-late2\nr-base2\nr-old22\n") << "an order that was asked for stays";
}

TEST_F(CommandsTest, LsKeepsTheOrderOfASubmitAlsoWhereTheFilterLeavesTheBaseOut) {
    fake.runs = {aDetail(aRun("r-sort2", "zoom")), aDetail(aRun("r-sort3", "keep-30")),
                 aDetail(aRun("r-sort4", "all"))};
    int ordinal = 0;
    for (values::RunDetail& run : fake.runs) {
        run.summary.group = "r-base2";
        run.summary.uid = strCat("0190", ordinal++);
    }
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"ls", "-q"}, {"ls", "-q", "--filter", "name = 'x'"}}) {
        EXPECT_EQ(run(words), kExitOk);
        EXPECT_EQ(out.str(), "r-sort2\nr-sort3\nr-sort4\n");
    }
}

TEST_F(CommandsTest, LsOfNothingSaysWhatToDo) {
    fake.runs.clear();
    EXPECT_EQ(run({"ls"}), kExitOk);
    EXPECT_EQ(err.str(), "no runs yet: 'millrace run SPEC' starts one\n");
    EXPECT_EQ(run({"ls", "--filter", "name = 'x'"}), kExitOk);
    EXPECT_EQ(err.str(), "no run matches the filter\n");
}

TEST_F(CommandsTest, AFilterWithANameThatNoRunHasIsNoted) {
    fake.runs.clear();
    fake.filterCheck.message = "no run has a metric 'auk'; did you mean 'auc'?";
    EXPECT_EQ(run({"ls", "--filter", "metrics.auk > 1"}), kExitOk);
    EXPECT_EQ(err.str(),
              "note: no run has a metric 'auk'; did you mean 'auc'?\nno run matches the filter\n");
    EXPECT_EQ(run({"ls", "--json", "--filter", "metrics.auk > 1"}), kExitOk);
    EXPECT_THAT(err.str(), HasSubstr("did you mean 'auc'?"));
    EXPECT_EQ(run({"compare", "--filter", "metrics.auk > 1"}), kExitFailed);
    EXPECT_THAT(err.str(), HasSubstr("note: no run has a metric 'auk'"));
    EXPECT_EQ(run({"ls"}), kExitOk);
    EXPECT_THAT(err.str(), Not(HasSubstr("note")));
}

TEST_F(CommandsTest, AFilterThatCannotBeReadIsShownWithItsPlace) {
    fake.listStatus = invalidArgument("filter, character 9: expected a comparison");
    EXPECT_EQ(run({"ls", "--filter", "metrics. > 1"}), kExitFailed);
    EXPECT_THAT(err.str(), HasSubstr("expected a comparison"));
    EXPECT_THAT(err.str(), HasSubstr("    metrics. > 1\n            ^\n"));
}

TEST_F(CommandsTest, WithoutADaemonTheExitCodeIsSixAndTheWayOutIsNamed) {
    fake.reachable = unavailable("no daemon answers at unix:/x; 'millrace up' starts one");
    for (const auto& words : std::vector<std::vector<std::string>>{
             {"ls"}, {"show", "r-abc23"}, {"top"}, {"nodes"}, {"wait", "r-abc23"}}) {
        EXPECT_EQ(run(words), kExitUnreachable) << words[0];
        EXPECT_THAT(err.str(), HasSubstr("millrace up"));
        EXPECT_EQ(out.str(), "");
    }
}

TEST_F(CommandsTest, HostComesFromTheOptionThenTheEnvironment) {
    environment["MILLRACE_HOST"] = "node-7:7070";
    run({"ls"});
    EXPECT_EQ(connectedTo, "node-7:7070");
    run({"ls", "--host", "unix:/tmp/x.sock"});
    EXPECT_EQ(connectedTo, "unix:/tmp/x.sock");
    EXPECT_EQ(run({"ls", "--host", "nonsense:"}), kExitUsage);
    EXPECT_THAT(err.str(), HasSubstr("unix:PATH or ssh://HOST"));
    EXPECT_EQ(run({"ls", "--host", "nonsense"}), kExitUsage);
    EXPECT_THAT(err.str(), HasSubstr("no host is named 'nonsense'"));
}

TEST_F(CommandsTest, ShowTellsWhatTheVariationChangesAndWhatBecameOfTheRows) {
    EXPECT_EQ(run({"show", "r-def45"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("recipe.negatives.keep  1.0           0.3"));
    EXPECT_THAT(out.str(), HasSubstr("after filter"));
    EXPECT_THAT(out.str(), HasSubstr("    false               30\n"));
    EXPECT_THAT(out.str(), HasSubstr("    null                 9\n"));
    EXPECT_THAT(out.str(), HasSubstr("unknown ids      genres  2,014 of 161,122 (1.2 %); in the "
                                     "evaluation 800 of 16,000 (5.0 %)\n"));
    EXPECT_THAT(out.str(), HasSubstr("             userId  0 of 80,561 (0 %)\n"));
    EXPECT_THAT(out.str(), HasSubstr("no label         liked  1,200 null, 3 NaN (masked)\n"));
    EXPECT_THAT(out.str(), HasSubstr("98 segments, 1 h 30 m of CPU, 2.0 GB of frames\n"
                                     "  network          300 MB\n"
                                     "  codecs           columns by codec: none 2, zstd:-5 1\n"));
    EXPECT_THAT(out.str(), HasSubstr("80,561"));
    EXPECT_THAT(out.str(), HasSubstr("0123456789abcdef"));
    EXPECT_THAT(out.str(), Not(HasSubstr("batch.seed")));
}

TEST_F(CommandsTest, ShowJsonCarriesSpecReceiptAndCheckpoints) {
    EXPECT_EQ(run({"show", "r-abc23", "--json"}), kExitOk);
    const Json document = json(), one = document["run"];
    EXPECT_EQ(one["spec"]["name"], "movielens-dlrm");
    EXPECT_EQ(one["receipt"]["order_hash"], "0123456789abcdef");
    EXPECT_EQ(one["receipt"]["rows_kept"], 80'561);
    const Json reasons = {{{"name", "false"}, {"rows", 30}}, {{"name", "null"}, {"rows", 9}}};
    EXPECT_EQ(one["receipt"]["steps"][0]["reasons"], reasons);
    EXPECT_EQ(one["receipt"]["steps"][1]["reasons"], Json::array());
    const Json genres = {{"feature", "genres"},
                         {"ids", 161'122},
                         {"unknown", 2'014},
                         {"eval_ids", 16'000},
                         {"eval_unknown", 800}};
    EXPECT_EQ(one["receipt"]["vocabularies"][0], genres);
    EXPECT_EQ(one["receipt"]["vocabularies"][1]["eval_ids"], nullptr);
    const Json liked = {{"head", "liked"}, {"null", 1'200}, {"nan", 3}};
    EXPECT_EQ(one["receipt"]["labels"], Json::array({liked}));
    const Json codec = {{"column", "genres"}, {"codec", "zstd:-5"}};
    EXPECT_EQ(one["receipt"]["data_workers"]["codecs"][2], codec);
    EXPECT_EQ(one["checkpoints"][0]["hash"], "beef");
    EXPECT_EQ(one["params"]["batch.seed"], "7");
    EXPECT_EQ(one["git"], nullptr);
}

// The daemon keeps no best values, so `ls` reads them from the series.
TEST_F(CommandsTest, LsShowsTheBestValueBesideTheLastWithTheirSteps) {
    EXPECT_EQ(run({"ls", "--columns", "id,auc,best_auc"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("r-abc23  0.7934 @390  0.7951 @300"));
    EXPECT_EQ(run({"ls", "--json"}), kExitOk);
    EXPECT_EQ(json()["runs"][0]["best"]["eval.auc"], (Json{{"value", 0.7951}, {"step", 300}}));
    EXPECT_EQ(run({"show", "r-abc23"}), kExitOk);
    EXPECT_THAT(out.str(), ::testing::ContainsRegex("eval.auc +0.7934 +390 +0.7951 @300"));
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--metric", "eval.auc"}), kExitOk);
    EXPECT_THAT(out.str(),
                ::testing::ContainsRegex("eval.auc \\(best\\) +0.7951 @300 +0.7951 @300"));
    EXPECT_TRUE(fake.ranges.empty()) << "no series is read";
}

TEST_F(CommandsTest, ARunThatStandsStillSaysSoInLsAndShow) {
    values::RunSummary& summary = fake.runs[0].summary;
    summary.state = RunState::kRunning;
    summary.exitReason.clear();
    summary.trouble = "rank0 stands still after step 240: its process is stopped (SIGSTOP)";
    summary.standsSinceMs = summary.createdMs + 60'000;
    EXPECT_EQ(run({"ls", "--columns", "id,state,reason"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("r-abc23  stalled   rank0 stands still after step 240: its"));
    EXPECT_EQ(run({"show", "r-abc23"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("trouble          rank0 stands still after step 240"));
    EXPECT_THAT(out.str(), HasSubstr("stalled          since "));
    EXPECT_EQ(run({"ls", "--json"}), kExitOk);
    const Json one = json()["runs"][0];
    EXPECT_EQ(one["state"], "running");
    EXPECT_EQ(one["trouble"], summary.trouble);
    EXPECT_EQ(one["stalled_since"], "2023-11-14T22:14:20.000Z");
    EXPECT_EQ(json()["runs"][1]["trouble"], nullptr);
    EXPECT_EQ(json()["runs"][1]["stalled_since"], nullptr);
}

TEST_F(CommandsTest, AFailedCheckpointStandsInLsOfARunThatGoesOn) {
    values::RunSummary& summary = fake.runs[0].summary;
    summary.state = RunState::kRunning;
    summary.trouble = "rank0: the checkpoint of step 40 was not written: disk full";
    EXPECT_EQ(run({"ls", "--columns", "id,state,reason"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(),
                HasSubstr("r-abc23  running   rank0: the checkpoint of step 40 was not"));
}

TEST_F(CommandsTest, MetricsRefusesFewerPointsThanItKeepsAndSaysWhatItLeftOut) {
    EXPECT_EQ(run({"metrics", "r-abc23", "--points", "3"}), kExitUsage);
    EXPECT_THAT(err.str(), HasSubstr("--points: at least 4"));
    fake.onMetricRange = [](const values::MetricRangeRequest&) -> Result<values::MetricHistory> {
        values::MetricSeries series;
        series.key = "loss";
        series.points = {pointAt(1, 0.9), pointAt(50, 0.2), pointAt(99, 0.7), pointAt(100, 0.5)};
        series.numPoints = 100;
        series.isDecimated = true;
        return values::MetricHistory{"", {series}, {}};
    };
    EXPECT_EQ(run({"metrics", "r-abc23", "--points", "4"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("100 points, 4 shown: the least and greatest of neighbours"));
}

TEST_F(CommandsTest, ARunThatHasEndedHasTheMeanOfItsSteps) {
    EXPECT_EQ(run({"ls", "--columns", "id,rate"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("50,000"));
    EXPECT_THAT(out.str(), Not(HasSubstr("42,100"))) << "its last window";
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--metric", "samples_per_second"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("50,000"));
    EXPECT_EQ(run({"show", "r-abc23"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("50,000, the mean of its steps"));
    EXPECT_EQ(run({"ls", "--json"}), kExitOk);
    EXPECT_EQ(json()["runs"][0]["mean_samples_per_second"], 50'000);
    for (values::RunDetail& one : fake.runs) {
        one.summary.meanRate.reset();
    }
    EXPECT_EQ(run({"ls", "--columns", "id,rate"}), kExitOk);
    EXPECT_THAT(out.str(), Not(HasSubstr("42,100"))) << "a rate that is not known is none";
}

TEST_F(CommandsTest, TheRateOfARunThatGoesOnSaysHowOldItIs) {
    values::RunSummary& going = fake.runs[0].summary;
    going.state = RunState::kRunning;
    going.endedMs = 0;
    for (values::RunFigure& point : going.latestMetrics) {
        point.timeMs = clock.wallMs() - 123'000;
    }
    EXPECT_EQ(run({"ls", "--columns", "id,rate"}), kExitOk);
    EXPECT_THAT(out.str(), ::testing::ContainsRegex("42,100, 2 m 0[3-9] s old"));
    EXPECT_EQ(run({"show", "r-abc23"}), kExitOk);
    EXPECT_THAT(out.str(), ::testing::ContainsRegex("42,100, 2 m 0[3-9] s old"));
    for (values::RunFigure& point : going.latestMetrics) {
        point.timeMs = clock.wallMs() - 1'000;
    }
    EXPECT_EQ(run({"ls", "--columns", "id,rate"}), kExitOk);
    EXPECT_THAT(out.str(), Not(HasSubstr("old")));
}

TEST_F(CommandsTest, TheBestOfThousandsOfRunsIsListedWithoutReadingOne) {
    for (int i = 0; i < 300; ++i) {
        fake.runs.push_back(aDetail(aRun(strCat("r-", 10'000 + i))));
    }
    EXPECT_EQ(run({"ls", "--limit", "1000", "--columns", "id,best_auc"}), kExitOk);
    const std::string text = out.str();
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find("0.7951 @300", at)) != std::string::npos; ++at) {
        ++count;
    }
    EXPECT_EQ(count, fake.runs.size());
    EXPECT_TRUE(fake.ranges.empty()) << "no series is read";
}

TEST_F(CommandsTest, AFigureOfARunWithOneHeadStandsOnce) {
    for (values::RunDetail& one : fake.runs) {
        one.summary.latestMetrics.insert(one.summary.latestMetrics.begin(),
                                         {"eval.liked.auc", 0.7934, 390, 0, 1});
    }
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("eval.auc"));
    EXPECT_THAT(out.str(), Not(HasSubstr("eval.liked.auc")));
}

TEST_F(CommandsTest, StopWaitReturnsWhenTheRunsHaveEnded) {
    fake.runs[0].summary.state = RunState::kCancelled;
    fake.runScripts = {{{values::RunUpdate{fake.runs[0].summary, false, false}}}};
    EXPECT_EQ(run({"stop", "r-abc23", "--wait", "--json"}), kExitOk) << err.str();
    EXPECT_EQ(json()["runs"][0]["state"], "cancelled");
}

TEST_F(CommandsTest, MetricsPrintTheSeries) {
    fake.history.series = {{"loss", {pointAt(1, 0.7), pointAt(2, 0.6), pointAt(3, 0.5)}, 3}};
    EXPECT_EQ(run({"metrics", "r-abc23", "--name", "loss", "--json"}), kExitOk);
    const Json document = json();
    EXPECT_EQ(document["series"][0]["points"][2]["value"], 0.5);
    EXPECT_EQ(fake.ranges.back().maxPoints, 2000);
    EXPECT_EQ(run({"metrics", "r-abc23", "--name", "los"}), kExitFailed);
    EXPECT_THAT(err.str(), HasSubstr("did you mean 'loss'?"));
}

TEST_F(CommandsTest, WatchJsonIsOneObjectALineAndEndsWithTheEnd) {
    const values::RunSummary going = aRun("r-abc23", "", RunState::kRunning);
    fake.submitReply.runs = {aRun("r-abc23", "", RunState::kQueued)};
    fake.runScripts = {{{values::RunUpdate{going, false, false},
                         values::RunUpdate{aRun("r-abc23"), false, false}}}};
    fake.metricScripts = {{{client::chunkOf({{"loss", 0.5, 1, 5, 0}}, true)}}};
    EXPECT_EQ(run({"run", spec(), "--watch", "--json"}), kExitOk) << err.str();
    const std::vector<Json> lines = jsonLines();
    std::set<std::string> types;
    for (const Json& line : lines) {
        types.insert(line["type"].get<std::string>());
        EXPECT_EQ(line["schema_version"], 1);
    }
    EXPECT_EQ(lines.front()["type"], "submitted");
    EXPECT_TRUE(types.contains("state") && types.contains("progress") && types.contains("metrics"));
    const Json& end = lines.back();
    EXPECT_EQ(end["type"], "end");
    EXPECT_EQ(end["ok"], true);
    EXPECT_EQ(end["runs"][0]["receipt"]["order_hash"], "0123456789abcdef");
    EXPECT_EQ(end["runs"][0]["checkpoint"]["hash"], "beef");
    EXPECT_EQ(end["runs"][0]["metrics"]["loss"], 0.5123);
}

TEST_F(CommandsTest, WaitTellsFailedAndCancelledApart) {
    for (const auto& [state, code] : {std::pair{RunState::kFinished, kExitOk},
                                      {RunState::kFailed, kExitRunFailed},
                                      {RunState::kCancelled, kExitCancelled}}) {
        fake.runs[0].summary.state = state;
        fake.runs[0].summary.exitReason = "rank0 ended by SIGKILL";
        fake.runScripts = {{{values::RunUpdate{fake.runs[0].summary, false, false}}}};
        EXPECT_EQ(run({"wait", "r-abc23"}), code);
    }
    EXPECT_THAT(out.str(), HasSubstr("cancelled: rank0 ended by SIGKILL"));
}

TEST_F(CommandsTest, WaitJsonIsOneDocument) {
    fake.runScripts = {{{values::RunUpdate{aRun("r-abc23"), false, false}}}};
    EXPECT_EQ(run({"wait", "r-abc23", "--json"}), kExitOk);
    EXPECT_EQ(json()["runs"][0]["state"], "finished");
}

TEST_F(CommandsTest, PlainWatchPrintsStatesEvaluationsAndTheResult) {
    fake.submitReply.runs = {aRun("r-abc23", "", RunState::kQueued)};
    fake.runScripts = {{{values::RunUpdate{aRun("r-abc23", "", RunState::kRunning), false, false},
                         values::RunUpdate{aRun("r-abc23"), false, false}}}};
    fake.metricScripts = {{{client::chunkOf({{"eval.auc", 0.79, 100, 5, 0}}, true)}}};
    EXPECT_EQ(run({"run", spec(), "--watch", "--plain"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("running"));
    EXPECT_THAT(out.str(), HasSubstr("finished"));
    EXPECT_THAT(out.str(), HasSubstr("AUC"));
    EXPECT_THAT(out.str(), HasSubstr("241,683"));
}

TEST_F(CommandsTest, TheTimesOfAListAreShownAsTimes) {
    const Json times = {{"min", 874'724'710e6}, {"max", 893'286'638e6}};
    const Json column = {{"name", "at"}, {"type", "timestamp[]"}, {"profile", times}};
    CliContext context = makeContext();
    printProfile(context, {{"columns", Json::array({column})}});
    EXPECT_THAT(out.str(), HasSubstr("1997-09-20 03:05:10"));
    EXPECT_THAT(out.str(), HasSubstr("1998-04-22 23:10:38"));
}

TEST_F(CommandsTest, TopOncePrintsAPictureAndJsonItsFigures) {
    values::NodeInfo node;
    node.name = "node-a";
    node.cores = 2;
    fake.nodeInfos = {node};
    values::NodeSample sample;
    sample.node = "node-a";
    sample.cpuPercent = 43;
    fake.sampleScripts = {{{sample}, true}, {{sample}, true}};
    fake.runScripts = {{{values::RunUpdate{aRun("r-abc23"), false, false}}, true},
                       {{values::RunUpdate{aRun("r-abc23"), false, false}}, true}};
    EXPECT_EQ(run({"top", "--once"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("node-a"));
    EXPECT_THAT(out.str(), HasSubstr("no GPU"));
    EXPECT_EQ(run({"top", "--json"}), kExitOk);
    const Json document = json();
    EXPECT_EQ(document["nodes"][0]["sample"]["cpu_percent"], 43.0);
    EXPECT_EQ(document["nodes"][0]["sample"]["memory_used_bytes"], nullptr);
    EXPECT_EQ(document["runs"][0]["id"], "r-abc23");
}

TEST_F(CommandsTest, UpIsContentWithADaemonThatRunsAlready) {
    EXPECT_EQ(run({"up"}), kExitOk);
    EXPECT_THAT(out.str(),
                HasSubstr("already running: millraced 0.1.0 at unix:/fake.sock (pid 42"));
    EXPECT_EQ(run({"down"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("stopped: 2 runs, 4 workers ended"));
    EXPECT_EQ(run({"down"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("no daemon was running"));
}

TEST_F(CommandsTest, AnInterruptEndsTheLoaderThatIsAsked) {
    // Prints its process id and never answers.
    std::ofstream(directory_ / "millrace-loader")
        << "#!/bin/sh\necho $$ > '" << directory_ / "pid" << "'\nexec tail -f /dev/null\n";
    std::filesystem::permissions(directory_ / "millrace-loader", std::filesystem::perms::owner_all);
    programs = directory_.path();
    int pid = 0;
    std::jthread user([&] {
        (void)millrace::test::eventually(
            [&] { return static_cast<bool>(std::ifstream(directory_ / "pid") >> pid); });
        interrupts = 1;
    });
    EXPECT_EQ(run({"check", spec()}), kExitCancelled);
    user.join();
    EXPECT_THAT(err.str(), HasSubstr("interrupted"));
    ASSERT_GT(pid, 0);
    EXPECT_EQ(::kill(pid, 0), -1) << "the loader goes on";
}

TEST_F(CommandsTest, AnInvitationReplacesAFileOnlyWhenForced) {
    const std::string file = directory_ / "cpu-1.join", link = directory_ / "link";
    const auto invite = [&](const std::string& path, const std::vector<std::string>& more = {}) {
        std::vector<std::string> words = {"nodes", "invite", "cpu-1", "-o", path};
        words.insert(words.end(), more.begin(), more.end());
        return run(words);
    };
    std::filesystem::create_symlink(file, link);
    EXPECT_EQ(invite(link), kExitFailed) << "it would make the file behind the link";
    EXPECT_EQ(invite(file), kExitOk) << err.str();
    for (const std::string& path : {file, link}) {
        EXPECT_EQ(invite(path), kExitFailed);
        EXPECT_THAT(err.str(), HasSubstr(path + ": exists; --force replaces it"));
    }
    EXPECT_EQ(invite(file, {"--force"}), kExitOk) << err.str();
}

TEST_F(CommandsTest, NodesThatCannotBeUnderstoodAreAUsageError) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"nodes", "drain"},
                                               {"nodes", "frob", "node1"},
                                               {"nodes", "invite"},
                                               {"nodes", "invite", "node1", "node2"}}) {
        EXPECT_EQ(run(words), kExitUsage);
        EXPECT_THAT(err.str(), HasSubstr("write 'nodes invite NODE'"));
    }
}

TEST_F(CommandsTest, DownSaysWhatHasNotEnded) {
    fake.runsLeft = 1;
    EXPECT_EQ(run({"down"}), kExitFailed);
    EXPECT_THAT(out.str(), HasSubstr("stopped: 1 run, "));
    EXPECT_THAT(err.str(), HasSubstr("1 run did not end in time"));
}

TEST_F(CommandsTest, DoctorSaysWhatIsWrongAndEndsWithIt) {
    EXPECT_EQ(run({"doctor"}), kExitOk) << err.str();
    EXPECT_THAT(out.str(), HasSubstr("sound: /state/runs.sqlite (3 runs, 4.1 kB)"));
    EXPECT_FALSE(fake.isWholeChecked);
    fake.storeCheck.damage = {"row 3 missing from index run_by_name"};
    EXPECT_EQ(run({"doctor", "--whole"}), kExitFailed);
    EXPECT_TRUE(fake.isWholeChecked);
    EXPECT_THAT(out.str(), HasSubstr("damage: row 3 missing from index run_by_name\n"));
    EXPECT_THAT(out.str(), HasSubstr("damaged: /state/runs.sqlite: restore it from a copy"));
    fake.storeCheck.damage.clear();
    fake.warnings = {"disk full"};
    EXPECT_EQ(run({"doctor", "--json"}), kExitFailed);
    EXPECT_EQ(json()["ok"], false);
    EXPECT_EQ(json()["warnings"], Json::array({"disk full"}));
    EXPECT_EQ(json()["store"]["damage"], Json::array());
    fake.reachable = unavailable("no daemon");
    EXPECT_EQ(run({"doctor"}), kExitUnreachable);
}

TEST_F(CommandsTest, AReceiptOfManyFilesSaysHowManyAndIsPrintedWholeOnRequest) {
    fake.runs[0].receipt->filesTotal = 50'000;
    const std::string id = fake.runs[0].summary.id;
    EXPECT_EQ(run({"show", id}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("and 49999 more"));
    EXPECT_EQ(run({"show", id, "--json"}), kExitOk);
    EXPECT_EQ(json()["run"]["receipt"]["files_total"], 50'000);
    EXPECT_EQ(run({"show", id, "--receipt"}), kExitFailed);
    EXPECT_THAT(err.str(), HasSubstr("has no receipt: it is made at a run's end"));
    fake.wholeReceipt = R"({"files":[]})";
    fake.plan = R"({"files":[1]})";
    EXPECT_EQ(run({"show", id, "--receipt"}), kExitOk);
    EXPECT_EQ(out.str(), fake.wholeReceipt + "\n");
    EXPECT_EQ(run({"show", id, "--plan"}), kExitOk);
    EXPECT_EQ(out.str(), fake.plan + "\n");
}

TEST_F(CommandsTest, RowsThatWerePrunedAreNotAmongThoseThatWereRead) {
    values::Receipt& receipt = *fake.runs[0].receipt;
    receipt.rowsScanned = 1'000;
    receipt.rowsPruned = 900;
    EXPECT_EQ(run({"show", "r-abc23"}), kExitOk);
    EXPECT_THAT(out.str(), ::testing::ContainsRegex("scanned +1,000 +100 %"));
    EXPECT_THAT(out.str(), ::testing::ContainsRegex("  pruned +900"));
    EXPECT_THAT(out.str(), ::testing::ContainsRegex("read +100 +10 %"));
}

TEST_F(CommandsTest, AReceiptThatEndsInsideASegmentSaysWhatItsRowsAreOf) {
    values::Receipt& receipt = *fake.runs[0].receipt;
    receipt.rowsScanned = 1'000;
    receipt.rowsTrained = 51'200;
    receipt.endsInsideSegment = true;
    receipt.sideTables = {{"movies.csv", "", 9, 1'682}, {"Europe/Berlin", "", 9, -1}};
    const std::string id = fake.runs[0].summary.id, other = fake.runs[1].summary.id;
    EXPECT_EQ(run({"show", id}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("whole segments without the last one"));
    EXPECT_THAT(out.str(), Not(HasSubstr("5120 %"))) << "they are not a part of the rows read";
    EXPECT_THAT(out.str(), HasSubstr("movies.csv  1,682 rows  9 B"));
    EXPECT_THAT(out.str(), HasSubstr("Europe/Berlin  9 B"));
    receipt.isOpenSegmentCounted = true;
    EXPECT_EQ(run({"show", id, "--json"}), kExitOk);
    const Json told = json()["run"]["receipt"];
    EXPECT_EQ(told["ends_inside_segment"], true);
    EXPECT_EQ(told["open_segment_counted"], true);
    EXPECT_EQ(told["side_tables"][0]["rows"], 1'682);
    EXPECT_EQ(told["side_tables"][1]["rows"], Json());
    EXPECT_EQ(run({"compare", id, other}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr(id + ": rows read, kept and by step are of whole segments, "
                                          "also of the last one"));
    EXPECT_EQ(run({"compare", id, other, "--json"}), kExitOk);
    EXPECT_EQ(json()["ends_inside_segment"][id], true);
}

TEST_F(CommandsTest, AMissingProgramIsNamed) {
    EXPECT_EQ(run({"check", spec()}), kExitFailed);
    EXPECT_THAT(err.str(), HasSubstr("/no/programs/here/millrace-loader"));
    EXPECT_EQ(run({"stream", spec()}), kExitFailed);
    fake.reachable = unavailable("no daemon");
    EXPECT_EQ(run({"up"}), kExitFailed);
    EXPECT_THAT(err.str(), HasSubstr("/no/programs/here/millraced"));
}

TEST_F(CommandsTest, VersionAndHelpNeedNoDaemon) {
    fake.reachable = unavailable("no daemon");
    EXPECT_EQ(run({"version", "--json"}), kExitOk);
    EXPECT_EQ(json()["version"], kVersion);
    EXPECT_TRUE(json().contains("build"));
    EXPECT_EQ(run({"help", "run"}), kExitOk);
    EXPECT_THAT(out.str(), HasSubstr("Usage: millrace run SPEC"));
    EXPECT_EQ(run({"help", "nothing"}), kExitUsage);
    EXPECT_EQ(run({"nothing"}), kExitUsage);
}

}  // namespace
}  // namespace millrace::cli

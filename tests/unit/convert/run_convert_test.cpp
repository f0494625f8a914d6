#include "proto/convert/run_convert.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "proto/convert/metric_convert.h"

namespace millrace::convert {
namespace {

RunView someRun() {
    RunView run;
    runs::RunRecord& r = run.record;
    r.id = "r-abc23";
    r.uid = "0190aaaabbbbccccddddeeeeffff0000";
    r.name = "movielens-dlrm";
    r.owner = "ann";
    r.project = "films";
    r.note = "first try";
    r.tags = {{"team", "x"}, {"empty", ""}};
    r.variation = "keep-30";
    r.baseRunId = "r-base2";
    r.parentRunId = "r-par22";
    r.specHash = "s";
    r.streamHash = "t";
    r.planHash = "p";
    r.submitKey = "k#keep-30";
    r.state = runs::RunState::kFailed;
    r.exitReason = "rank0 ended by SIGKILL";
    r.createdMs = 1;
    r.startedMs = 2;
    r.endedMs = 3;
    r.attempt = 4;
    r.restarts = 3;
    r.gitCommit = "c0ffee";
    r.isGitDirty = true;
    r.host = "node1";
    r.params = {{"batch.rows", "1024"}};
    r.latestMetrics = {{"loss", {100, 1, 102400, 7, 0.25, 2}}};
    r.bestMetrics = {{"eval.auc", {90, 0, 0, 0, 0.75, 1}}};
    r.meanRate = 41'203.5;
    r.seed = 0xffffffffffffffff;
    r.step = 100;
    r.stepsTotal = 300;
    r.epoch = 1;
    r.rowsTrained = 102400;
    r.phase = "evaluating";
    r.isDeleted = true;
    r.deletedMs = 5;
    r.change = 55;
    run.queuedReason = "behind 1 run";
    run.epochs = 3;
    run.busyMs = 12.5;
    run.stallMs = 0.5;
    run.progressMs = 9;
    run.model = "dlrm";
    run.dataset = "ratings.csv";
    run.rowsRead = 8;
    run.rowsKept = 7;
    run.orderHash = "aa";
    run.evalOrderHash = "bb";
    return run;
}

TEST(RunConvert, ARunComesBackAsItWent) {
    const RunView sent = someRun();
    const RunView back = fromProto(toProto(sent));
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(toProto(back), toProto(sent)));
    EXPECT_EQ(back.record.latestMetrics, sent.record.latestMetrics);
    EXPECT_EQ(back.record.bestMetrics, sent.record.bestMetrics);
    EXPECT_EQ(back.record.meanRate, sent.record.meanRate);
    EXPECT_EQ(back.record.seed, sent.record.seed);
    EXPECT_EQ(back.record.phase, "evaluating");
    EXPECT_EQ(back.record.tags, sent.record.tags);
    EXPECT_EQ(back.record.state, runs::RunState::kFailed);
    EXPECT_EQ(back.queuedReason, sent.queuedReason);
    EXPECT_EQ(back.stallMs, sent.stallMs);
    EXPECT_TRUE(back.record.isDeleted);
}

TEST(RunConvert, EveryStateComesBack) {
    for (std::size_t i = 0; i < runs::kRunStateTexts.size(); ++i) {
        const auto state = static_cast<runs::RunState>(i);
        EXPECT_NE(toProto(state), v1::RUN_STATE_UNSPECIFIED);
        EXPECT_EQ(fromProto(toProto(state)), state);
        std::string name = v1::RunState_Name(toProto(state)).substr(10);
        std::transform(name.begin(), name.end(), name.begin(), ::tolower);
        EXPECT_EQ(name, runs::textOf(state));
    }
}

TEST(RunConvert, AStateOfANewerVersionIsNoCrash) {
    EXPECT_EQ(fromProto(static_cast<v1::RunState>(99)), runs::RunState::kQueued);
    EXPECT_EQ(fromProto(v1::RUN_STATE_UNSPECIFIED), runs::RunState::kQueued);
}

TEST(RunConvert, ARunWithoutBaseIsItsOwnGroup) {
    RunView run;
    run.record.id = "r-base2";
    EXPECT_EQ(toProto(run).group(), "r-base2");
    EXPECT_EQ(toProto(someRun()).group(), "r-base2");
}

TEST(RunConvert, ASeriesComesBackWithItsInfinities) {
    values::MetricSeries series;
    series.key = "loss";
    series.numPoints = 1000;
    series.isDecimated = true;
    series.points = {{1, 0, 10, 5, std::numeric_limits<double>::infinity(), 1},
                     {2, 1, 20, 6, -0.0, 2}};
    const values::MetricSeries back = fromProto(toProto(series));
    EXPECT_EQ(back.key, series.key);
    EXPECT_EQ(back.points, series.points);
    EXPECT_EQ(back.numPoints, 1000);
    EXPECT_TRUE(back.isDecimated);
}

TEST(MetricConvert, ALineComesBackWithItsRanks) {
    values::MetricChunk chunk;
    chunk.names = {{7, "loss"}, {9, "input_stall_percent"}};
    chunk.cursor = {3, 41};
    chunk.replacesAfterStep = 0;
    chunk.isCaughtUp = true;
    values::MetricLine line{41, 5, 1, 320, 77, 3, values::kNoRank, {}};
    line.values = {{7, 0.5, std::nullopt}, {9, 12, values::RankSpread{3, 40, 2, 511, 512}}};
    chunk.lines = {line, line};
    chunk.lines[1].rank = 0;
    const values::MetricChunk back = fromProto(toProto(chunk));
    EXPECT_EQ(back.names, chunk.names);
    EXPECT_EQ(back.lines, chunk.lines);
    EXPECT_EQ(back.cursor, chunk.cursor);
    EXPECT_EQ(back.replacesAfterStep, chunk.replacesAfterStep) << "0 is all of it, not nothing";
    EXPECT_TRUE(back.isCaughtUp);
    EXPECT_FALSE(back.isEnd);
    EXPECT_FALSE(fromProto(toProto(values::MetricChunk{})).replacesAfterStep);
    values::MetricSeries series;
    series.key = "input_stall_percent";
    series.points.resize(2);
    series.points[1].ranks = values::RankSpread{3, 40, 2, 511, 512};
    EXPECT_EQ(fromProto(toProto(series)).points, series.points);
}

TEST(RunConvert, NanStaysNan) {
    const NamedPoint back = fromProto(toProto(NamedPoint{"loss", {1, 0, 0, 0, std::nan(""), 1}}));
    EXPECT_TRUE(std::isnan(back.point.value));
}

TEST(RunConvert, ColumnsOfUnequalLengthAreCut) {
    v1::MetricSeries series;
    series.add_steps(1);
    series.add_steps(2);
    series.add_values(0.5);
    const values::MetricSeries back = fromProto(series);
    ASSERT_EQ(back.points.size(), 1u);
    EXPECT_EQ(back.points[0].attempt, 1);
}

TEST(RunConvert, ACheckpointComesBack) {
    runs::CheckpointRecord sent;
    sent.attempt = 2;
    sent.step = 200;
    sent.epoch = 1;
    sent.name = "step-00000200.a2.ckpt";
    sent.bytes = 1'000'000'000'000;
    sent.hash = "h";
    sent.timeMs = 9;
    const runs::CheckpointRecord back = fromProto(toProto(sent));
    EXPECT_EQ(back.name, sent.name);
    EXPECT_EQ(back.bytes, sent.bytes);
    EXPECT_EQ(back.step, sent.step);
    EXPECT_EQ(back.attempt, sent.attempt);
}

TEST(RunConvert, ALogLineComesBack) {
    const LogLine sent{5, "rank0", "loss=0.4 \xc3\xa9", LogLevel::kWarn, true, 3};
    EXPECT_EQ(fromProto(toProto(sent)), sent);
}

TEST(RunConvert, AnErrorOfTheSpecComesBack) {
    spec::SpecError sent;
    sent.line = 7;
    sent.column = 3;
    sent.message = "unknown key 'recipee'; did you mean 'recipe'?";
    sent.path = "recipee";
    sent.code = "unknown_key";
    const v1::SpecError message = toProto(sent, "spec.yaml");
    EXPECT_EQ(message.file(), "spec.yaml");
    const spec::SpecError back = fromProto(message);
    EXPECT_EQ(back.line, 7);
    EXPECT_EQ(back.column, 3);
    EXPECT_EQ(back.message, sent.message);
    EXPECT_EQ(back.path, sent.path);
    EXPECT_EQ(back.code, sent.code);
}

TEST(RunConvert, AListRequestIsBounded) {
    v1::ListRunsRequest request;
    EXPECT_EQ(fromProto(request).pageSize, 100);
    EXPECT_EQ(fromProto(request).changedSince, -1);
    request.set_page_size(5'000'000);
    request.set_changes_since(7);
    request.set_view(v1::RUN_VIEW_DELETED);
    EXPECT_EQ(fromProto(request).pageSize, 1000);
    EXPECT_EQ(fromProto(request).changedSince, 7);
    EXPECT_EQ(fromProto(request).view, runs::RunQuery::View::kDeleted);
}

TEST(RunConvert, AQueryComesBack) {
    runs::RunQuery sent;
    sent.filter = "metrics.loss < 1";
    sent.orderBy = {"metrics.loss DESC"};
    sent.pageSize = 10;
    sent.pageToken = "t";
    sent.view = runs::RunQuery::View::kAll;
    sent.changedSince = 3;
    sent.withParams = true;
    const runs::RunQuery back = fromProto(toProto(sent));
    EXPECT_EQ(back.filter, sent.filter);
    EXPECT_EQ(back.orderBy, sent.orderBy);
    EXPECT_EQ(back.pageSize, 10);
    EXPECT_EQ(back.view, sent.view);
    EXPECT_EQ(back.changedSince, 3);
    EXPECT_TRUE(back.withParams);
}

}  // namespace
}  // namespace millrace::convert

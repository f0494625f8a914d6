// Values and messages carry the same fields, in both directions.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "proto/convert/daemon_convert.h"
#include "proto/convert/detail_convert.h"
#include "proto/convert/enum_convert.h"
#include "proto/convert/inspect_convert.h"
#include "proto/convert/log_convert.h"
#include "proto/convert/metric_convert.h"
#include "proto/convert/node_convert.h"
#include "proto/convert/run_convert.h"
#include "proto/convert/submit_convert.h"
#include "tests/unit/convert/whole_messages.h"

namespace millrace::convert {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// A member without a field, or a field without a member, makes the counts differ.
template <class Value, class Message>
void expectEqualCounts() {
    EXPECT_EQ(numMembers<Value>(), static_cast<std::size_t>(Message::descriptor()->field_count()))
        << Message::descriptor()->name() << ": a member without a field, or the other way round";
}

// A field that only one direction converts comes back empty, also in the messages inside.
template <class Value, class Message>
void expectWhole() {
    const Message sent = wholeMessage<Message>();
    const Value value = fromProto(sent);
    EXPECT_EQ(differenceOf(sent, toProto(value)), "") << Message::descriptor()->name();
    EXPECT_EQ(fromProto(toProto(value)), value) << Message::descriptor()->name();
    expectEqualCounts<Value, Message>();
}

TEST(Convert, RunsComeBackWithEveryField) {
    expectEqualCounts<values::Progress, v1::Progress>();
    expectEqualCounts<values::RunFigure, v1::Metric>();
    expectEqualCounts<values::RankNow, v1::RankNow>();
    expectWhole<values::RunSummary, v1::RunSummary>();
    expectWhole<values::RunUpdate, v1::RunUpdate>();
    expectWhole<values::ListRequest, v1::ListRunsRequest>();
    expectWhole<values::RunPage, v1::ListRunsResponse>();
    expectWhole<values::RemovedRun, v1::DeleteRunResponse>();
    expectWhole<values::FilterCheck, v1::ParseFilterResponse>();
}

TEST(Convert, TheDetailsOfARunComeBackWithEveryField) {
    expectEqualCounts<values::FileReceipt, v1::FileReceipt>();
    expectEqualCounts<values::StepReason, v1::StepReason>();
    expectEqualCounts<values::StepReceipt, v1::StepReceipt>();
    expectEqualCounts<values::VocabularyReceipt, v1::VocabularyReceipt>();
    expectEqualCounts<values::LabelReceipt, v1::LabelReceipt>();
    expectEqualCounts<values::Receipt, v1::Receipt>();
    expectEqualCounts<values::Checkpoint, v1::Checkpoint>();
    expectWhole<values::GitInfo, v1::GitInfo>();
    expectEqualCounts<values::WorkerInfo, v1::WorkerInfo>();
    expectEqualCounts<values::RunEvent, v1::RunEvent>();
    expectWhole<values::RunDetail, v1::GetRunResponse>();
}

TEST(Convert, SubmitsAndLogsComeBackWithEveryField) {
    expectWhole<values::SpecError, v1::SpecError>();
    expectWhole<values::SubmitRequest, v1::SubmitRequest>();
    expectWhole<values::SubmitReply, v1::SubmitResponse>();
    expectEqualCounts<values::LogLine, v1::LogLine>();
    expectWhole<values::LogsRequest, v1::LogsRequest>();
    expectWhole<values::MetricRangeRequest, v1::MetricRangeRequest>();
    expectWhole<values::MetricsRequest, v1::WatchMetricsRequest>();
    expectWhole<values::LogChunk, v1::LogChunk>();
}

TEST(Convert, NodesAndDaemonsComeBackWithEveryField) {
    expectEqualCounts<values::GpuInfo, v1::GpuInfo>();
    expectWhole<values::NodeInfo, v1::NodeInfo>();
    expectEqualCounts<values::GpuSample, v1::GpuSample>();
    expectEqualCounts<values::ProcessSample, v1::ProcessSample>();
    expectWhole<values::NodeSample, v1::NodeSample>();
    expectWhole<values::Handshake, v1::HandshakeResponse>();
    expectWhole<values::DaemonStatus, v1::DaemonStatusResponse>();
    expectWhole<values::DownReport, v1::DownResponse>();
    expectWhole<values::StoreCheck, v1::CheckStoreResponse>();
}

TEST(Convert, QuestionsComeBackWithEveryField) {
    expectEqualCounts<values::SpecSource, v1::SpecSource>();
    expectWhole<values::CheckRequest, v1::CheckSpecRequest>();
    expectWhole<values::DatasetRequest, v1::DescribeDatasetRequest>();
    expectWhole<values::StepsRequest, v1::SampleStepsRequest>();
    expectWhole<values::PreviewRequest, v1::PreviewSpecRequest>();
    expectWhole<values::PairRequest, v1::PairRunsRequest>();
}

template <class Message>
std::vector<std::string> unread() {
    return leftOut<Message>([](const Message& message) { return fromProto(message); });
}

TEST(Convert, AnswersAboutSpecsAreReadButForWhatOnlyTheCommandLineShows) {
    EXPECT_THAT(unread<v1::CheckSpecResponse>(), IsEmpty());
    EXPECT_THAT(unread<v1::DescribeDatasetResponse>(), IsEmpty());
    EXPECT_THAT(unread<v1::SampleStepsResponse>(), ElementsAre("stages.reasons"));
    EXPECT_THAT(unread<v1::PairRunsResponse>(), IsEmpty());
    EXPECT_THAT(
        unread<v1::PreviewSpecResponse>(),
        ElementsAre("name", "variation", "stream_hash", "plan_hash", "files", "rows_sampled",
                    "rows_kept.standard_error", "keep_share.standard_error", "steps",
                    "heads.labelled.standard_error", "heads.positives.standard_error",
                    "heads.positive_share.standard_error", "disk_bytes_per_epoch",
                    "delivered_bytes_per_epoch", "cpu_seconds_per_epoch", "wait_seconds_per_epoch",
                    "rows_per_second_per_core", "epoch_seconds.standard_error", "seconds"));
}

TEST(Convert, AForgottenFieldWouldBeFound) {
    // A conversion that reads only the id, as if somebody forgot to extend it.
    const auto poor = [](const v1::RunUpdate& message) {
        values::RunUpdate update;
        update.run = fromProto(message.run());
        return update;
    };
    EXPECT_THAT(leftOut<v1::RunUpdate>(poor), ElementsAre("is_removed", "is_snapshot_end"));
    const auto poorer = [](const v1::RunUpdate& message) {
        values::RunUpdate update;
        update.run.progress.step = message.run().progress().step();
        return update;
    };
    EXPECT_THAT(leftOut<v1::RunUpdate>(poorer),
                AllOf(Contains("run.progress.epoch"), Not(Contains("run.progress.step"))));
    v1::RunEvent more = wholeMessage<v1::RunEvent>(), less = more;
    less.clear_text();
    EXPECT_NE(differenceOf(more, less), "");
    struct Two {
        std::string a;
        std::optional<double> b;
    };
    EXPECT_EQ(numMembers<Two>(), 2U);
}

template <class Value, class Message>
void expectEveryEnumerator(const google::protobuf::EnumDescriptor& all, Value none) {
    for (int i = 0; i < all.value_count(); ++i) {
        const auto message = static_cast<Message>(all.value(i)->number());
        if (i == 0) {
            EXPECT_EQ(fromProto(message), none) << all.name();
        } else {
            EXPECT_EQ(toProto(fromProto(message)), message) << all.value(i)->name();
        }
    }
    EXPECT_EQ(fromProto(static_cast<Message>(99)), none) << "of a newer version";
}

TEST(Convert, EveryEnumeratorComesBackAndAnUnknownOneIsNoCrash) {
    expectEveryEnumerator<values::RunState, v1::RunState>(*v1::RunState_descriptor(),
                                                          values::RunState::kUnknown);
    expectEveryEnumerator<values::Phase, v1::Phase>(*v1::Phase_descriptor(),
                                                    values::Phase::kUnknown);
    expectEveryEnumerator<values::LogLevel, v1::LogLevel>(*v1::LogLevel_descriptor(),
                                                          values::LogLevel::kNone);
    expectEveryEnumerator<values::RunView, v1::RunView>(*v1::RunView_descriptor(),
                                                        values::RunView::kActive);
    for (const auto document : {values::LargeDocument::kPlan, values::LargeDocument::kReceipt}) {
        EXPECT_EQ(fromProto(toProto(document)), document);
    }
    EXPECT_FALSE(fromProto(v1::LARGE_DOCUMENT_UNSPECIFIED).has_value());
    EXPECT_FALSE(fromProto(static_cast<v1::LargeDocument>(99)).has_value());
}

TEST(Convert, AStateHasTheSameWordOnTheWireAndInTheStore) {
    for (int i = 1; i < v1::RunState_descriptor()->value_count(); ++i) {
        const auto state = static_cast<v1::RunState>(v1::RunState_descriptor()->value(i)->number());
        std::string word = v1::RunState_Name(state).substr(std::string("RUN_STATE_").size());
        std::transform(word.begin(), word.end(), word.begin(), ::tolower);
        EXPECT_EQ(values::nameOf(fromProto(state)), word);
        EXPECT_EQ(values::runStateOf(word), fromProto(state));
    }
}

TEST(Convert, WhatIsUnknownStaysUnknown) {
    values::NodeSample sample;
    sample.gpus.resize(1);
    EXPECT_EQ(fromProto(toProto(sample)), sample);
    sample.cpuPercent = 0.0;
    EXPECT_TRUE(fromProto(toProto(sample)).cpuPercent.has_value()) << "zero is known";
    EXPECT_FALSE(fromProto(toProto(values::RunDetail())).receipt.has_value());
    EXPECT_FALSE(fromProto(toProto(values::RunSummary())).meanRate.has_value());
}

TEST(Convert, PathsThatAreNoUtf8CanBeSent) {
    values::NodeInfo node;
    node.address = "unix:/caf\xe9/d.sock";
    node.stateDir = "/caf\xe9";
    const v1::NodeInfo message = toProto(node);
    v1::NodeInfo back;
    ASSERT_TRUE(back.ParseFromString(message.SerializeAsString())) << "as a client does";
    EXPECT_EQ(back.state_dir(), "/caf\xef\xbf\xbd");
}

/// A series on its way to a client and back, in a history.
values::MetricSeries sentBack(const values::MetricSeries& series) {
    return fromProto(toProto(values::MetricHistory{"r-abc23", {series}, {}})).series.at(0);
}

TEST(Convert, ASeriesComesBackWithItsInfinities) {
    values::MetricSeries series;
    series.key = "loss";
    series.numPoints = 1000;
    series.isDecimated = true;
    series.problem = "a chunk is damaged";
    series.points = {{1, 0, 10, 5, std::numeric_limits<double>::infinity(), 1},
                     {2, 1, 20, 6, -0.0, 2}};
    const values::MetricSeries back = sentBack(series);
    EXPECT_EQ(back.key, series.key);
    EXPECT_EQ(back.points, series.points);
    EXPECT_EQ(back.numPoints, 1000);
    EXPECT_TRUE(back.isDecimated);
    EXPECT_EQ(back.problem, series.problem);
    series.points[0].value = std::nan("");
    EXPECT_TRUE(std::isnan(sentBack(series).points[0].value));
}

TEST(Convert, AHistoryComesBackWithItsCursor) {
    values::MetricHistory history{"r-abc23", {{"loss", {{1, 0, 10, 5, 0.5, 1}}, 1}}, {3, 41}};
    const values::MetricHistory back = fromProto(toProto(history));
    EXPECT_EQ(back.runId, "r-abc23");
    ASSERT_EQ(back.series.size(), 1u);
    EXPECT_EQ(back.series[0].points, history.series[0].points);
    EXPECT_EQ(back.cursor, history.cursor);
    EXPECT_FALSE(toProto(values::MetricRangeRequest{}).has_rank()) << "the run's own";
}

TEST(Convert, ALineOfMetricsComesBackWithItsRanks) {
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
    EXPECT_EQ(sentBack(series).points, series.points);
}

TEST(Convert, ColumnsOfUnequalLengthAreCut) {
    v1::MetricRangeResponse history;
    v1::MetricSeries& series = *history.add_series();
    series.add_steps(1);
    series.add_steps(2);
    series.add_values(0.5);
    const values::MetricSeries back = fromProto(history).series.at(0);
    ASSERT_EQ(back.points.size(), 1u);
    EXPECT_EQ(back.points[0].attempt, 1);
}

}  // namespace
}  // namespace millrace::convert

#include "app/gui/models/live/node_model.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <cmath>

#include <gtest/gtest.h>

namespace millrace::gui {
namespace {

values::NodeSample sampleOf(const std::string& node, std::int64_t timeMs, double cpu) {
    values::NodeSample sample;
    sample.node = node;
    sample.timeMs = timeMs;
    sample.cpuPercent = cpu;
    return sample;
}

values::NodeInfo infoOf(const std::string& name) {
    values::NodeInfo info;
    info.name = name;
    info.memoryBytes = 1'000;
    return info;
}

struct NodeModelTest : testing::Test {
    NodeModel model;
    QAbstractItemModelTester tester{&model, QAbstractItemModelTester::FailureReportingMode::Fatal};
};

TEST_F(NodeModelTest, StandsByNameWhateverCameFirst) {
    model.addSample(sampleOf("b", 1'000, 10), 1'000);
    model.setNodes({infoOf("c"), infoOf("a"), infoOf("b")});
    ASSERT_EQ(model.numNodes(), 3);
    EXPECT_EQ(model.node(0).info.name, "a");
    EXPECT_EQ(model.node(1).info.name, "b");
    EXPECT_EQ(model.node(2).info.name, "c");
}

TEST_F(NodeModelTest, KeepsUnknownApartFromZero) {
    model.setNodes({infoOf("a")});
    EXPECT_FALSE(model.data(model.index(0), NodeModel::kCpuRole).isValid());
    values::NodeSample sample = sampleOf("a", 1'000, 0);
    sample.memoryUsedBytes = 0;
    model.addSample(sample, 1'000);
    EXPECT_EQ(model.data(model.index(0), NodeModel::kCpuRole).toDouble(), 0);
    EXPECT_EQ(model.data(model.index(0), NodeModel::kMemoryRole).toDouble(), 0);
    EXPECT_FALSE(model.data(model.index(0), NodeModel::kGpuRole).isValid());
}

TEST_F(NodeModelTest, SaysWhyThereIsNoGpu) {
    values::NodeInfo info = infoOf("a");
    info.gpuNote = "libnvidia-ml.so.1 is not installed";
    model.setNodes({info, infoOf("b")});
    EXPECT_EQ(model.node(0).gpuSentence(), "no GPU: libnvidia-ml.so.1 is not installed");
    EXPECT_EQ(model.node(1).gpuSentence(), "no GPU");
}

TEST_F(NodeModelTest, TellsAStaleNodeOnlyAfterSamplesStopped) {
    model.setNodes({infoOf("a"), infoOf("b")});
    model.addSample(sampleOf("a", 10'000, 1), 10'000);
    model.refresh(13'000);
    EXPECT_FALSE(model.data(model.index(0), NodeModel::kStaleRole).isValid());
    QSignalSpy changes(&model, &NodeModel::dataChanged);
    model.refresh(22'400);
    EXPECT_EQ(model.data(model.index(0), NodeModel::kStaleRole).toInt(), 12);
    EXPECT_FALSE(model.data(model.index(1), NodeModel::kStaleRole).isValid()) << "never sampled";
    EXPECT_EQ(changes.size(), 1);
    model.refresh(22'600);
    EXPECT_EQ(changes.size(), 1) << "the shown second is the same";
    model.addSample(sampleOf("a", 23'000, 1), 23'000);
    EXPECT_FALSE(model.data(model.index(0), NodeModel::kStaleRole).isValid());
}

TEST_F(NodeModelTest, TakesASampleOnlyOnce) {
    model.addSample(sampleOf("a", 1'000, 10), 1'000);
    model.addSample(sampleOf("a", 1'000, 99), 1'200);
    model.addSample(sampleOf("a", 900, 99), 1'300);
    EXPECT_EQ(*model.node(0).sample->cpuPercent, 10);
    EXPECT_EQ(model.node(0).cpuCurve->size(), 1U);
}

TEST_F(NodeModelTest, GoesOnWhereTheClockOfAMachineWasSetBack) {
    model.addSample(sampleOf("a", 100'000, 10), 100'000);
    values::NodeSample set = sampleOf("a", 20'000, 99);
    set.processes.push_back({"r-abc23", "rank0", 7, 97.0, 210'000'000});
    model.addSample(set, 101'000);
    EXPECT_EQ(*model.node(0).sample->cpuPercent, 99);
    EXPECT_EQ(model.node(0).workers().size(), 1U) << "not only after the clock has caught up";
}

TEST_F(NodeModelTest, PutsStoredHistoryBeforeTheFirstSample) {
    model.addSample(sampleOf("a", 5'000, 50), 5'000);
    std::vector<values::MetricPoint> points(4);
    const std::int64_t times[] = {1'000, 2'000, 5'000, 6'000};
    const double values[] = {10, 20, 99, 99};
    for (std::size_t i = 0; i < points.size(); ++i) {
        points[i].timeMs = times[i];
        points[i].value = values[i];
    }
    model.prependHistory("a", -1, points);
    const CurveStore& curve = *model.node(0).cpuCurve;
    ASSERT_EQ(curve.size(), 3U);
    EXPECT_EQ(curve.at(0).y, 10);
    EXPECT_EQ(curve.at(1).timeMs, 2'000);
    EXPECT_EQ(curve.at(2).y, 50) << "what was sampled live stays";
    model.addSample(sampleOf("a", 7'000, 70), 7'000);
    EXPECT_EQ(curve.size(), 4U);
}

TEST_F(NodeModelTest, ForgetsANodeThatIsNoLongerNamedAndNeverSampled) {
    model.setNodes({infoOf("a"), infoOf("b")});
    model.addSample(sampleOf("a", 1'000, 1), 1'000);
    model.setNodes({});
    ASSERT_EQ(model.numNodes(), 1);
    EXPECT_EQ(model.node(0).info.name, "a");
}

TEST(MinuteHistoryTest, HoldsAnUnevenBeatAndShowsASilence) {
    MinuteHistory history;
    for (std::int64_t time : {40'000, 41'300, 42'100, 43'900, 44'200}) {
        history.add(time, static_cast<double>(time));
    }
    history.add(58'000, 58'000);
    const auto values = history.at(60'000);
    EXPECT_EQ(values[59], 58'000);
    EXPECT_EQ(values[44], 44'200) << "at 45 s";
    EXPECT_EQ(values[43], 43'900);
    EXPECT_TRUE(std::isnan(values[50])) << "nothing came for long";
    EXPECT_TRUE(std::isnan(values[0]));
    for (int i = 39; i <= 45; ++i) {
        EXPECT_FALSE(std::isnan(values[static_cast<std::size_t>(i)])) << i;
    }
}

}  // namespace
}  // namespace millrace::gui

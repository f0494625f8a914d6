// The machine's metrics that the daemon stores beside a run.
#include "daemon/agent/system_metrics.h"

#include <unistd.h>

#include "daemon/agent/line_intake.h"
#include "daemon/agent/telemetry_service.h"
#include "tests/support/poll.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

class FakeSource final : public SystemSource {
 public:
    std::shared_ptr<void> record() override {
        auto handle = std::make_shared<int>(0);
        recording = handle;
        return handle;
    }
    NodeReport latest() const override { return report; }

    std::weak_ptr<int> recording;
    NodeReport report;
};

NodeReport reportAt(std::uint64_t number) {
    NodeReport report;
    report.number = number;
    report.sample.timeMs = 1'700'000'000'000 + static_cast<std::int64_t>(number);
    report.sample.cpuPercent = 50;
    report.sample.gpus.push_back({1, std::nullopt, 1 << 20});
    report.sample.processes.push_back({"r-one", "rank0", 7, 90.0, 4096});
    report.sample.processes.push_back({"r-two", "rank0", 8, 10.0, 8192});
    return report;
}

TEST(SystemMetrics, AFigureThatIsNotKnownIsAbsentAndOtherRunsWorkersAreNotNamed) {
    const auto [values, summaries] = systemValues(reportAt(1), "r-one");
    const std::vector<std::pair<std::string, double>> expected = {
        {"system.cpu_percent", 50},
        {"system.gpu1.memory_used_bytes", 1 << 20},
        {"system.rank.cpu_percent", 90},
        {"system.rank.memory_bytes", 4096}};
    EXPECT_EQ(values, expected);
    EXPECT_TRUE(summaries.empty()) << "one rank is not a crowd";
    for (const auto& [name, value] : values) {
        EXPECT_TRUE(values::isSystemMetric(name)) << name;
    }
}

TEST(SystemMetrics, WhatSeveralRanksTakeIsSummarized) {
    NodeReport report = reportAt(1);
    report.sample.processes.push_back({"r-one", "rank1", 9, 30.0, std::nullopt});
    report.sample.processes.push_back({"r-one", "feed", 10, 5.0, std::nullopt});
    const SystemValues measured = systemValues(report, "r-one");
    ASSERT_EQ(measured.summaries.size(), 1U);
    EXPECT_EQ(measured.summaries[0].first, "system.rank.cpu_percent");
    EXPECT_EQ(measured.summaries[0].second.ranks, (values::RankSpread{30, 90, 1, 0, 2}));
    const std::pair<std::string, double> memory("system.rank.memory_bytes", 4096);
    EXPECT_EQ(measured.values.back(), memory) << "one rank tells it";
}

TEST(SystemMetrics, AReportIsDueOnceAndNoMoreThanOneInTwoSeconds) {
    FakeSource source;
    source.report.number = 5;
    SystemRecorder recorder(&source);
    EXPECT_FALSE(recorder.due(true, 0)) << "taken before the run was there";
    source.report = reportAt(6);
    EXPECT_TRUE(recorder.due(true, 1));
    EXPECT_FALSE(recorder.due(true, 5'000'000'000)) << "the same again";
    source.report = reportAt(7);
    EXPECT_TRUE(recorder.due(true, 5'000'000'000));
    source.report = reportAt(8);
    EXPECT_FALSE(recorder.due(true, 6'000'000'000));
    EXPECT_TRUE(recorder.due(true, 7'000'000'001));
}

TEST(SystemMetrics, NothingIsSampledWhileNoRunIsActive) {
    FakeSource source;
    SystemRecorder recorder(&source);
    EXPECT_FALSE(recorder.due(false, 0));
    EXPECT_TRUE(source.recording.expired());
    (void)recorder.due(true, 1);
    EXPECT_FALSE(source.recording.expired());
    (void)recorder.due(false, 2);
    EXPECT_TRUE(source.recording.expired());
    EXPECT_FALSE(SystemRecorder(nullptr).due(true, 3));
}

TEST(Telemetry, AProcessThatIsStoppedIsMeasuredAndOneThatEndedIsNot) {
    LiveTable live;
    values::RunLive run;
    for (const char* state : {"running", "stopped", "hung", "ended"}) {
        run.workers.push_back({state, state, ::getpid(), 0, 1, ""});
    }
    live.set("r-1", run);
    const SystemClock clock;
    TelemetryService telemetry(clock, live, "/", "1", "here");
    const auto watch = telemetry.watch();
    ASSERT_TRUE(test::eventually([&] { return telemetry.latest().number > 0; }));
    std::vector<std::string> measured;
    for (const values::ProcessSample& process : telemetry.latest().sample.processes) {
        measured.push_back(process.worker);
    }
    EXPECT_EQ(measured, (std::vector<std::string>{"running", "stopped", "hung"}));
}

class OwnLinesTest : public AgentTest {
 protected:
    OwnLinesTest() : id(submit()), intake(*store, clock) {}

    runs::ReportedLine line(std::int64_t step, double value) const {
        return {0, step, 0, 0, step, {{"system.cpu_percent", value}}};
    }
    std::size_t numStored() const {
        return store->metrics(id, "system.cpu_percent")->points.size();
    }

    std::string id;
    LineIntake intake;
};

TEST_F(OwnLinesTest, AnOwnLineRidesWithTheRunsLinesAndWaitsForThem) {
    intake.addOwn(id, 1, {line(1, 10)});
    EXPECT_TRUE(intake.isEmpty()) << "alone it is not a reason to write";
    (void)intake.flush();
    EXPECT_EQ(numStored(), 0u);
    rank::Sender sender;
    sender.run = id;
    sender.role = "rank";
    sender.attempt = 1;
    rank::RankLine own;
    own.seq = 1;
    own.attempt = 1;
    own.body = rank::Metrics{1, 0, 1, 5, {{"loss", 0.5}}};
    ASSERT_TRUE(intake.add(1, sender, own));
    const IntakeReport report = intake.flush();
    EXPECT_EQ(report.acks.size(), 1u) << "an own line is nobody's to hear of";
    EXPECT_EQ(numStored(), 1u);
    intake.addOwn(id, 1, {line(2, 20)});
    intake.forget(id);
    EXPECT_EQ(numStored(), 2u) << "the run's end loses nothing";
}

TEST_F(OwnLinesTest, TheSecondOwnLineMakesTheFirstBeStored) {
    intake.addOwn(id, 1, {line(1, 10)});
    intake.addOwn(id, 1, {line(1, 20)});
    EXPECT_FALSE(intake.isEmpty());
    const IntakeReport report = intake.flush();
    EXPECT_TRUE(report.hasStored()) << "followers of the run are told";
    EXPECT_TRUE(intake.isEmpty());
    EXPECT_EQ(numStored(), 2u) << "two points at one step";
}

TEST_F(OwnLinesTest, ListsDetailsAndFollowersLeaveThemOutUnlessAsked) {
    hello(id);
    say(id, 1, rank::Metrics{1, 0, 1, 5, {{"loss", 0.5}}});
    MetricFollower own = service->followMetrics({id}).value();
    MetricFollower all = service->followMetrics({.run = id, .withSystem = true}).value();
    EXPECT_EQ(all.next(100)->lines.size(), 1u);
    for (int i = 0; i < 3; ++i) {
        intake.addOwn(id, 1, {line(1, i)});
        intake.addOwn(id, 1, {line(1, i + 0.5)});
        (void)intake.flush();
        EXPECT_EQ(all.next(100)->lines.size(), 2u) << "new points at the step of the last one";
    }
    EXPECT_EQ(own.next(100)->lines.size(), 1u);
    EXPECT_EQ(store->list({})->runs.at(0).latestMetrics.size(), 1u);
    runs::RunQuery query;
    query.withSystemMetrics = true;
    EXPECT_EQ(store->list(query)->runs.at(0).latestMetrics.size(), 2u);
    query.filter = "metrics.\"system.cpu_percent\" > 2";
    EXPECT_EQ(store->list(query)->total, 1);
    const values::RunDetail details = service->get(id).value();
    EXPECT_EQ(details.summary.latestMetrics.size(), 1u);
    EXPECT_EQ(details.metricNames.size(), 2u);
    EXPECT_EQ(service->metrics({id})->series.size(), 1u);
    EXPECT_EQ(service->metrics({.run = id, .withSystem = true})->series.size(), 2u);
}

}  // namespace
}  // namespace millrace::agent

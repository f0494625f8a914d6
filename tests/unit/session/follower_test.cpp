#include "app/session/follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/session/live_model.h"
#include "tests/unit/session/fake_client.h"

namespace millrace::session {
namespace {

using client::FakeClient;
using client::LogChunk;
using client::MetricChunk;
using client::MetricPoint;
using client::RunUpdate;
using testing::ElementsAre;

MetricPoint loss(std::int64_t step, double value = 0.5) {
    return {"loss", value, step, step * 1000, 0};
}

class FollowerTest : public testing::Test {
 protected:
    // All events until everything has ended (or nothing came for five seconds).
    std::vector<FollowEvent> followAll(FollowOptions options) {
        std::vector<FollowEvent> events;
        Follower follower(fake_, clock_, std::move(options));
        while (auto event = follower.next(std::chrono::seconds(5))) {
            const bool isEnd = std::holds_alternative<AllEnded>(*event);
            events.push_back(*std::move(event));
            if (isEnd) {
                break;
            }
        }
        return events;
    }
    static std::vector<std::int64_t> stepsOf(const std::vector<FollowEvent>& events,
                                             const std::string& name = "loss") {
        std::vector<std::int64_t> steps;
        for (const FollowEvent& event : events) {
            if (const auto* added = std::get_if<MetricsAdded>(&event)) {
                for (const MetricPoint& point : added->points) {
                    if (point.name == name) {
                        steps.push_back(point.step);
                    }
                }
            }
        }
        return steps;
    }
    static FollowOptions metricsOf(const std::string& run) {
        FollowOptions options;
        options.runIds = {run};
        options.withRuns = false;
        options.withMetrics = true;
        return options;
    }

    FakeClient fake_;
    SystemClock clock_;
};

TEST_F(FollowerTest, MetricsOfAnEndedRunArriveInOrderAndThenTheEnd) {
    fake_.metricScripts = {
        {{MetricChunk{{loss(1), loss(2)}, false, 0}, MetricChunk{{loss(3)}, true, 0}}}};
    const auto events = followAll(metricsOf("r-abc23"));
    EXPECT_THAT(stepsOf(events), ElementsAre(1, 2, 3));
    EXPECT_TRUE(std::holds_alternative<AllEnded>(events.back()));
}

TEST_F(FollowerTest, MetricsHaveNoHoleAndNoRepetitionAcrossALostConnection) {
    fake_.metricScripts = {
        {{MetricChunk{{loss(1), loss(2), loss(3)}, false, 0}}, false, unavailable("lost")},
        {{MetricChunk{{loss(1), loss(2), loss(3), loss(4)}, true, 0}}}};
    EXPECT_THAT(stepsOf(followAll(metricsOf("r-abc23"))), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(fake_.metricStarts(), ElementsAre(0, 0));
}

TEST_F(FollowerTest, AReconnectAsksFromTheLastStepWithAnOverlapForRareMetrics) {
    std::vector<MetricPoint> many;
    for (int step = 1; step <= 3000; ++step) {
        many.push_back(loss(step));
    }
    fake_.metricScripts = {{{MetricChunk{many, false, 0}}, false, unavailable("lost")},
                           {{MetricChunk{{{"eval.auc", 0.7, 2990, 0, 0}, loss(3001)}, true, 0}}}};
    const auto events = followAll(metricsOf("r-abc23"));
    EXPECT_THAT(fake_.metricStarts(), ElementsAre(0, 2000));
    EXPECT_THAT(stepsOf(events, "eval.auc"), ElementsAre(2990));
    EXPECT_EQ(stepsOf(events).size(), 3001U);
}

TEST_F(FollowerTest, ANewAttemptReplacesThePointsAfterItsCheckpoint) {
    fake_.metricScripts = {{{MetricChunk{{loss(1), loss(2), loss(3)}, false, 0},
                             MetricChunk{{loss(2, 0.4), loss(3, 0.3)}, true, 1}}}};
    LiveModel model;
    for (const FollowEvent& event : followAll(metricsOf("r-abc23"))) {
        model.apply(event, 0);
    }
    const auto& points = model.runs.at("r-abc23").series.at("loss").points();
    ASSERT_EQ(points.size(), 3U);
    EXPECT_EQ(points[1].second, 0.4);
    EXPECT_EQ(points[2].second, 0.3);
}

TEST_F(FollowerTest, ALostConnectionIsReportedAndMended) {
    fake_.metricScripts = {{{}, false, unavailable("no daemon answers")},
                           {{MetricChunk{{loss(1)}, true, 0}}}};
    std::vector<LinkState> states;
    for (const FollowEvent& event : followAll(metricsOf("r-abc23"))) {
        if (const auto* changed = std::get_if<LinkChanged>(&event)) {
            states.push_back(changed->link.state);
        }
    }
    EXPECT_THAT(states, ElementsAre(LinkState::kReconnecting, LinkState::kConnected));
}

TEST_F(FollowerTest, ANewerProtocolIsAProblemAndIsNotTriedAgain) {
    fake_.metricScripts = {{{}, false, failedPrecondition("the daemon speaks protocol 2")}};
    const auto events = followAll(metricsOf("r-abc23"));
    ASSERT_GE(events.size(), 2U);
    const auto* problem = std::get_if<Problem>(&events[events.size() - 2]);
    ASSERT_NE(problem, nullptr);
    EXPECT_EQ(messageOf(problem->status), "the daemon speaks protocol 2");
    EXPECT_EQ(fake_.metricStarts().size(), 1U);
}

TEST_F(FollowerTest, LogsGoOnBehindTheLastCursor) {
    const client::LogLine line{1, "rank0", "hello", false, 1};
    fake_.logScripts = {{{LogChunk{{line}, "c1", false, 0}}, false, unavailable("lost")},
                        {{LogChunk{{line}, "c2", true, 0}}}};
    FollowOptions options;
    options.runIds = {"r-abc23"};
    options.withRuns = false;
    options.withLogs = true;
    options.logTail = 100;
    followAll(options);
    const auto requests = fake_.logRequests();
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_EQ(requests[0].tailLines, 100);
    EXPECT_EQ(requests[1].cursor, "c1");
    EXPECT_EQ(requests[1].tailLines, 0);
}

TEST_F(FollowerTest, RunsThatHaveEndedEndTheFollowing) {
    fake_.runScripts = {
        {{RunUpdate{client::aRun("r-abc23"), false, false}, RunUpdate{{}, false, true}}}};
    FollowOptions options;
    options.runIds = {"r-abc23"};
    LiveModel model;
    for (const FollowEvent& event : followAll(options)) {
        model.apply(event, 0);
    }
    EXPECT_TRUE(model.hasEnded);
    ASSERT_EQ(model.runs.size(), 1U);
    EXPECT_EQ(model.runs.begin()->second.summary.state, client::RunState::kFinished);
}

TEST_F(FollowerTest, AFollowerThatIsNotReadEndsWithoutWaitingForItsStreams) {
    std::vector<MetricChunk> chunks(5000, MetricChunk{{}, false, 0});
    for (int i = 0; i < 5000; ++i) {
        chunks[static_cast<std::size_t>(i)].points = {loss(i + 1)};
    }
    fake_.metricScripts = {{chunks, true}};
    Follower follower(fake_, clock_, metricsOf("r-abc23"));
    EXPECT_TRUE(follower.next(std::chrono::seconds(5)).has_value());
}

TEST_F(FollowerTest, TelemetryNeitherHoldsUpTheEndNorFailsTheRuns) {
    FollowOptions options;
    options.runIds = {"r-abc23"};
    options.withTelemetry = true;
    fake_.runScripts = {{{client::RunUpdate{client::aRun("r-abc23"), false, false}}}};
    EXPECT_TRUE(std::holds_alternative<AllEnded>(followAll(options).back()));

    fake_.runScripts = {{{client::RunUpdate{client::aRun("r-abc23"), false, false}}}};
    fake_.sampleScripts = {{{}, false, Status(absl::StatusCode::kUnimplemented, "too old")}};
    for (const FollowEvent& event : followAll(options)) {
        EXPECT_FALSE(std::holds_alternative<Problem>(event));
    }
}

}  // namespace
}  // namespace millrace::session

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
using ::testing::ElementsAre;

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

TEST_F(FollowerTest, AFollowingFromAStepAsksForItAndResumesNoEarlier) {
    FollowOptions options = metricsOf("r-abc23");
    options.fromStep = 500;
    fake_.metricScripts = {
        {{MetricChunk{{loss(500), loss(501)}, false, 0}}, false, unavailable("lost")},
        {{MetricChunk{{loss(500), loss(501), loss(502)}, true, 0}}}};
    EXPECT_THAT(stepsOf(followAll(options)), ElementsAre(500, 501, 502));
    EXPECT_THAT(fake_.metricStarts(), ElementsAre(500, 500));
}

TEST_F(FollowerTest, AnAttemptThatBeganWhileTheConnectionWasLostIsReadFromTheStart) {
    const auto point = [](std::int64_t step, int attempt) {
        return MetricPoint{"loss", 0.5, step, 0, 0, 0, attempt};
    };
    const MetricChunk both{{point(1, 1), point(2, 2), point(3, 2)}, true, 0};
    fake_.metricScripts = {{{MetricChunk{{point(1, 1), point(2, 1), point(3, 1)}, false, 0}},
                            false,
                            unavailable("lost")},
                           {{both}},
                           {{both}}};
    LiveModel model;
    std::vector<int> attempts;
    for (const FollowEvent& event : followAll(metricsOf("r-abc23"))) {
        if (const auto* added = std::get_if<MetricsAdded>(&event)) {
            for (const MetricPoint& one : added->points) {
                attempts.push_back(one.attempt);
            }
        }
        if (const auto* replaced = std::get_if<MetricsReplaced>(&event)) {
            EXPECT_EQ(replaced->afterStep, -1);
            attempts.clear();
        }
    }
    EXPECT_THAT(attempts, ElementsAre(1, 2, 2));
}

TEST_F(FollowerTest, TheEndOfEachRunIsToldBeforeTheEndOfAll) {
    FollowOptions options = metricsOf("r-abc23");
    options.withLogs = true;
    fake_.metricScripts = {{{MetricChunk{{loss(1)}, true, 0}}}};
    fake_.logScripts = {{{LogChunk{{}, "", true, 0}}}};
    int numMetrics = 0, numLogs = 0;
    for (const FollowEvent& event : followAll(options)) {
        if (const auto* ended = std::get_if<StreamEnded>(&event)) {
            EXPECT_EQ(ended->runId, "r-abc23");
            (ended->isLog ? numLogs : numMetrics) += 1;
        }
    }
    EXPECT_EQ(numMetrics, 1);
    EXPECT_EQ(numLogs, 1);
}

TEST_F(FollowerTest, ASinkGetsTheEventsInTheirOrder) {
    fake_.metricScripts = {{{MetricChunk{{loss(1)}, false, 0}}, false, unavailable("lost")},
                           {{MetricChunk{{loss(1), loss(2)}, true, 0}}}};
    BoundedQueue<FollowEvent> seen(64);
    Follower follower(fake_, clock_, metricsOf("r-abc23"),
                      [&](FollowEvent event) { seen.push(std::move(event)); });
    std::vector<FollowEvent> events;
    while (events.empty() || !std::holds_alternative<AllEnded>(events.back())) {
        auto event = seen.popFor(std::chrono::seconds(5));
        ASSERT_TRUE(event.has_value());
        events.push_back(*std::move(event));
    }
    EXPECT_THAT(stepsOf(events), ElementsAre(1, 2));
    EXPECT_FALSE(follower.next(std::chrono::milliseconds(0)).has_value());
}

TEST_F(FollowerTest, ATryThatIsDueLaterIsMadeAtOnceWhenAskedTo) {
    FakeClock still;  // on which the pause before the next try never passes
    fake_.metricScripts = {{{}, false, unavailable("lost")}, {{MetricChunk{{loss(1)}, true, 0}}}};
    Follower follower(fake_, still, metricsOf("r-abc23"));
    const auto lost = follower.next(std::chrono::seconds(5));
    ASSERT_TRUE(lost.has_value());
    EXPECT_EQ(std::get<LinkChanged>(*lost).link.state, LinkState::kReconnecting);
    follower.retryNow();
    bool hasPoints = false;
    while (const auto event = follower.next(std::chrono::seconds(5))) {
        hasPoints = hasPoints || std::holds_alternative<MetricsAdded>(*event);
        if (std::holds_alternative<AllEnded>(*event)) {
            break;
        }
    }
    EXPECT_TRUE(hasPoints);
}

}  // namespace
}  // namespace millrace::session

#include "app/session/follower.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/session/live_model.h"
#include "tests/support/fake_client.h"
#include "tests/support/fake_clock.h"
#include "tests/support/metric_lines.h"
#include "tests/support/poll.h"

namespace millrace::session {
namespace {

using client::chunkOf;
using ::testing::ElementsAre;
using values::LogChunk;
using values::MetricChunk;
using values::RunFigure;
using values::RunUpdate;

RunFigure loss(std::int64_t step, double value = 0.5) {
    return {"loss", value, step, step * 1000, 0};
}

class FollowerTest : public testing::Test {
 protected:
    // All events until every stream has ended (or nothing came for five seconds).
    std::vector<FollowEvent> followAll(FollowOptions options) {
        std::vector<FollowEvent> events;
        Follower follower(client_, clock_, std::move(options));
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
                for (const RunFigure& point : pointsOf(*added)) {
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

    client::FakeAnswers fake_;
    client::FakeClient client_{fake_};
    SystemClock clock_;
};

TEST_F(FollowerTest, MetricsOfAnEndedRunArriveInOrderAndThenTheEnd) {
    fake_.metricScripts = {{{chunkOf({loss(1), loss(2)}), chunkOf({loss(3)}, true)}}};
    const auto events = followAll(metricsOf("r-abc23"));
    EXPECT_THAT(stepsOf(events), ElementsAre(1, 2, 3));
    EXPECT_TRUE(std::holds_alternative<AllEnded>(events.back()));
}

TEST_F(FollowerTest, AReconnectGoesOnBehindTheLastLineThatWasRead) {
    fake_.metricScripts = {
        {{chunkOf({loss(1), loss(2), loss(3)})}, false, unavailable("lost")},
        {{chunkOf({{"eval.auc", 0.7, 2, 0, 0}, loss(4)}, true, std::nullopt, 4)}}};
    const auto events = followAll(metricsOf("r-abc23"));
    EXPECT_THAT(stepsOf(events), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(stepsOf(events, "eval.auc"), ElementsAre(2)) << "late as it is";
    EXPECT_THAT(fake_.metricStarts(), ElementsAre(0, 3));
}

TEST_F(FollowerTest, NamesAreToldOnceAStreamAndKnownFromThenOn) {
    MetricChunk second = chunkOf({loss(2)}, true);
    second.names.clear();
    fake_.metricScripts = {{{chunkOf({loss(1)}), second}}};
    EXPECT_THAT(stepsOf(followAll(metricsOf("r-abc23"))), ElementsAre(1, 2));
}

TEST_F(FollowerTest, ThatAllIsReadIsToldOnceAlsoWithoutALine) {
    MetricChunk empty, more = chunkOf({loss(1)});
    empty.isCaughtUp = more.isCaughtUp = true;
    fake_.metricScripts = {{{empty, more, chunkOf({}, true)}}};
    std::vector<bool> told;
    for (const FollowEvent& event : followAll(metricsOf("r-abc23"))) {
        if (const auto* added = std::get_if<MetricsAdded>(&event)) {
            told.push_back(added->isCaughtUp);
        }
    }
    EXPECT_THAT(told, ElementsAre(true, true));
}

TEST_F(FollowerTest, ANewAttemptReplacesThePointsAfterItsCheckpoint) {
    fake_.metricScripts = {
        {{chunkOf({loss(1), loss(2), loss(3)}), chunkOf({loss(2, 0.4), loss(3, 0.3)}, true, 1)}}};
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
                           {{chunkOf({loss(1)}, true)}}};
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
    const values::LogLine line{1, "rank0", "hello", false, 1};
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
    EXPECT_EQ(model.runs.begin()->second.summary.state, values::RunState::kFinished);
}

TEST_F(FollowerTest, AFollowerThatIsNotReadEndsWithoutWaitingForItsStreams) {
    std::vector<MetricChunk> chunks;
    for (int i = 0; i < 5000; ++i) {
        chunks.push_back(chunkOf({loss(i + 1)}));
    }
    fake_.metricScripts = {{chunks, true}};
    Follower follower(client_, clock_, metricsOf("r-abc23"));
    EXPECT_TRUE(follower.next(std::chrono::seconds(5)).has_value());
}

TEST_F(FollowerTest, TelemetryNeitherHoldsUpTheEndNorFailsTheRuns) {
    FollowOptions options;
    options.runIds = {"r-abc23"};
    options.withTelemetry = true;
    fake_.runScripts = {{{values::RunUpdate{client::aRun("r-abc23"), false, false}}}};
    EXPECT_TRUE(std::holds_alternative<AllEnded>(followAll(options).back()));

    fake_.runScripts = {{{values::RunUpdate{client::aRun("r-abc23"), false, false}}}};
    fake_.sampleScripts = {{{}, false, Status(absl::StatusCode::kUnimplemented, "too old")}};
    for (const FollowEvent& event : followAll(options)) {
        EXPECT_FALSE(std::holds_alternative<Problem>(event));
    }
}

TEST_F(FollowerTest, NodesAreListedAgainAndAgain) {
    fake_.nodeInfos.resize(1);
    FollowOptions options;
    options.withRuns = false;
    options.withNodes = true;
    FakeClock clock;
    Follower follower(client_, clock, options);
    for (int i = 0; i < 3; ++i) {
        const auto event = follower.next(std::chrono::seconds(5));
        ASSERT_TRUE(event && std::holds_alternative<NodesListed>(*event));
        EXPECT_EQ(std::get<NodesListed>(*event).nodes.size(), 1U);
        EXPECT_FALSE(follower.next(std::chrono::milliseconds(1))) << "not at once";
        clock.advanceMs(2'000);
        follower.retryNow();
    }
}

/// Counts reads of the time: a thread that spins reads it thousands of times.
class CountingClock final : public Clock {
 public:
    std::int64_t wallMs() const override { return clock_.wallMs(); }
    std::int64_t steadyNs() const override {
        ++numReads;
        return clock_.steadyNs();
    }
    mutable std::atomic<int> numReads{0};

 private:
    SystemClock clock_;
};

TEST_F(FollowerTest, AFollowerThatCannotGreetRestsBetweenItsTries) {
    std::atomic<int> numGreetings{0};
    FollowOptions options;
    options.withNodes = true;
    options.greet = [&] {
        ++numGreetings;
        return unavailable("no daemon");
    };
    CountingClock clock;
    Follower follower(client_, clock, options);
    ASSERT_TRUE(test::eventually([&] { return numGreetings >= 3; }));
    EXPECT_LT(clock.numReads, 200);
}

TEST_F(FollowerTest, AFollowingBehindACursorAsksForItAndResumesNoEarlier) {
    FollowOptions options = metricsOf("r-abc23");
    options.metricsAfter["r-abc23"] = {1, 500};
    fake_.metricScripts = {{{}, false, unavailable("lost")},
                           {{chunkOf({loss(501), loss(502)}, true, std::nullopt, 501)}}};
    EXPECT_THAT(stepsOf(followAll(options)), ElementsAre(501, 502));
    EXPECT_THAT(fake_.metricStarts(), ElementsAre(500, 500));
}

TEST_F(FollowerTest, AnAttemptThatBeganWhileTheConnectionWasLostReplacesWhatIsVoid) {
    const auto point = [](std::int64_t step, int attempt) {
        return RunFigure{"loss", 0.5, step, 0, 0, 0, attempt};
    };
    fake_.metricScripts = {
        {{chunkOf({point(1, 1), point(2, 1), point(3, 1)})}, false, unavailable("lost")},
        {{chunkOf({point(2, 2), point(3, 2)}, true, 1, 4)}}};
    std::vector<std::pair<std::int64_t, int>> told;  // (step, attempt)
    for (const FollowEvent& event : followAll(metricsOf("r-abc23"))) {
        if (const auto* added = std::get_if<MetricsAdded>(&event)) {
            for (const RunFigure& one : pointsOf(*added)) {
                told.emplace_back(one.step, one.attempt);
            }
        }
        if (const auto* replaced = std::get_if<MetricsReplaced>(&event)) {
            std::erase_if(told, [&](const auto& one) { return one.first > replaced->afterStep; });
        }
    }
    EXPECT_THAT(told, ElementsAre(std::pair(1, 1), std::pair(2, 2), std::pair(3, 2)));
}

TEST_F(FollowerTest, TheEndOfEachRunIsToldBeforeTheEndOfAll) {
    FollowOptions options = metricsOf("r-abc23");
    options.withLogs = true;
    fake_.metricScripts = {{{chunkOf({loss(1)}, true)}}};
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
    fake_.metricScripts = {{{chunkOf({loss(1)})}, false, unavailable("lost")},
                           {{chunkOf({loss(2)}, true)}}};
    BoundedQueue<FollowEvent> seen(64);
    Follower follower(client_, clock_, metricsOf("r-abc23"),
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
    FakeClock still;  // on which the pause before the next try never ends
    fake_.metricScripts = {{{}, false, unavailable("lost")}, {{chunkOf({loss(1)}, true)}}};
    Follower follower(client_, still, metricsOf("r-abc23"));
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

class GreetingTest : public FollowerTest {
 protected:
    FollowOptions greeting() {
        FollowOptions options;
        options.withTelemetry = true;
        options.greet = [this] {
            return answers_.popFor(std::chrono::milliseconds(0)).value_or(okStatus());
        };
        return options;
    }
    // The next change of the link; events before it are kept.
    Link nextLink(Follower& follower) {
        while (auto event = follower.next(std::chrono::seconds(5))) {
            if (const auto* changed = std::get_if<LinkChanged>(&*event)) {
                return changed->link;
            }
            between_.push_back(*std::move(event));
        }
        ADD_FAILURE() << "the link did not change";
        return {};
    }

    BoundedQueue<Status> answers_{16};  // failures of greetings; later ones succeed
    std::vector<FollowEvent> between_;
    FakeClock still_;  // no pause ends on it
};

TEST_F(GreetingTest, TheStreamsAreOneConnectionAndBeginAgainTogether) {
    values::NodeSample sample;
    sample.node = "a";
    fake_.runScripts = {{{RunUpdate{{}, false, true}}, true}, {{RunUpdate{{}, false, true}}, true}};
    fake_.sampleScripts = {{{sample}, false, okStatus()}, {{sample}, true}};
    Follower follower(client_, still_, greeting());
    EXPECT_EQ(nextLink(follower).state, LinkState::kConnected);
    const Link lost = nextLink(follower);
    EXPECT_EQ(lost.state, LinkState::kReconnecting);
    EXPECT_EQ(lost.sentence, "the daemon at unix:/fake.sock said goodbye");
    EXPECT_EQ(lost.tries, 1);
    between_.clear();
    follower.retryNow();
    EXPECT_EQ(nextLink(follower).state, LinkState::kConnected);
    bool hasSnapshot = false, hasSample = false;
    while (!hasSnapshot || !hasSample) {
        const auto event = follower.next(std::chrono::seconds(5));
        ASSERT_TRUE(event.has_value()) << "the stream of runs was to begin again, too";
        hasSnapshot = hasSnapshot || std::holds_alternative<SnapshotEnded>(*event);
        hasSample = hasSample || std::holds_alternative<NodeSampled>(*event);
    }
}

TEST_F(GreetingTest, WhoRefusesIsAskedAgain) {
    answers_.push(failedPrecondition("speaks protocol 9"));
    Follower follower(client_, still_, greeting());
    const Link refused = nextLink(follower);
    EXPECT_EQ(refused.state, LinkState::kRefused);
    EXPECT_EQ(refused.sentence, "speaks protocol 9");
    follower.retryNow();
    EXPECT_EQ(nextLink(follower).state, LinkState::kConnected);
    EXPECT_TRUE(between_.empty()) << "nothing was opened, and nothing is a problem";
}

TEST_F(GreetingTest, WhatFailedBesideTheStreamsEndsTheConnection) {
    Follower follower(client_, still_, greeting());
    EXPECT_EQ(nextLink(follower).state, LinkState::kConnected);
    follower.beginAgain(unavailable("the list was cut off"));
    const Link lost = nextLink(follower);
    EXPECT_EQ(lost.state, LinkState::kReconnecting);
    EXPECT_EQ(lost.sentence, "the list was cut off");
    follower.beginAgain(unavailable("so was another"));
    follower.retryNow();
    EXPECT_EQ(nextLink(follower).state, LinkState::kConnected) << "it was lost already";
}

TEST_F(GreetingTest, ADaemonWithoutTelemetryIsLivedWith) {
    fake_.sampleScripts = {{{}, false, Status(absl::StatusCode::kUnimplemented, "no telemetry")}};
    fake_.runScripts = {{{RunUpdate{client::aRun("r-abc23"), false, false}}, true}};
    Follower follower(client_, still_, greeting());
    EXPECT_EQ(nextLink(follower).state, LinkState::kConnected);
    const auto event = follower.next(std::chrono::seconds(5));
    ASSERT_TRUE(event.has_value());
    EXPECT_TRUE(std::holds_alternative<RunChanged>(*event));
    EXPECT_FALSE(follower.next(std::chrono::milliseconds(200)).has_value());
}

}  // namespace
}  // namespace millrace::session

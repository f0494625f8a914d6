#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/gui/bridge/live_inbox.h"
#include "app/gui/bridge/run_inbox.h"
#include "tests/support/metric_lines.h"

namespace millrace::gui {
namespace {

using ::testing::ElementsAre;

values::RunSummary run(const std::string& id, std::uint64_t revision) {
    values::RunSummary summary;
    summary.id = id;
    summary.revision = revision;
    return summary;
}

TEST(RunInboxTest, EachRunIsDeliveredOnceWithItsNewestValue) {
    RunInbox inbox;
    inbox.addUpdate({run("a", 1)});
    inbox.addUpdate({run("b", 2)});
    inbox.addUpdate({run("a", 3)});
    const RunsDelta delta = inbox.take();
    ASSERT_EQ(delta.changed.size(), 2U);
    EXPECT_EQ(delta.changed[0].id, "a");
    EXPECT_EQ(delta.changed[0].revision, 3U);
    EXPECT_FALSE(inbox.isPending());
}

TEST(RunInboxTest, ARunThatWasDeletedAndRestoredBeforeTheDeliveryIsOnlyChanged) {
    RunInbox inbox;
    inbox.addUpdate({run("a", 1)});
    inbox.addUpdate({run("a", 2), true});
    inbox.addUpdate({run("a", 3), false});
    inbox.addUpdate({run("b", 4), false});
    inbox.addUpdate({run("b", 5), true});
    const RunsDelta delta = inbox.take();
    ASSERT_EQ(delta.changed.size(), 1U);
    EXPECT_EQ(delta.changed[0].id, "a");
    EXPECT_THAT(delta.removed, ElementsAre("b"));
}

TEST(RunInboxTest, AnOldUpdateDoesNotBringADeletedRunBack) {
    RunInbox inbox;
    inbox.addUpdate({run("a", 5), true});
    inbox.addUpdate({run("a", 4), false});
    EXPECT_TRUE(inbox.take().changed.empty());
}

TEST(RunInboxTest, AListThatIsOlderThanTheStreamGivesItsParameters) {
    RunInbox inbox;
    inbox.addUpdate({run("a", 5)});
    EXPECT_TRUE(inbox.takeUnlisted());
    values::RunSummary listed = run("a", 4);
    listed.params = {{"batch.seed", "7"}};
    inbox.addListed(listed);
    const RunsDelta delta = inbox.take();
    ASSERT_EQ(delta.changed.size(), 1U);
    EXPECT_EQ(delta.changed[0].revision, 5U);
    EXPECT_EQ(delta.changed[0].params.at("batch.seed"), "7");
    EXPECT_FALSE(inbox.takeUnlisted());
}

TEST(RunInboxTest, ARunThatWasRestoredIsListedAgainForItsParameters) {
    RunInbox inbox;
    inbox.addListed(run("a", 1));
    inbox.addUpdate({run("a", 2), true});
    EXPECT_FALSE(inbox.takeUnlisted()) << "a run that is gone needs none";
    EXPECT_THAT(inbox.take().removed, ElementsAre("a"));
    inbox.addUpdate({run("a", 3), false});
    EXPECT_TRUE(inbox.takeUnlisted());
}

TEST(RunInboxTest, AResetForgetsRevisions) {
    RunInbox inbox;
    inbox.addUpdate({run("a", 50)});
    inbox.reset();
    inbox.addListed(run("a", 1));
    const RunsDelta delta = inbox.take();
    EXPECT_TRUE(delta.isReset);
    ASSERT_EQ(delta.changed.size(), 1U);
    EXPECT_EQ(delta.changed[0].revision, 1U);
}

TEST(LiveInboxTest, ADropAlsoTakesPointsThatStillWait) {
    LiveInbox inbox;
    inbox.addMetrics(session::addedOf("a", {{"loss", 1, 1}, {"loss", 1, 2}, {"loss", 1, 3}}));
    inbox.dropAfter("a", 2);
    inbox.addMetrics(session::addedOf("a", {{"loss", 9, 3}}));
    inbox.dropAfter("a", 5);
    const auto content = inbox.take();
    ASSERT_EQ(content.metrics.size(), 1U);
    const MetricsDelta& delta = content.metrics[0].second;
    EXPECT_EQ(delta.dropAfterStep, 2);
    ASSERT_EQ(delta.lines.size(), 3U);
    EXPECT_EQ(delta.lines[2].values.at(0).value, 9);
    EXPECT_EQ(inbox.numPoints(), 0U);
}

TEST(LiveInboxTest, TheOldestLinesAreLeftOutAndCounted) {
    LiveInbox inbox;
    std::vector<values::LogLine> lines(10);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        lines[i].timeMs = static_cast<std::int64_t>(i);
    }
    inbox.addLines(lines, 2);
    EXPECT_EQ(inbox.dropLines(4), 6U);
    const auto content = inbox.take();
    ASSERT_EQ(content.logs.lines.size(), 4U);
    EXPECT_EQ(content.logs.lines.front().timeMs, 6);
    EXPECT_EQ(content.logs.droppedLines, 8U);
}

}  // namespace
}  // namespace millrace::gui

#include "backend/job/log_text.h"

#include <gtest/gtest.h>

namespace millrace::job {
namespace {

TEST(LogText, ALineHasItsTimeWhoSaidItAndWhat) {
    const auto line = splitLogLine("2026-03-01T12:00:01.500Z e loss is NaN");
    ASSERT_TRUE(line.has_value());
    EXPECT_EQ(line->timeMs, 1'772'366'401'500);
    EXPECT_EQ(line->origin, 'e');
    EXPECT_EQ(line->level, "");
    EXPECT_EQ(line->text, "loss is NaN");
    EXPECT_EQ(splitLogLine("2026-03-01T12:00:01.000Z o ")->text, "");
}

TEST(LogText, AWorkersOwnStructuredLineGivesItsLevelAndShowsItsTimeOnce) {
    const auto line =
        splitLogLine("2026-03-01T12:00:01.000Z e 2026-03-01T12:00:01.000Z warn feed: slow ms=5");
    EXPECT_EQ(line->level, "warn");
    EXPECT_EQ(line->text, "feed: slow ms=5");
    const auto plain =
        splitLogLine("2026-03-01T12:00:01.000Z o 2026-03-01T12:00:01.000Z loud feed: slow");
    EXPECT_EQ(plain->level, "");
    EXPECT_EQ(plain->text, "2026-03-01T12:00:01.000Z loud feed: slow");
}

TEST(LogText, WhatIsNoLineIsNothing) {
    for (const char* text : {"", "garbage", "2026-03-01T12:00:01.000Z x text",
                             "2026-03-01T12:00:01.000Z m log-offset 500"}) {
        EXPECT_FALSE(splitLogLine(text).has_value()) << text;
    }
    EXPECT_TRUE(splitLogLine("2026-03-01T12:00:01.000Z o log-offset 500").has_value());
}

TEST(LogText, LinesAreTakenFromTheEnd) {
    std::string_view bytes("one\ntwo\n\n");
    EXPECT_EQ(takeLastLine(bytes), "");
    EXPECT_EQ(takeLastLine(bytes), "two");
    EXPECT_EQ(takeLastLine(bytes), "one");
    EXPECT_TRUE(bytes.empty());
}

}  // namespace
}  // namespace millrace::job

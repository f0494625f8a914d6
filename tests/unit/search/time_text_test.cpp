#include "backend/search/time_text.h"

#include <gtest/gtest.h>

namespace millrace::search {
namespace {

constexpr std::int64_t kThenMs = 1'700'000'000'000;  // 2023-11-14T22:13:20Z

TEST(TimeText, MomentsMayLeaveOutWhatIsZero) {
    for (const char* text : {"2023-11-14T22:13:20Z", "2023-11-14 22:13:20",
                             "2023-11-14T22:13:20.000Z", "1700000000000", "now"}) {
        const auto time = timeOf(text, kThenMs);
        ASSERT_TRUE(time) << text;
        EXPECT_EQ(time->beginMs, kThenMs) << text;
        EXPECT_FALSE(time->isDay()) << text;
    }
    EXPECT_EQ(timeOf("2023-11-14 22:13", kThenMs)->beginMs, kThenMs - 20'000);
    EXPECT_EQ(timeOf("0.5h ago", kThenMs)->beginMs, kThenMs - 1'800'000);
    EXPECT_EQ(timeOf("2w", kThenMs)->beginMs, kThenMs - 14 * 86'400'000LL);
}

TEST(TimeText, DaysBeginAtMidnightAlsoBefore1970) {
    EXPECT_EQ(timeOf("today", kThenMs)->beginMs, 1'699'920'000'000);
    EXPECT_EQ(timeOf("yesterday", -1)->beginMs, -2 * 86'400'000LL);
    EXPECT_TRUE(timeOf("2023-11-14", kThenMs)->isDay());
}

TEST(TimeText, WhatIsNoTimeIsNone) {
    for (const char* text :
         {"", "7", "d", "7x", "-7d", "ago", "7d  ago", "2023-13-01", "2023-02-30",
          "2023-11-14T25:00", "tomorrow", "1e3d", "nan", "infd", "99999999999d"}) {
        const bool isTime = timeOf(text, kThenMs).has_value();
        EXPECT_EQ(isTime, std::string_view(text) == "7")
            << text << ": a bare number is milliseconds";
    }
    for (const char* text : {"", "h", "-1", "1 h", "1d2h", "1e400", "nan", "inf"}) {
        EXPECT_FALSE(secondsOf(text)) << text;
    }
    EXPECT_EQ(secondsOf("90"), 90);
}

}  // namespace
}  // namespace millrace::search

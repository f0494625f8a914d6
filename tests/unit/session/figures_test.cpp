#include "app/session/figures.h"

#include <cstdlib>
#include <ctime>
#include <limits>

#include <gtest/gtest.h>

#include "app/session/run_progress.h"

namespace millrace::session {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST(Figures, PartThousandsAndNeverWriteMinusZero) {
    EXPECT_EQ(groupedNumber(1'234'567.891, 2), "1,234,567.89");
    EXPECT_EQ(groupedNumber(-1'234, 0), "-1,234");
    EXPECT_EQ(groupedNumber(-123, 0), "-123");
    EXPECT_EQ(groupedNumber(999, 1), "999.0");
    EXPECT_EQ(groupedNumber(-0.001, 2), "0.00");
}

TEST(Figures, HaveAsManyDigitsAsTellRunsApart) {
    EXPECT_EQ(figureText(0.79344), "0.7934");
    EXPECT_EQ(figureText(42'100), "42,100");
    EXPECT_EQ(figureText(97.312), "97.31");
    EXPECT_EQ(figureText(412.55), "412.6");
    EXPECT_EQ(figureText(1.2e-7), "1.2e-07");
    EXPECT_EQ(figureText(kNan), "NaN");
    EXPECT_EQ(figureText(-kInfinite), "-inf");
    EXPECT_EQ(differenceText(0.00001234, 0.5), "+1.2e-05");
    EXPECT_EQ(differenceText(-9.81, 41'649), "-10");
}

TEST(Figures, AreWrittenAsTheyWereLogged) {
    EXPECT_EQ(loggedNumber(static_cast<double>(0.1F)), "0.1");
    EXPECT_EQ(loggedNumber(0.48211), "0.48211");
    EXPECT_EQ(loggedNumber(1'234'567), "1,234,567");
    EXPECT_EQ(loggedNumber(1.5e-7), "1.5e-7");
    EXPECT_EQ(loggedNumber(1.0 / 3), "0.3333333");
    EXPECT_EQ(loggedNumber(-2.5e16), "-2.5e16");
    EXPECT_EQ(loggedNumber(0), "0");
    EXPECT_EQ(significantNumber(1'234.56, 4), "1,235");
    EXPECT_EQ(significantNumber(20, 4), "20");
}

TEST(Figures, TakePrefixesWhereThereIsLittleRoom) {
    EXPECT_EQ(prefixedNumber(1'234'567, 3), "1.23 M");
    EXPECT_EQ(prefixedNumber(999'999, 3), "1 M");
    EXPECT_EQ(prefixedNumber(12, 3), "12");
    EXPECT_EQ(shortCount(999'999), "1.0 M");
    EXPECT_EQ(shortCount(241'683), "242 k");
    EXPECT_EQ(preciseBytes(1.5e6, 4), "1.5 MB");
    EXPECT_EQ(preciseBytes(12'345'678, 4), "12.35 MB");
    EXPECT_EQ(rateText(1.2e6), "1.2 MB/s");
}

TEST(Figures, SayOfAFileOnItsWayWhatIsKnown) {
    values::HandOver file{400, 0, 0, 2};
    EXPECT_EQ(handOverText(file), "checkpoint of step 400 is about to go to the head; 2 more wait");
    file.bytes = 3'100'000'000;
    EXPECT_EQ(handOverText(file),
              "checkpoint of step 400 (3.1 GB) is about to go to the head; 2 more wait");
    file = {400, 3'100'000'000, 1'200'000'000, 0, "", true};
    EXPECT_EQ(handOverText(file),
              "scores of step 400 are on their way to the head: 1.2 GB of 3.1 "
              "GB");
    EXPECT_EQ(handOverText(values::HandOver{.trouble = "disk"}),
              "what its node has for the head cannot be read");
    EXPECT_EQ(handOverText(std::nullopt), "");
}

TEST(Figures, SayHowFarTheLocalClockIsAhead) {
    const char* const before = ::getenv("TZ");
    const std::string kept = before == nullptr ? "" : before;
    const auto zoneIn = [](const char* zone) {
        ::setenv("TZ", zone, 1);
        ::tzset();
        return zoneText(1'700'000'000'000);
    };
    EXPECT_EQ(zoneIn("UTC"), "UTC");
    EXPECT_EQ(zoneIn("<+0530>-5:30"), "+05:30");
    EXPECT_EQ(zoneIn("<-0330>3:30"), "-03:30");
    before == nullptr ? ::unsetenv("TZ") : ::setenv("TZ", kept.c_str(), 1);
    ::tzset();
}

TEST(Figures, SayHowLongSomethingTook) {
    EXPECT_EQ(durationText(0), "0.0 s");
    EXPECT_EQ(durationText(12), "< 0.1 s");
    EXPECT_EQ(durationText(200'000), "3 m 20 s");
    EXPECT_EQ(durationText(-1), "");
    EXPECT_EQ(durationText(kNan), "");
    EXPECT_EQ(preciseDuration(0), "0 s");
    EXPECT_EQ(preciseDuration(0.25), "250 µs");
    EXPECT_EQ(preciseDuration(850), "850 ms");
    EXPECT_EQ(preciseDuration(12'300), "12.3 s");
    EXPECT_EQ(preciseDuration(-7'500'000), "-2 h 05 m");
    EXPECT_EQ(withAge("samples/s", 123.0), "samples/s, 2 m 03 s old");
}

}  // namespace
}  // namespace millrace::session

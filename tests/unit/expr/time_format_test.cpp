// Formats of strptime(): what they read, in microseconds since 1970, and which formats are refused.
// tests/integration/oracle/formats_oracle.py compares them with DuckDB.
#include "backend/expr/time_format.h"

#include <chrono>

#include <gmock/gmock.h>

namespace millrace::expr {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// "2024-02-01 15:05:00.5", "null", or the error of the format.
std::string readBy(std::string_view format, std::string_view text) {
    const Result<TimeFormat> made = TimeFormat::make(format);
    if (!made.ok()) {
        return std::string(messageOf(made.status()));
    }
    const std::optional<std::int64_t> us = made->parse(text);
    if (!us) {
        return "null";
    }
    using std::chrono::days, std::chrono::microseconds;
    const std::chrono::sys_time<microseconds> time{microseconds(*us)};
    const auto day = std::chrono::floor<days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss<microseconds> clock(time - day);
    char shown[64];
    const int length = std::snprintf(
        shown, sizeof shown, "%04d-%02u-%02u %02d:%02d:%02d", int{date.year()},
        unsigned{date.month()}, unsigned{date.day()}, static_cast<int>(clock.hours().count()),
        static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
    const auto micros = clock.subseconds().count();
    return std::string(shown, static_cast<std::size_t>(length)) +
           (micros == 0 ? "" : "+" + std::to_string(micros));
}

struct Reading {
    const char* format;
    const char* text;
    const char* wanted;
};

void expectAll(std::initializer_list<Reading> readings) {
    for (const Reading& reading : readings) {
        EXPECT_EQ(readBy(reading.format, reading.text), reading.wanted)
            << "'" << reading.text << "' by '" << reading.format << "'";
    }
}

TEST(TimeFormat, ReadsTheDatesOfSpreadsheetsAndLogs) {
    expectAll({
        {"%d.%m.%Y", "01.02.2024", "2024-02-01 00:00:00"},
        {"%d.%m.%Y", "1.2.2024", "2024-02-01 00:00:00"},
        {"%-d.%-m.%Y", "01.02.2024", "2024-02-01 00:00:00"},
        {"%m/%d/%y", "2/1/24", "2024-02-01 00:00:00"},
        {"%d%b%Y", "01Feb2024", "2024-02-01 00:00:00"},
        {"%b %d, %Y %I:%M %p", "Feb 1, 2024 3:05 PM", "2024-02-01 15:05:00"},
        {"%A, %d %B %Y", "thursday, 1 FEBRUARY 2024", "2024-02-01 00:00:00"},
        {"%d/%b/%Y:%H:%M:%S %z", "01/Feb/2024:10:00:00 -0500", "2024-02-01 15:00:00"},
        {"%Y%m%d%H%M%S", "20240201100203", "2024-02-01 10:02:03"},
        {"%Y-%m-%dT%H:%M:%S.%fZ", "2024-02-01T10:02:03.25Z", "2024-02-01 10:02:03+250000"},
        {"%Y年%m月%d日", "2024年2月1日", "2024-02-01 00:00:00"},
        {"%d%%", "7%", "1900-01-07 00:00:00"},
    });
}

TEST(TimeFormat, KnowsTheDaysOfEachMonthAndYear) {
    expectAll({
        {"%d.%m.%Y", "29.02.2024", "2024-02-29 00:00:00"},
        {"%d.%m.%Y", "29.02.2000", "2000-02-29 00:00:00"},
        {"%d.%m.%Y", "29.02.2023", "null"},
        {"%d.%m.%Y", "29.02.1900", "null"},
        {"%d.%m.%Y", "31.04.2024", "null"},
        {"%d.%m.%Y", "00.04.2024", "null"},
        {"%d.%m.%Y", "01.13.2024", "null"},
        {"%Y %j", "2024 060", "2024-02-29 00:00:00"},
        {"%Y %-j", "2024 366", "2024-12-31 00:00:00"},
        {"%Y %j", "2023 366", "null"},
        {"%Y %j", "2023 0", "null"},
        {"%j %Y-%m-%d", "200 2024-05-05", "2024-05-05 00:00:00"},
    });
}

TEST(TimeFormat, YearsOfTwoDigitsChangeTheCenturyAt69) {
    expectAll({
        {"%y", "68", "2068-01-01 00:00:00"},
        {"%y", "69", "1969-01-01 00:00:00"},
        {"%y", "00", "2000-01-01 00:00:00"},
        {"%y", "5", "2005-01-01 00:00:00"},
        {"%y", "1999", "null"},
        {"%Y", "24", "0024-01-01 00:00:00"},
        {"%Y", "9999", "9999-01-01 00:00:00"},
        {"%Y", "10000", "null"},
        {"%Y", "-5", "null"},
    });
}

TEST(TimeFormat, ClocksOfTwelveAndTwentyFourHours) {
    expectAll({
        {"%I:%M %p", "12:00 AM", "1900-01-01 00:00:00"},
        {"%I:%M %p", "12:00 pm", "1900-01-01 12:00:00"},
        {"%I%p", "1Pm", "1900-01-01 13:00:00"},
        {"%I:%M %p", "0:30 PM", "null"},
        {"%H:%M %p", "13:30 PM", "null"},
        {"%p", "A", "null"},
        {"%H:%M", "23:59", "1900-01-01 23:59:00"},
        {"%H:%M", "24:00", "null"},
        {"%H:%M", "10:60", "null"},
        {"%H:%M:%S", "10:00:60", "null"},
        {"%S.%g", "1.5", "1900-01-01 00:00:01+500000"},
        {"%S.%f", "1.000001", "1900-01-01 00:00:01+1"},
        {"%S.%f", "1.0000001", "null"},
        {"%S.%n", "1.000001999", "1900-01-01 00:00:01+1"},
        {"%H %z", "1 +02:30:15", "1899-12-31 22:29:45"},
        {"%H%z", "1-02", "1900-01-01 03:00:00"},
        {"%H%z", "1+2", "null"},
        {"%H%z", "1Z", "null"},
    });
}

TEST(TimeFormat, ReadsTheWholeTextAndSkipsBlanksAroundIt) {
    const std::string longText(100'000, '1');
    const std::string longBlanks = std::string(100'000, ' ') + "7";
    expectAll({
        {"%d.%m.%Y", "\t 1.2.2024 \n", "2024-02-01 00:00:00"},
        {"%d  %m", "1\t2", "1900-02-01 00:00:00"},
        {"%d %m", "1 \n 2", "1900-02-01 00:00:00"},
        {"%d %m", "12", "null"},
        {"%d.%m.%Y", "1.2.2024 x", "null"},
        {"%d.%m.%Y", "1.2", "null"},
        {"%d", "", "null"},
        {"%d", "  ", "null"},
        {"%d", "١", "null"},
        {"%d %m", "1\u00a02", "null"},
        {"%d", longText.c_str(), "null"},
        {"%d", longBlanks.c_str(), "1900-01-07 00:00:00"},
        {"%b", "Sept", "null"},
        {"%B", "Sep", "null"},
        {"%B", "may", "1900-05-01 00:00:00"},
        {"%Y", "infinity", "null"},
    });
    EXPECT_EQ(readBy("%d", std::string_view("1\0", 2)), "null");
}

TEST(TimeFormat, RefusesFormatsThatItDoesNotKnow) {
    EXPECT_THAT(readBy("%d.%Q", ""),
                AllOf(HasSubstr("unknown %Q in the format; known are %Y %y"), HasSubstr("%-d")));
    EXPECT_THAT(readBy("%é", ""), HasSubstr("unknown %é in the format;"));
    EXPECT_THAT(readBy("%-b", ""), HasSubstr("unknown %-b in the format;"));
    EXPECT_THAT(readBy("%-%", ""), HasSubstr("unknown %-% in the format;"));
    EXPECT_THAT(readBy("%Y-%", ""), HasSubstr("the format ends after %; known are"));
    EXPECT_THAT(readBy("%Y-%-", ""), HasSubstr("the format ends after %-; known are"));
    EXPECT_THAT(readBy("", ""), HasSubstr("the format has no fields; '%Y-%m-%d' reads 2024-01-31"));
    EXPECT_THAT(readBy("dd.mm.yyyy 100%%", ""), HasSubstr("the format has no fields"));
    EXPECT_THAT(readBy("%H:%M %Z", ""), AllOf(HasSubstr("%Z is not supported"), HasSubstr("%z")));
}

}  // namespace
}  // namespace millrace::expr

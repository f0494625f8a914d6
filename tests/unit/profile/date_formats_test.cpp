// The formats that init finds for texts of dates.
#include "backend/profile/date_formats.h"

#include <gmock/gmock.h>

namespace millrace::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> formatsOf(std::initializer_list<std::string_view> texts) {
    DateFormats formats;
    for (const std::string_view text : texts) {
        formats.add(text);
    }
    std::vector<std::string> found;
    for (const DateReading* reading : formats.all()) {
        found.push_back(reading->format);
    }
    return found;
}

TEST(DateFormats, FindsTheFormsOfSpreadsheetsAndLogs) {
    const std::pair<const char*, const char*> cases[] = {
        {"31.1.2024", "%d.%m.%Y"},
        {"1/31/2024", "%m/%d/%Y"},
        {"1/31/24", "%m/%d/%y"},
        {"31-Jan-2024", "%d-%b-%Y"},
        {"31-JAN-24", "%d-%b-%y"},
        {"31-JAN-24 03.05.07 PM", "%d-%b-%y %I.%M.%S %p"},
        {"31.1.2024 15.05.07.123", "%d.%m.%Y %H.%M.%S.%f"},
        {"01Feb2024", "%d%b%Y"},
        {"Feb 1, 2024 3:05 PM", "%b %d, %Y %I:%M %p"},
        {"1/31/2024 3:05:07pm", "%m/%d/%Y %I:%M:%S%p"},
        {"Thursday, 1 February 2024", "%A, %d %B %Y"},
        {"Thu, 01 Feb 2024 15:05:00 +0000", "%a, %d %b %Y %H:%M:%S %z"},
        {"Wed Aug 27 13:08:45 +0000 2008", "%a %b %d %H:%M:%S %z %Y"},
        {"01/Feb/2024:10:00:00 +0100", "%d/%b/%Y:%H:%M:%S %z"},
        {"2024/1/31 10:00", "%Y/%m/%d %H:%M"},
        {"2024-01-31T10:00:00.123456789Z", "%Y-%m-%dT%H:%M:%S.%nZ"},
        {"2024-01-31 10:00:00+02:00", "%Y-%m-%d %H:%M:%S%z"},
        {"31.01.2024 10:00:00,5 UTC", "%d.%m.%Y %H:%M:%S,%f UTC"},
        {"20240131", "%Y%m%d"},
        {"20240131101500", "%Y%m%d%H%M%S"},
        {"2024年1月31日", "%Y年%m月%d日"},
    };
    for (const auto& [text, format] : cases) {
        EXPECT_THAT(formatsOf({text}), ElementsAre(format)) << text;
    }
}

TEST(DateFormats, EveryTextDecidesWhichNumberIsTheDay) {
    EXPECT_THAT(formatsOf({"1/2/2024", "3/4/2024"}), ElementsAre("%m/%d/%Y", "%d/%m/%Y"));
    EXPECT_THAT(formatsOf({"1.2.2024", "3.4.2024"}), ElementsAre("%d.%m.%Y", "%m.%d.%Y"));
    EXPECT_THAT(formatsOf({"1/2/2024", "", "13/4/2024", "  "}), ElementsAre("%d/%m/%Y"));
    EXPECT_THAT(formatsOf({"1/2/2024", "3/14/2024"}), ElementsAre("%m/%d/%Y"));
    EXPECT_THAT(formatsOf({"1/14/2024", "14/1/2024"}), IsEmpty());
    EXPECT_THAT(formatsOf({"May 1, 2024", "Jun 2, 2024"}), ElementsAre("%b %d, %Y"));
    EXPECT_THAT(formatsOf({"May 1, 2024", "June 2, 2024"}), ElementsAre("%B %d, %Y"));
    EXPECT_THAT(formatsOf({"May 1, 2024"}), ElementsAre("%b %d, %Y"));
}

TEST(DateFormats, AYearOfTwoDigitsIsTheNumberThatChangesLeast) {
    EXPECT_THAT(formatsOf({"24-01-31", "23-12-30"}), ElementsAre("%d-%m-%y", "%y-%m-%d"));
    EXPECT_THAT(formatsOf({"24-01-31", "23-12-20"}), ElementsAre("%y-%m-%d", "%d-%m-%y"));
    EXPECT_THAT(formatsOf({"24-01-31", "23-12-30", "24-02-01"}), ElementsAre("%y-%m-%d"));
    EXPECT_THAT(formatsOf({"31.01.24", "12.12.23", "01.02.24"}), ElementsAre("%d.%m.%y"));
}

TEST(DateFormats, TextsThatAreNotDatesHaveNone) {
    for (const char* text :
         {"", "x", "12/20", "1.2.3", "10:15", "2024", "Jan 2024", "Mayor 1, 2024", "2024-01-31x",
          "20261341", "20261341000000", "555-12-1234", "1 of 2 2024", "100% 1/2/2024", "31.04.2024",
          "3 PM", "1/2/\n2024", "10.0.0.1", "+1 (555) 123-4567"}) {
        EXPECT_THAT(formatsOf({text}), IsEmpty()) << text;
    }
    EXPECT_THAT(formatsOf({std::string(100'000, '1')}), IsEmpty());
}

}  // namespace
}  // namespace millrace::profile

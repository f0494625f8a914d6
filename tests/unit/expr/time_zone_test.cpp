#include "backend/expr/time_zone.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

std::string number(std::int64_t value, int bytes) {
    std::string text;
    for (int b = bytes - 1; b >= 0; --b) {
        text += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * b) & 0xFF);
    }
    return text;
}

struct Change {
    std::int64_t time, offset;
};

std::string block(const std::vector<Change>& changes, std::int64_t before, int width, int leaps) {
    std::string text = "TZif2" + std::string(15, '\0');
    const auto count = static_cast<std::int64_t>(changes.size());
    text += number(0, 4) + number(0, 4) + number(leaps, 4) + number(count, 4) +
            number(count + 1, 4) + number(4, 4);
    for (const Change& change : changes) {
        text += number(change.time, width);
    }
    for (std::size_t i = 0; i < changes.size(); ++i) {
        text += static_cast<char>(i + 1);
    }
    text += number(before, 4) + std::string(2, '\0');
    for (const Change& change : changes) {
        text += number(change.offset, 4) + std::string(2, '\0');
    }
    return text + std::string("LMT\0", 4) +
           std::string(static_cast<std::size_t>(leaps * (width + 4)), '\0');
}

std::string zoneFile(const std::vector<Change>& changes, std::int64_t before,
                     const std::string& rule, int leaps = 0) {
    return block({}, before, 4, 0) + block(changes, before, 8, leaps) + "\n" + rule + "\n";
}

std::int64_t offset(const std::string& file, std::int64_t seconds) {
    const auto zone = TimeZone::parse(file, "Test/Zone");
    EXPECT_TRUE(zone.ok()) << zone.status();
    if (!zone.ok()) {
        return -1;
    }
    const TimeZone::Stretch stretch = (*zone)->at(seconds);
    EXPECT_LE(stretch.begin, seconds);
    EXPECT_GT(stretch.end, seconds);
    return stretch.offset;
}

// A file as `zic -b slim` writes it: only the footer has the rule.
TEST(TimeZone, TheFootersRuleHoldsForAllYearsAfterTheLastChange) {
    const std::string berlin = zoneFile({{-2422054408, 3600}}, 3208, "CET-1CEST,M3.5.0,M10.5.0/3");
    EXPECT_EQ(offset(berlin, -2422054409), 3208);
    EXPECT_EQ(offset(berlin, -2422054408), 3600);
    EXPECT_EQ(offset(berlin, 1711846799), 3600) << "2024-03-31 00:59:59";
    EXPECT_EQ(offset(berlin, 1711846800), 7200);
    EXPECT_EQ(offset(berlin, 1729990799), 7200) << "2024-10-27 00:59:59";
    EXPECT_EQ(offset(berlin, 1729990800), 3600);
    EXPECT_EQ(offset(berlin, 2540800800), 7200) << "2050-07-07, beyond what fat files list";
    // 400 years and 4,000 years are whole weeks, so dates repeat.
    EXPECT_EQ(offset(berlin, 1711846799 + 12622780800), 3600);
    EXPECT_EQ(offset(berlin, 1711846800 + 12622780800), 7200);
    EXPECT_EQ(offset(berlin, 1711846799 + 10 * 12622780800), 3600);
    EXPECT_EQ(offset(berlin, 1711846800 + 10 * 12622780800), 7200);
}

TEST(TimeZone, RulesOfTheSouthOfHalfHoursAndOfEarlierDaysAreRead) {
    const std::string lordHowe = zoneFile({}, 0, "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0");
    EXPECT_EQ(offset(lordHowe, 1705320000), 39'600) << "January is summer";
    EXPECT_EQ(offset(lordHowe, 1721044800), 37'800);
    const std::string dublin = zoneFile({}, 0, "IST-1GMT0,M10.5.0,M3.5.0/1");
    EXPECT_EQ(offset(dublin, 1705320000), 0);
    EXPECT_EQ(offset(dublin, 1721044800), 3600);
    const std::string nuuk = zoneFile({}, 0, "<-02>2<-01>,M3.5.0/-1,M10.5.0/0");
    EXPECT_EQ(offset(nuuk, 1711846799), -7200);
    EXPECT_EQ(offset(nuuk, 1711846800), -3600) << "2024-03-30 23:00 there";
    // J60 is 1 March in leap years too: 2024-02-29 19:00 UTC.
    const std::string julian = zoneFile({}, 0, "XST-5XDT,J60/0,J300/0");
    EXPECT_EQ(offset(julian, 1709233199), 18'000);
    EXPECT_EQ(offset(julian, 1709233200), 21'600);
    EXPECT_EQ(offset(zoneFile({}, 0, "IST-5:30"), 4102444800), 19'800);
}

TEST(TimeZone, ADamagedFileIsRefusedAtEveryLength) {
    const std::string whole = zoneFile({{0, 3600}, {100, 7200}}, 0, "CET-1CEST,M3.5.0,M10.5.0/3");
    ASSERT_TRUE(TimeZone::parse(whole, "Test/Zone").ok());
    for (std::size_t size = 0; size < whole.size() - 30; ++size) {
        EXPECT_FALSE(TimeZone::parse(whole.substr(0, size), "Test/Zone").ok()) << size;
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
        for (const char byte : {'\x7F', '\xFF', '\0'}) {
            std::string bytes = whole;
            bytes[at] = byte;
            const auto zone = TimeZone::parse(bytes, "Test/Zone");
            if (zone.ok()) {
                (*zone)->at(1'700'000'000);
            }
        }
    }
    EXPECT_FALSE(TimeZone::parse(zoneFile({{100, 3600}, {0, 7200}}, 0, "UTC0"), "Test/Zone").ok());
    for (const char* rule : {"CET", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.5.0", "C-1",
                             "CET-1CEST,M3.5.0,M10.5.0/3x", "CET-999"}) {
        EXPECT_FALSE(TimeZone::parse(zoneFile({}, 0, rule), "Test/Zone").ok()) << rule;
    }
    const auto right = TimeZone::parse(zoneFile({}, 0, "UTC0", 1), "right/UTC");
    EXPECT_THAT(std::string(messageOf(right.status())), HasSubstr("leap seconds"));
}

TEST(TimeZone, ANameIsLookedUpInTheDatabaseAlone) {
    tests::TempDir dir;
    ASSERT_TRUE(makeDirectories(dir / "zones/Test").ok());
    ASSERT_TRUE(writeFileAtomic(dir / "zones/Test/Zone", zoneFile({}, 0, "TST-3")).ok());
    ASSERT_TRUE(writeFileAtomic(dir / "zones/leapseconds", "# text").ok());
    ASSERT_TRUE(writeFileAtomic(dir / "Outside", zoneFile({}, 0, "TST-3")).ok());
    ::setenv("TZDIR", (dir / "zones").c_str(), 1);
    const auto zone = TimeZone::load("Test/Zone");
    ASSERT_TRUE(zone.ok()) << zone.status();
    EXPECT_EQ((*zone)->at(0).offset, 10'800);
    EXPECT_EQ(TimeZone::pathOf("Test/Zone"), dir / "zones/Test/Zone");
    for (const char* name : {"Test/Zon", "../Outside", "Test", "", "leapseconds", "/etc/passwd"}) {
        EXPECT_THAT(std::string(messageOf(TimeZone::load(name).status())),
                    HasSubstr(strCat("there is no time zone '", name, "'")));
    }
    ::setenv("TZDIR", (dir / "absent").c_str(), 1);
    EXPECT_THAT(std::string(messageOf(TimeZone::load("Test/Zone").status())),
                HasSubstr("apt install tzdata"));
    ::unsetenv("TZDIR");
}

}  // namespace
}  // namespace millrace

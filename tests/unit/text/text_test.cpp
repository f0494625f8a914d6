#include "backend/text/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "backend/core/log.h"
#include "backend/text/first_bytes.h"
#include "backend/text/json.h"
#include "backend/text/json_text.h"

namespace millrace {
namespace {

TEST(Text, TheNearestNameIsFound) {
    const std::vector<std::string> names = {"userId", "movieId", "rating", "timestamp"};
    EXPECT_EQ(nearestName("raitng", names), "rating");
    EXPECT_EQ(nearestName("userid", names), "userId");
    EXPECT_EQ(nearestName("zzz", names), "");
    EXPECT_EQ(nearestName("bacth", {"batch", "model"}), "batch");
    EXPECT_EQ(nearestName("spma", {"spam", "join"}), "spam");
    EXPECT_EQ(nameHint("moveId", names), "; did you mean 'movieId'?");
    EXPECT_EQ(nameHint("zzz", names), "; known: userId, movieId, rating, timestamp");
}

TEST(Text, SizesAndCountsReadWell) {
    EXPECT_EQ(formatBytes(0), "0 B");
    EXPECT_EQ(formatBytes(1234), "1.2 kB");
    EXPECT_EQ(formatBytes(330'200'000), "330 MB");
    EXPECT_EQ(formatCount(100836), "100,836");
    EXPECT_EQ(formatCount(-1234567), "-1,234,567");
    EXPECT_EQ(formatCount(999), "999");
}

TEST(Text, WidthCountsColumnsNotBytes) {
    EXPECT_EQ(displayWidth("abc"), 3);
    EXPECT_EQ(displayWidth("größe"), 5);
    EXPECT_EQ(displayWidth("東京"), 4);
}

TEST(Json, InfinitiesAndNanTravelAsText) {
    const double inf = std::numeric_limits<double>::infinity();
    EXPECT_EQ(dumpJson(jsonNumber(inf)), "\"Infinity\"");
    EXPECT_EQ(jsonDouble(jsonNumber(-inf)).value(), -inf);
    EXPECT_TRUE(std::isnan(jsonDouble(jsonNumber(std::nan(""))).value()));
    EXPECT_FALSE(jsonDouble(Json("seven")).ok());
}

TEST(Json, TextAppendedIsTextDumped) {
    std::string all;
    for (int c = 0; c < 256; ++c) {
        const std::string one(1, static_cast<char>(c));
        std::string out = "before";
        appendJsonText(one, &out);
        EXPECT_EQ(out, "before" + dumpJson(one)) << c;
        all += one;
    }
    for (const std::string& text : {std::string(), std::string("größe 東京 \U0001F600"), all}) {
        std::string out;
        appendJsonText(text, &out);
        EXPECT_EQ(out, dumpJson(text));
    }
}

TEST(Json, MalformedTextIsAStatusThatNamesThePlace) {
    const auto result = parseJson("{\"a\":", "job.json");
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(messageOf(result.status()).substr(0, 9), "job.json:");
}

TEST(Json, AMemberOfTheWrongTypeIsTheFallback) {
    const Json object = {{"n", "text"}, {"s", 5}, {"i", 7}};
    EXPECT_EQ(jsonInt(object, "n", 3), 3);
    EXPECT_EQ(jsonString(object, "s", "x"), "x");
    EXPECT_EQ(jsonInt(object, "i"), 7);
    EXPECT_EQ(jsonInt(Json::array(), "i", 9), 9);
    EXPECT_TRUE(jsonMember(object, "none").is_null());
}

TEST(Json, InvalidUtf8IsReplacedNotThrown) {
    EXPECT_NO_THROW((void)dumpJson(Json(std::string("\xff\xfe"))));
}

TEST(Log, ValuesThatWouldBreakALineAreQuoted) {
    EXPECT_EQ(formatLogLine("stream: starved", {{"run", "r-81"}, {"waitedMs", 5200}}),
              "stream: starved run=r-81 waitedMs=5200");
    EXPECT_EQ(formatLogLine("x", {{"why", "a b\nc"}}), "x why=\"a b\\nc\"");
    EXPECT_EQ(formatLogLine("x", {{"empty", ""}}), "x empty=\"\"");
}

// Texts of every length up to more than a word, at every distance from the end of the memory.
TEST(FirstBytes, AreThoseOfTheTextAndNoOthers) {
    const std::string letters = "\xff\x01zyxwvutsrqponmlk";
    for (std::size_t begin = 0; begin <= letters.size(); ++begin) {
        for (std::size_t size = 0; size <= letters.size() - begin; ++size) {
            std::uint64_t wanted = 0;
            for (std::size_t i = 0; i < std::min<std::size_t>(size, 8); ++i) {
                wanted |= std::uint64_t{static_cast<unsigned char>(letters[begin + i])} << 8 * i;
            }
            const std::vector<char> alone(letters.begin() + begin, letters.begin() + begin + size);
            EXPECT_EQ(firstBytes({alone.data(), alone.size()}), wanted) << begin << ", " << size;
        }
    }
}

}  // namespace
}  // namespace millrace

#include "backend/stream/state/tiny_json.h"

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

TEST(TinyJson, ReadsTextAndCounts) {
    TinyJson json;
    ASSERT_TRUE(TinyJson::parse(R"({"a": "x\"\u0041\n", "b": [1, 2], "c": null})", json));
    std::string text;
    EXPECT_TRUE(json.readText("a", text));
    EXPECT_EQ(text, "x\"A\n");
    EXPECT_EQ(json.find("b")->items.size(), 2U);
    for (const char* wrong : {"{", "{\"a\"}", "[1,]", "-1", "1.5", "\"", "\"\\u12\"", "1 2",
                              "4611686018427387904", "99999999999999999999"}) {
        EXPECT_FALSE(TinyJson::parse(wrong, json)) << wrong;
    }
    EXPECT_EQ(quoteJson("a\"\n\x01"), "\"a\\\"\\n\\u0001\"");
    ASSERT_TRUE(TinyJson::parse(R"({"counts":{"a/b\n":1,"größe":2}})", json));
    const TinyJson* counts = json.find("counts");
    ASSERT_NE(counts, nullptr);
    ASSERT_EQ(counts->members.size(), 2U);
    EXPECT_EQ(counts->members[0].name, "a/b\n");
    EXPECT_EQ(counts->find("größe")->count, 2U);
}

TEST(TinyJson, ReadsEscapesBeyondAsciiAsUtf8) {
    TinyJson json;
    ASSERT_TRUE(TinyJson::parse(R"("gr\u00f6\u00dfe \u20ac \ud83d\ude00")", json));
    EXPECT_EQ(json.text, "größe € 😀");
    for (const char* wrong : {R"("\ud83d")", R"("\ud83dx")", R"("\ud83d\u0041")", R"("\ude00")"}) {
        EXPECT_FALSE(TinyJson::parse(wrong, json)) << wrong;
    }
}

TEST(TinyJson, MembersSayWhatIsWrongFirst) {
    TinyJson json;
    ASSERT_TRUE(TinyJson::parse(R"({"a": 7, "h": "x", "l": [[1, 2], [3]]})", json));
    TinyJsonMembers members(json);
    EXPECT_EQ(members.count("a"), 7);
    EXPECT_EQ(members.wrong(), "");
    std::int64_t first = 0, second = 0;
    EXPECT_TRUE(members.list("l").items[0].readPair(first, second));
    EXPECT_EQ(first + second, 3);
    EXPECT_FALSE(members.list("l").items[1].readPair(first, second));
    members.hash("h");
    EXPECT_EQ(members.wrong(), "'h' must be a hash of 32 hex digits");
    members.count("none");
    EXPECT_EQ(members.wrong(), "'h' must be a hash of 32 hex digits");
}

TEST(TinyJson, WritesWhatItReads) {
    TinyJsonText text;
    EXPECT_EQ(text.count("a", 7).text("t", "x\n").counts("c", {{"k/\"", 1}}).object(),
              R"({"a":7,"t":"x\n","c":{"k/\"":1}})");
}

}  // namespace
}  // namespace millrace::stream

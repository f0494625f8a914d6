// Conversion of bytes to text.
#include "backend/text/utf8.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Utf8, GoodTextStaysAsItIs) {
    for (const char* text : {"", "plain", "caf\xc3\xa9", "\xe2\x82\xac 5", "\xf0\x9f\x98\x80 ok"}) {
        EXPECT_TRUE(isUtf8(text)) << text;
        EXPECT_EQ(toUtf8(text), text);
        EXPECT_FALSE(findBadByte(text).has_value());
    }
}

TEST(Utf8, EachBrokenSequenceIsOneReplacement) {
    EXPECT_EQ(toUtf8("caf\xe9!"), "caf\xef\xbf\xbd!");
    EXPECT_EQ(toUtf8("\xc3"), "\xef\xbf\xbd");
    EXPECT_EQ(toUtf8("\xe2\x82|"), "\xef\xbf\xbd|") << "a truncated character counts once";
    EXPECT_EQ(toUtf8("\xff\xfe"), "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Utf8, OverlongFormsSurrogatesAndWhatLiesBeyondUnicodeAreNone) {
    for (const char* bytes : {"\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                              "\xf8\x88\x80\x80\x80", "\x80"}) {
        EXPECT_FALSE(isUtf8(bytes));
        EXPECT_TRUE(isUtf8(toUtf8(bytes)));
    }
}

TEST(Utf8, ACutFallsBetweenCharacters) {
    const std::string text = "aaa\xc3\xa9";
    EXPECT_EQ(toUtf8(text, 5), text);
    EXPECT_EQ(toUtf8(text, 4), "aaa");
    EXPECT_EQ(toUtf8(text, 3), "aaa");
    EXPECT_EQ(toUtf8("\xf0\x9f\x98\x80x", 3), "");
    EXPECT_EQ(toUtf8("\xff\xff", 5), "\xef\xbf\xbd") << "replacements count too";
}

TEST(Utf8, WhateverTheBytesTheResultIsText) {
    std::uint32_t state = 7;
    for (int round = 0; round < 2'000; ++round) {
        std::string bytes;
        for (int i = 0; i < 40; ++i) {
            state = state * 1664525 + 1013904223;
            bytes += static_cast<char>(state >> 24);
        }
        for (const std::size_t most : {std::size_t{10}, std::size_t{33}, std::string::npos}) {
            const std::string text = toUtf8(bytes, most);
            EXPECT_TRUE(isUtf8(text));
            EXPECT_LE(text.size(), most);
        }
    }
}

TEST(Utf8, ABadByteHasItsLineAndColumn) {
    const auto bad = findBadByte("name: x\n# \xc3\xa9t\xe9\n");
    ASSERT_TRUE(bad.has_value());
    EXPECT_EQ(bad->line, 2);
    EXPECT_EQ(bad->column, 5);
    EXPECT_EQ(bad->byte, 0xe9);
}

TEST(Utf8, ThePrefixEndsBeforeTheFirstSequenceThatIsNone) {
    const std::string ascii(20, 'a');
    EXPECT_EQ(utf8Prefix(""), 0U);
    EXPECT_EQ(utf8Prefix(ascii), 20U);
    EXPECT_EQ(utf8Prefix(ascii + "\xc3\xa9" + "z"), 23U);
    EXPECT_EQ(utf8Prefix(ascii + "\xe9" + "z"), 20U);
    EXPECT_EQ(utf8Prefix(ascii + "\xe2\x82"), 20U);
}

}  // namespace
}  // namespace millrace

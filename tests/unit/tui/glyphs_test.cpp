#include "app/tui/glyphs.h"

#include <gtest/gtest.h>

#include "backend/text/text.h"

namespace millrace::tui {
namespace {

TEST(Glyphs, NothingThatATerminalObeysIsLeft) {
    EXPECT_EQ(printable("a\x1b[31mb\x07\tc\n"), "a?[31mb? c ");
    EXPECT_EQ(printable("\xc2\x9b"
                        "1m"),
              "?1m");  // the 8-bit CSI
    EXPECT_EQ(printable("\xff\xfe"), "??");
    EXPECT_EQ(printable("\xe2\x82"), "??");  // cut in the middle
    EXPECT_EQ(printable("a\u202eb\u2066c\u200fd\u061ce"), "a?b?c?d?e");
}

TEST(Glyphs, WithoutUtf8ThereIsAscii) {
    EXPECT_EQ(printable("naïve … – 東", false), "na?ve .. - ?");
}

TEST(Glyphs, TheMiddleIsCutSoThatBeginningAndEndStay) {
    EXPECT_EQ(elideMiddle("movielens-dlrm / keep-30", 15), "moviele…keep-30");
    EXPECT_EQ(elideMiddle("short", 15), "short");
    EXPECT_EQ(elideMiddle("abcdefghij", 6, false), "ab..ij");
    EXPECT_EQ(elideEnd("abcdefghij", 6), "abcde…");
    EXPECT_EQ(elideMiddle("abc", 0), "");
}

TEST(Glyphs, WideCharactersNeverMakeALineTooLong) {
    const std::string wide = "東京都千代田区丸の内";
    for (int width = 1; width < 20; ++width) {
        EXPECT_LE(displayWidth(elideMiddle(wide, width)), width) << width;
        EXPECT_LE(displayWidth(elideEnd(wide, width)), width) << width;
    }
    EXPECT_EQ(displayWidth(padRight(wide, 30)), 30);
    EXPECT_EQ(displayWidth(padLeft("7", 5)), 5);
}

TEST(Glyphs, ACombiningMarkBelongsToItsLetter) {
    EXPECT_EQ(glyphsOf("e\u0301x").size(), 2U);
}

}  // namespace
}  // namespace millrace::tui

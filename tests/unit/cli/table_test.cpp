#include "app/cli/frame/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> linesOf(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

Table aTable() {
    Table table({{"RUN", Align::kLeft, 7},
                 {"NAME", Align::kLeft, 12},
                 {"STEPS", Align::kRight, 5, 2},
                 {"LOSS", Align::kRight, 6, 1},
                 {"DATASET", Align::kLeft, 10, 3}});
    table.add({"r-abc23", "movielens-dlrm / keep-30-with-a-long-name", "630/630", "0.5123",
               "ratings-of-all-users-since-1995.csv"});
    table.add({"r-def45", "short", "12", "10.25", "a.csv"});
    return table;
}

TEST(Table, FitsFortyEightyAndTwoHundredColumns) {
    for (const int width : {20, 40, 80, 200}) {
        for (const std::string& line : linesOf(aTable().render({true, width, 0, true}))) {
            EXPECT_LE(displayWidth(line), width) << width << ": " << line;
        }
    }
}

TEST(Table, APipeGetsEverythingUncut) {
    const std::string text = aTable().render({false, 0, 0, true});
    EXPECT_THAT(text, HasSubstr("movielens-dlrm / keep-30-with-a-long-name"));
    EXPECT_THAT(text, HasSubstr("ratings-of-all-users-since-1995.csv"));
}

TEST(Table, NumbersStandToTheRightAndAreNeverCut) {
    const auto lines = linesOf(aTable().render({true, 80, 0, true}));
    EXPECT_THAT(lines[1], HasSubstr("630/630  0.5123"));
    EXPECT_THAT(lines[2], HasSubstr("     12   10.25"));
}

TEST(Table, TextIsCutInTheMiddle) {
    EXPECT_THAT(aTable().render({true, 80, 0, true}), HasSubstr("…"));
    EXPECT_THAT(aTable().render({true, 80, 0, false}), HasSubstr(".."));
    EXPECT_THAT(aTable().render({true, 200, 0, true}), Not(HasSubstr("…")));
}

TEST(Table, WhatMattersLeastIsLeftOutFirst) {
    const std::string text = aTable().render({true, 40, 0, true});
    EXPECT_THAT(text, HasSubstr("RUN"));
    EXPECT_THAT(text, HasSubstr("NAME"));
    EXPECT_THAT(text, Not(HasSubstr("DATASET")));
}

TEST(Table, ColoursNeverChangeTheLayout) {
    Table table({{"STATE", Align::kLeft}, {"N", Align::kRight}});
    table.add({{"failed", tui::Tone::kBad}, "7"});
    std::string colored = table.render({true, 80, 256, true});
    EXPECT_THAT(colored, HasSubstr("\x1b[38;5;166mfailed\x1b[0m"));
    for (std::size_t at; (at = colored.find('\x1b')) != std::string::npos;) {
        colored.erase(at, colored.find('m', at) - at + 1);
    }
    EXPECT_EQ(colored, table.render({true, 80, 0, true}));
}

TEST(Table, ANameCannotMoveTheCursor) {
    Table table({{"NAME", Align::kLeft}});
    table.add({"evil\x1b[2Jname\nnext"});
    const std::string text = table.render({true, 80, 0, true});
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(linesOf(text).size(), 2U);
}

TEST(Terminal, ObeysNoColorColumnsAndTheLocale) {
    std::map<std::string, std::string> variables = {{"COLUMNS", "40"}, {"LANG", "de_DE.UTF-8"}};
    const Environment environment = [&](const char* name) { return variables[name]; };
    EXPECT_EQ(detectTerminal(-1, environment).width, 40);
    EXPECT_TRUE(detectTerminal(-1, environment).isUtf8);
    EXPECT_EQ(detectTerminal(-1, environment).colors, 0);
    EXPECT_EQ(colorsOf(ColorChoice::kAlways, false, environment), 8);
    variables["TERM"] = "xterm-256color";
    EXPECT_EQ(colorsOf(ColorChoice::kAlways, false, environment), 256);
    variables["LC_ALL"] = "C";
    EXPECT_FALSE(detectTerminal(-1, environment).isUtf8);
    variables.erase("COLUMNS");
    EXPECT_EQ(detectTerminal(-1, environment).width, 0);
}

}  // namespace
}  // namespace millrace::cli

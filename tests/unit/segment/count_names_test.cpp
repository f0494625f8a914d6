#include "backend/segment/count_names.h"

#include <gtest/gtest.h>

#include "backend/text/text.h"

namespace millrace::segment {
namespace {

using Counts = std::map<std::string, std::int64_t>;

TEST(CountNames, ArePathsAndReasonsOfNoRowsAreLeftOut) {
    const CountNames names({{}, {"false", "null"}, {"no partner"}}, {"liked", "seen/long"},
                           {"user", "a/b"});
    RowCounts rows;
    rows.steps.resize(3);
    rows.steps[1].reasons = {0, 5};
    rows.steps[2].reasons = {7};
    rows.vocabularies = {{9, 2}, {0, 0}};
    rows.labels = {{0, 4}, {3, 0}};
    EXPECT_EQ(names.sumsOf(rows).counts, (Counts{{"step/1/null", 5},
                                                 {"step/2/no partner", 7},
                                                 {"label/nan/liked", 4},
                                                 {"label/null/seen/long", 3},
                                                 {"ids/user", 9},
                                                 {"unknown/user", 2},
                                                 {"ids/a/b", 0},
                                                 {"unknown/a/b", 0}}));
    EXPECT_EQ(names.numLeftOut(), 0U);
}

TEST(CountNames, OfASegmentWithoutRowsAreTheVocabularies) {
    const CountNames names({{"false", "null"}}, {"liked"}, {"user"});
    EXPECT_EQ(names.sumsOf({}).counts, (Counts{{"ids/user", 0}, {"unknown/user", 0}}));
}

TEST(CountNames, WhatHasNoRoomIsLeftOutInWholeVocabularies) {
    std::vector<std::string> features = {std::string(300, 'x'), "once", "once"};
    for (std::size_t i = 0; i < stream::kMaxRecordCounts / 2; ++i) {
        features.push_back(strCat("f", i));
    }
    const CountNames names({{"false", std::string(250, 'r')}}, {}, features);
    RowCounts rows;
    rows.steps.resize(1);
    rows.steps[0].reasons = {1, 1};
    const Counts counts = names.sumsOf(rows).counts;
    // A reason of 1,024, so the last vocabulary would need one more.
    EXPECT_EQ(counts.size(), stream::kMaxRecordCounts - 1);
    EXPECT_TRUE(counts.contains("step/0/false"));
    EXPECT_TRUE(counts.contains("ids/once"));
    EXPECT_TRUE(counts.contains("unknown/f509"));
    EXPECT_FALSE(counts.contains("ids/f510"));
    EXPECT_EQ(names.numLeftOut(), 1 + 2 + 2 + 2 * 2U);
}

TEST(CountNames, GoWithTheRowsOfASegment) {
    RowCounts rows;
    rows.rowsScanned = 100;
    rows.rowsPruned = 10;
    rows.rowsKept = 30;
    rows.steps.resize(stream::kMaxRecordSteps + 1);
    rows.steps[0].rowsIn = 90;
    rows.steps[0].rowsOut = 30;
    const stream::SegmentSums sums = CountNames({}, {}, {}).sumsOf(rows);
    EXPECT_EQ(sums.segments, 1);
    EXPECT_EQ(sums.rowsScanned, 100);
    EXPECT_EQ(sums.rowsPruned, 10);
    EXPECT_EQ(sums.rowsKept, 30);
    EXPECT_EQ(sums.steps.size(), stream::kMaxRecordSteps);
    EXPECT_EQ(sums.steps.front(), (stream::StepRows{90, 30}));
    EXPECT_TRUE(sums.counts.empty());
}

}  // namespace
}  // namespace millrace::segment

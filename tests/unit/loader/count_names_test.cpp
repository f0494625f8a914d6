#include "daemon/worker/loader/count_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/core/text.h"

namespace millrace::loader {
namespace {

using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

Counts filled(const CountNames& names, const segment::SegmentRecord& from) {
    ring::SegmentRecord record;
    names.fill(from, record);
    Counts counts;
    for (const ring::NamedCount& count : record.counts) {
        counts.emplace_back(count.name, count.value);
    }
    return counts;
}

TEST(CountNames, ArePathsAndReasonsOfNoRowsAreLeftOut) {
    const CountNames names({{}, {"false", "null"}, {"no partner"}}, {"user", "a/b"});
    segment::SegmentRecord record;
    record.steps.resize(3);
    record.steps[1].reasons = {0, 5};
    record.steps[2].reasons = {7};
    record.vocabularies = {{9, 2}, {0, 0}};
    EXPECT_EQ(filled(names, record), (Counts{{"step/1/null", 5},
                                             {"step/2/no partner", 7},
                                             {"ids/user", 9},
                                             {"unknown/user", 2},
                                             {"ids/a/b", 0},
                                             {"unknown/a/b", 0}}));
    EXPECT_EQ(names.numLeftOut(), 0U);
}

TEST(CountNames, OfASegmentWithoutRowsAreTheVocabularies) {
    const CountNames names({{"false", "null"}}, {"user"});
    EXPECT_EQ(filled(names, {}), (Counts{{"ids/user", 0}, {"unknown/user", 0}}));
}

TEST(CountNames, WhatHasNoRoomIsLeftOutInWholeVocabularies) {
    std::vector<std::string> features = {std::string(300, 'x'), "once", "once"};
    for (std::size_t i = 0; i < ring::kMaxRecordCounts / 2; ++i) {
        features.push_back(strCat("f", i));
    }
    const CountNames names({{"false", std::string(250, 'r')}}, features);
    segment::SegmentRecord record;
    record.steps.resize(1);
    record.steps[0].reasons = {1, 1};
    const Counts counts = filled(names, record);
    // A reason of 1,024, so the last vocabulary would need one more.
    EXPECT_EQ(counts.size(), ring::kMaxRecordCounts - 1);
    EXPECT_EQ(counts.front().first, "step/0/false");
    EXPECT_EQ(counts[1].first, "ids/once");
    EXPECT_EQ(counts.back().first, "unknown/f509");
    EXPECT_EQ(names.numLeftOut(), 1 + 2 + 2 + 2 * 2U);
}

}  // namespace
}  // namespace millrace::loader

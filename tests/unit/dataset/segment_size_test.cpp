// The number of splits in a default segment, and the bound that decided it.
#include <gtest/gtest.h>

#include "backend/dataset/plan/plan_builder.h"

namespace millrace::dataset {
namespace {

SegmentSize sizeOfSplits(const std::vector<std::pair<std::int64_t, std::int64_t>>& bytesAndRows) {
    std::vector<stream::PlanFile> files;
    for (const auto& [bytes, rows] : bytesAndRows) {
        files.emplace_back().splits.push_back({0, 0, rows, bytes});
    }
    return defaultSegmentSize(files);
}

TEST(Plan, ADefaultSegmentDecodesToTheTargetWithTheLargestSplits) {
    using Rule = stream::SegmentRule;
    EXPECT_EQ(sizeOfSplits({}), (SegmentSize{1, Rule::kAll}));
    EXPECT_EQ(sizeOfSplits({{300'000'000, 1}}), (SegmentSize{1, Rule::kAll}));
    EXPECT_EQ(sizeOfSplits({{100'000'000, 1}, {100'000'000, 1}, {100'000'000, 1}}),
              (SegmentSize{2, Rule::kBytes}));
    EXPECT_EQ(sizeOfSplits({{200'000'000, 1}, {1, 1}, {1, 1}, {50'000'000, 1}}),
              (SegmentSize{4, Rule::kAll}));
    EXPECT_EQ(sizeOfSplits({{255'000'000, 1}, {2'000'000, 1}}), (SegmentSize{1, Rule::kBytes}));
}

TEST(Plan, ADefaultSegmentHoldsTheTargetOfRowsWithTheLongestSplits) {
    using Rule = stream::SegmentRule;
    EXPECT_EQ(sizeOfSplits({{8, 131'072}, {8, 0}, {8, 0}}), (SegmentSize{3, Rule::kAll}));
    EXPECT_EQ(sizeOfSplits({{8, 131'072}, {8, 1}}), (SegmentSize{1, Rule::kRows}));
    EXPECT_EQ(sizeOfSplits({{8, 10}, {8, 65'536}, {8, 65'526}, {8, 9}}),
              (SegmentSize{3, Rule::kRows}));
    // With both bounds the tighter one decides; a split beyond them is a segment nevertheless.
    EXPECT_EQ(sizeOfSplits({{100'000'000, 60'000}, {100'000'000, 60'000}, {100'000'000, 60'000}}),
              (SegmentSize{2, Rule::kBytes}));
    EXPECT_EQ(sizeOfSplits({{10, 60'000}, {200'000'000, 60'000}, {10, 60'000}}),
              (SegmentSize{2, Rule::kRows}));
    EXPECT_EQ(sizeOfSplits({{8, 1'048'576}, {8, 1'048'576}}), (SegmentSize{1, Rule::kRows}));
}

}  // namespace
}  // namespace millrace::dataset

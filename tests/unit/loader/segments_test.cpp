#include "daemon/worker/loader/segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::loader {
namespace {

using stream::SegmentRule;
using testing::HasSubstr;

stream::Plan planOf(std::int64_t longest, SegmentRule rule) {
    stream::Plan plan;
    plan.files.emplace_back().splits = {{0, 0, 10, 8}, {1, 10, longest, 8}};
    plan.segmentRule = rule;
    return plan;
}

TEST(Segments, TheRuleThatMadeThemIsSaid) {
    EXPECT_EQ(segmentsText({1, SegmentRule::kRows}), "1 split each, as many as hold 131,072 rows");
    EXPECT_EQ(segmentsText({2000, SegmentRule::kBytes}),
              "2,000 splits each, as many as decode to 256 MB");
    EXPECT_EQ(segmentsText({3, SegmentRule::kAll}), "3 splits each, all of an epoch");
    EXPECT_EQ(segmentsText({3, SegmentRule::kGiven}), "3 splits each, batch.segment_splits");
    Json json = Json::object();
    addSegments(segmentSizeOf(planOf(1, SegmentRule::kRows)), json);
    EXPECT_EQ(json["segment_splits"], 1);
    EXPECT_EQ(json["segment_rule"], "rows");
}

TEST(Segments, LongRowGroupsAreNamedUnlessTheSpecWantsTheSegmentsSo) {
    EXPECT_EQ(segmentsAdvice(planOf(262'144, SegmentRule::kRows)), "");
    EXPECT_THAT(segmentsAdvice(planOf(262'145, SegmentRule::kRows)),
                HasSubstr("row groups of up to 262,145 rows"));
    EXPECT_THAT(segmentsAdvice(planOf(1'048'576, SegmentRule::kBytes)), HasSubstr("1,048,576"));
    EXPECT_EQ(segmentsAdvice(planOf(1'048'576, SegmentRule::kGiven)), "");
}

}  // namespace
}  // namespace millrace::loader

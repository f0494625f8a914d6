#include "backend/stream/receipt.h"

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

StreamState someState() {
    StreamState state;
    state.cursor = Cursor::start(std::string(32, 'a'), std::string(32, 'b'));
    state.cursor.next = 4;
    state.cursor.segment = 2;
    state.cursor.rest = {{1, 3}};
    state.orderHash = OrderHash(Sum128{7, 9});
    state.rowsDelivered = 1024;
    state.sums = {2, 3000, 1000, 1500, {{2000, 1800}, {1800, 1500}}};
    return state;
}

TEST(StreamState, RoundTripsThroughText) {
    const StreamState state = someState();
    const Result<StreamState> again = StreamState::fromText(state.toText());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->cursor, state.cursor);
    EXPECT_EQ(again->orderHash, state.orderHash);
    EXPECT_EQ(again->rowsDelivered, 1024);
    EXPECT_EQ(again->sums, state.sums);
    EXPECT_FALSE(StreamState::fromText("{}").ok());
    EXPECT_FALSE(StreamState::fromText(state.toText() + "x").ok());
}

TEST(StreamState, MergesRanksAtOneCursor) {
    StreamState other = someState();
    other.orderHash = OrderHash(Sum128{~std::uint64_t{0}, 1});
    other.sums = {};
    const Result<StreamState> all = StreamState::merge({someState(), other});
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(all->orderHash.sum(), (Sum128{6, 11}));
    EXPECT_EQ(all->rowsDelivered, 2048);
    EXPECT_EQ(all->sums, someState().sums);
    other.cursor.next = 5;
    EXPECT_FALSE(StreamState::merge({someState(), other}).ok());
    EXPECT_FALSE(StreamState::merge({}).ok());
}

TEST(SegmentSums, AddUpWithUnequalSteps) {
    SegmentSums sums{1, 10, 0, 5, {{10, 5}}};
    sums.add({1, 20, 5, 6, {{15, 10}, {10, 6}}});
    EXPECT_EQ(sums, (SegmentSums{2, 30, 5, 11, {{25, 15}, {10, 6}}}));
}

TEST(Receipt, IsMadeFromPlanAndStateAndRoundTrips) {
    Plan plan;
    plan.files = {{"/d/x", "x", 9, std::string(32, 'c'), 3000, {{0, 0, 3000, 1}}}};
    plan.sideTables = {{"/d/t", 5, std::string(32, 'd')}};
    const Receipt receipt = Receipt::of(plan, someState(), {"filter"}, 1000);
    ASSERT_EQ(receipt.steps.size(), 2U);
    EXPECT_EQ(receipt.steps[0], (ReceiptStep{"filter", 2000, 1800}));
    EXPECT_EQ(receipt.steps[1].name, "step 2");
    EXPECT_EQ(receipt.rowsTrained, 1000);
    EXPECT_EQ(receipt.orderHash, someState().orderHash.hex());
    const Result<Receipt> again = Receipt::fromJson(receipt.toJson());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, receipt);
    Json wrong = receipt.toJson();
    wrong["steps"][0]["rows_in"] = "many";
    EXPECT_FALSE(Receipt::fromJson(wrong).ok());
}

}  // namespace
}  // namespace millrace::stream

#include "backend/stream/receipt.h"

#include <gtest/gtest.h>

#include "backend/stream/read_state.h"

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
    state.sums.counts = {{"ids/a", 70},           {"ids/b/c", 9},   {"step/0/false", 150},
                         {"step/0/null", 50},     {"unknown/a", 7}, {"unknown/b/c", 0},
                         {"step/1/no partner", 3}};
    return state;
}

TEST(StreamState, RoundTripsThroughText) {
    const StreamState state = someState();
    const Result<StreamState> again = readState(state.toText());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->cursor, state.cursor);
    EXPECT_EQ(again->orderHash, state.orderHash);
    EXPECT_EQ(again->rowsDelivered, 1024);
    EXPECT_EQ(again->sums, state.sums);
    EXPECT_FALSE(readState("{}").ok());
    EXPECT_FALSE(readState(state.toText() + "x").ok());
    Json without = *parseJson(state.toText(), "state");
    without.erase("counts");
    EXPECT_EQ(messageOf(readState(dumpJson(without)).status()),
              "state: 'counts' must be an object");
}

TEST(SegmentSums, AddUpWithUnequalSteps) {
    SegmentSums sums{1, 10, 0, 5, {{10, 5}}};
    sums.add({1, 20, 5, 6, {{15, 10}, {10, 6}}});
    EXPECT_EQ(sums, (SegmentSums{2, 30, 5, 11, {{25, 15}, {10, 6}}}));
    sums.add({0, 0, 0, 0, {}, {{"ids/a", 1}}});
    sums.add({0, 0, 0, 0, {}, {{"ids/a", 2}, {"unknown/a", 0}}});
    EXPECT_EQ(sums.counts, (std::map<std::string, std::int64_t>{{"ids/a", 3}, {"unknown/a", 0}}));
    sums.add({kMaxCount, kMaxCount, 0, 0, {{kMaxCount, 0}}, {{"ids/a", kMaxCount}}});
    EXPECT_EQ(sums.segments, kMaxCount) << "a sum stops where it can still be read";
    EXPECT_EQ(sums.rowsScanned, kMaxCount);
    EXPECT_EQ(sums.steps[0], (StepRows{kMaxCount, 15}));
    EXPECT_EQ(sums.counts["ids/a"], kMaxCount);
}

TEST(Receipt, IsMadeFromPlanAndState) {
    Plan plan;
    plan.files = {{"/d/x", "x", 9, std::string(32, 'c'), 3000, {{0, 0, 3000, 1}}}};
    plan.sideTables = {{"/d/t", 5, std::string(32, 'd')}};
    const Receipt receipt = Receipt::of(plan, someState(), {"filter"}, 1000);
    ASSERT_EQ(receipt.steps.size(), 2U);
    EXPECT_EQ(receipt.steps[0],
              (ReceiptStep{"filter", 2000, 1800, {{"false", 150}, {"null", 50}}}));
    EXPECT_EQ(receipt.steps[1], (ReceiptStep{"step 2", 1800, 1500, {{"no partner", 3}}}));
    EXPECT_EQ(receipt.vocabularies, (std::vector<ReceiptVocabulary>{{"a", 70, 7}, {"b/c", 9, 0}}));
    EXPECT_EQ(receipt.rowsTrained, 1000);
    EXPECT_EQ(receipt.orderHash, someState().orderHash.hex());
    const Json json = receipt.toJson();
    EXPECT_EQ(json["steps"][0]["rows_in"], 2000);
    EXPECT_EQ(json["steps"][1]["reasons"][0]["name"], "no partner");
    EXPECT_EQ(json["vocabularies"][1]["feature"], "b/c");
}

TEST(Receipt, CountsTheSegmentThatTheRunEndedInsideWhole) {
    StreamState state = someState();
    state.cursor.offset = 2;
    const Receipt unknown = Receipt::of({}, state, {"filter"}, 1000);
    EXPECT_TRUE(unknown.endsInsideSegment);
    EXPECT_FALSE(unknown.isOpenSegmentCounted);
    EXPECT_EQ(unknown.rowsScanned, state.sums.rowsScanned);
    state.opened = {1, 500, 100, 300, {{400, 350}, {350, 300}}, {{"step/0/false", 40}}};
    const Receipt receipt = Receipt::of({}, state, {"filter"}, 1000);
    EXPECT_TRUE(receipt.isOpenSegmentCounted);
    EXPECT_EQ(receipt.rowsScanned, state.sums.rowsScanned + 500);
    EXPECT_EQ(receipt.rowsPruned, state.sums.rowsPruned + 100);
    EXPECT_EQ(receipt.rowsKept, state.sums.rowsKept + 300);
    EXPECT_EQ(receipt.steps[0],
              (ReceiptStep{"filter", 2400, 2150, {{"false", 190}, {"null", 50}}}));
    EXPECT_EQ(receipt.rowsTrained, 1000);
    EXPECT_EQ(receipt.toJson()["open_segment_counted"], true);
}

TEST(Receipt, KnowsTheRowsOfSideTablesThatThePlanKnows) {
    Plan plan;
    plan.sideTables = {{"items.csv", 9, std::string(32, 'a'), 1682},
                       {"Europe/Berlin", 9, std::string(32, 'b')}};
    const Result<Plan> stored = Plan::fromJson(*parseJson(plan.toJsonText(), "plan"));
    ASSERT_TRUE(stored.ok()) << stored.status();
    const Receipt receipt = Receipt::of(*stored, someState(), {}, 0);
    ASSERT_EQ(receipt.sideTables.size(), 2U);
    EXPECT_EQ(receipt.sideTables[0].rows, 1682);
    EXPECT_EQ(receipt.sideTables[1].rows, -1);
    EXPECT_EQ(jsonInt(receipt.toJson()["side_tables"][0], "rows"), 1682);
    EXPECT_FALSE(receipt.toJson()["side_tables"][1].contains("rows"));
}

Receipt someReceipt(const std::map<std::string, std::int64_t>& counts) {
    StreamState state = someState();
    state.sums.counts = counts;
    return Receipt::of({}, state, {"where", "filter"}, 1000);
}

TEST(Receipt, LeavesOutCountsThatItDoesNotKnow) {
    const Receipt receipt = someReceipt({{"step/2/null", 1},
                                         {"step/x/null", 1},
                                         {"step/0", 1},
                                         {"step/99999999999999999999/null", 1},
                                         {"step/", 1},
                                         {"unknown/alone", 1},
                                         {"later/kind", 1}});
    ASSERT_EQ(receipt.steps.size(), 2U);
    EXPECT_TRUE(receipt.steps[0].reasons.empty());
    EXPECT_TRUE(receipt.steps[1].reasons.empty());
    EXPECT_TRUE(receipt.vocabularies.empty());
}

TEST(Receipt, HasTheHeadsWithRowsWithoutALabel) {
    const Receipt receipt = someReceipt(
        {{"label/nan/liked", 4}, {"label/null/a/b", 3}, {"label/null/liked", 2}, {"label/x/c", 1}});
    EXPECT_EQ(receipt.labels, (std::vector<ReceiptLabel>{{"a/b", 3, 0}, {"liked", 2, 4}}));
    EXPECT_EQ(receipt.toJson()["labels"][1],
              *parseJson(R"({"head":"liked","null":2,"nan":4})", "test"));
}

}  // namespace
}  // namespace millrace::stream

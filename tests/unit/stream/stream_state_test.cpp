#include "backend/stream/state/stream_state.h"

#include <random>

#include <gtest/gtest.h>

#include "backend/stream/read_state.h"

namespace millrace::stream {
namespace {

StreamState emptyState() {
    StreamState state;
    state.cursor = Cursor::start(std::string(32, 'a'), std::string(32, 'b'));
    return state;
}

/// The readings of a text by the C library and by the daemon; they must agree.
bool isRead(const std::string& text) {
    StreamState state;
    const std::string wrong = state.read(text);
    const Result<StreamState> result = readState(text);
    EXPECT_EQ(wrong.empty(), result.ok()) << wrong << " of " << text.substr(0, 300);
    if (result.ok()) {
        EXPECT_EQ(state.toText(), result->toText());
    }
    return wrong.empty();
}

std::string withCounts(const std::string& counts) {
    std::string text = emptyState().toText();
    const std::string none = R"("counts":{})";
    return text.replace(text.find(none), none.size(), R"("counts":)" + counts);
}

TEST(StreamStateText, IsTheDocumentedOne) {
    StreamState state = emptyState();
    state.cursor.epoch = 2;
    state.cursor.next = 40;
    state.cursor.segment = 9;
    state.cursor.offset = 3;
    state.cursor.rest = {{4, 100}, {7, 50}};
    state.orderHash = OrderHash(Sum128{7, 1});
    state.rowsDelivered = 10240;
    state.sums = {9, 90000, 5, 20000, {{90000, 20000}}, {{"ids/größe", 7}, {"step/0/\"\\\n", 1}}};
    EXPECT_EQ(
        state.toText(),
        R"({"counts":{"ids/größe":7,"step/0/\"\\\n":1},"cursor":{"epoch":2,"next":40,)"
        R"("offset":3,"plan_hash":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","rest":[[4,100],[7,50]],)"
        R"("segment":9,"stream_hash":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","version":2},)"
        R"("order_hash":"00000000000000010000000000000007","rows_delivered":10240,)"
        R"("rows_kept":20000,"rows_pruned":5,"rows_scanned":90000,"segments":9,)"
        R"("steps":[[90000,20000]],"version":2})");
    EXPECT_EQ(dumpJson(*parseJson(state.toText(), "state")), state.toText())
        << "the same bytes as the JSON library's";
}

TEST(StreamStateText, AnOpenedSegmentStandsThereWhereThereIsOne) {
    StreamState state = emptyState(), read;
    state.cursor.offset = state.cursor.next = 3;
    EXPECT_EQ(state.toText().find("opened"), std::string::npos);
    state.opened = {1, 90, 5, 20, {{90, 20}}, {{"ids/x", 7}}};
    EXPECT_NE(state.toText().find(R"("opened":{"counts":{"ids/x":7},"rows_kept":20,)"
                                  R"("rows_pruned":5,"rows_scanned":90,"segments":1,)"
                                  R"("steps":[[90,20]]},"order_hash":)"),
              std::string::npos)
        << state.toText();
    EXPECT_EQ(dumpJson(*parseJson(state.toText(), "state")), state.toText());
    ASSERT_EQ(read.read(state.toText()), "");
    EXPECT_EQ(read.opened, state.opened);
    EXPECT_EQ(read.sums, state.sums);
    std::string wrong = state.toText();
    wrong.replace(wrong.find(R"("rows_kept":20)"), 14, R"("rows_kept":"x")");
    EXPECT_FALSE(isRead(wrong));
}

TEST(StreamStateText, WhatWasLeftOutStandsThereWhereThereIsSome) {
    StreamState state = emptyState(), read;
    EXPECT_EQ(state.toText().find("left_out"), std::string::npos);
    EXPECT_EQ(read.read(state.toText()), "");
    EXPECT_EQ(read.rowsLeftOut, 0);
    state.rowsLeftOut = 319;
    EXPECT_NE(state.toText().find(R"("rows_kept":0,"rows_left_out":319,"rows_pruned":0)"),
              std::string::npos)
        << state.toText();
    EXPECT_EQ(read.read(state.toText()), "");
    EXPECT_EQ(read.rowsLeftOut, 319);
    std::string text = state.toText();
    text.replace(text.find(":319"), 4, ":\"3\"");
    EXPECT_EQ(read.read(text), "state: 'rows_left_out' must be a count");
}

TEST(StreamStateText, CountsAreBounded) {
    EXPECT_TRUE(isRead(withCounts("{}")));
    EXPECT_TRUE(isRead(withCounts(R"({"a":0,"b\n":7})")));
    const std::string longest(kMaxCountNameBytes, 'n');
    EXPECT_TRUE(isRead(withCounts("{\"" + longest + "\":1}")));
    EXPECT_FALSE(isRead(withCounts("{\"" + longest + "n\":1}")));
    for (const char* wrong : {"[]", "null", "7", R"({"":1})", R"({"a":-1})", R"({"a":1.5})",
                              R"({"a":"1"})", R"({"a":{}})", R"({"a":9223372036854775807})"}) {
        EXPECT_FALSE(isRead(withCounts(wrong))) << wrong;
    }
    std::string many = "{\"0\":1";
    for (std::size_t i = 1; i < kMaxRecordCounts; ++i) {
        many += ",\"" + std::to_string(i) + "\":1";
    }
    EXPECT_TRUE(isRead(withCounts(many + "}")));
    EXPECT_FALSE(isRead(withCounts(many + ",\"x\":1}")));
}

TEST(StreamStateText, SaysWhatIsWrong) {
    StreamState state;
    EXPECT_EQ(state.read("x"),
              "state: not the text of a state: a JSON object of counts, texts and lists");
    EXPECT_EQ(state.read("{}"), "state: 'version' must be a count");
    EXPECT_EQ(state.read(R"({"version":3})"), "state: version 3, this program reads version 2");
    std::string text = emptyState().toText();
    text.replace(text.find(R"("next":0)"), 8, R"("next":"")");
    EXPECT_EQ(state.read(text), "cursor: 'next' must be a count");
}

TEST(StreamStateText, ReadsNothingButItsOwn) {
    StreamState counted = emptyState();
    counted.sums.counts = {{"ids/größe", 7}, {"step/0/null", 1}};
    const std::string text = counted.toText();
    StreamState state;
    ASSERT_EQ(state.read(text), "");
    EXPECT_EQ(state.sums, counted.sums);
    std::mt19937_64 random(9);
    for (int i = 0; i < 20'000; ++i) {
        std::string damaged = text;
        for (std::size_t k = random() % 3 + 1; k > 0; --k) {
            damaged[random() % damaged.size()] = static_cast<char>(random());
        }
        static_cast<void>(state.read(damaged.substr(0, random() % (damaged.size() + 1))));
    }
    EXPECT_NE(state.read(text.substr(1)), "");
    EXPECT_NE(state.read(""), "");
    EXPECT_NE(state.read(std::string(100'000, '[')), "");
}

}  // namespace
}  // namespace millrace::stream

#include "backend/ring/feed_state.h"

#include <random>

#include <gtest/gtest.h>

#include "backend/ring/tiny_json.h"
#include "backend/stream/open_rest.h"
#include "backend/stream/receipt.h"

namespace millrace::ring {
namespace {

FeedState emptyState() {
    FeedState state;
    state.streamHash = std::string(32, 'a');
    state.planHash = std::string(32, 'b');
    return state;
}

/// Feeds random segments to stream::OpenRest and to FeedProgress: the cursors must be the same.
TEST(FeedProgress, CursorsAreThoseOfTheStreamRoom) {
    std::mt19937_64 random(5);
    for (int round = 0; round < 500; ++round) {
        const auto b = static_cast<std::int64_t>(1 + random() % 7);
        FeedProgress progress;
        progress.begin(emptyState(), static_cast<std::uint64_t>(b));
        stream::OpenRest rest(b);
        std::vector<stream::Cursor> cursors;
        const std::int64_t segments = 1 + static_cast<std::int64_t>(random() % 6);
        for (std::int64_t s = 0; s < segments; ++s) {
            stream::Cursor at = stream::Cursor::start(std::string(32, 'a'), std::string(32, 'b'));
            at.segment = s;
            at.rest = rest.parts();
            const stream::SegmentShare share =
                rest.add(s, static_cast<std::int64_t>(random() % 20));
            for (at.offset = 0; at.offset < share.count(); ++at.offset) {
                at.next = share.first + at.offset;
                cursors.push_back(at);
            }
            StateRecord record;
            record.segment = static_cast<std::uint64_t>(s);
            record.first = static_cast<std::uint64_t>(share.first);
            record.count = static_cast<std::uint64_t>(share.count());
            record.tailRows = static_cast<std::uint64_t>(share.tailRows);
            ASSERT_EQ(progress.addRecord(record), nullptr);
        }
        for (const stream::Cursor& cursor : cursors) {
            FeedState state;
            ASSERT_EQ(progress.stateAt(0, static_cast<std::uint64_t>(cursor.next), state), nullptr);
            const auto read = stream::StreamState::fromText(state.toText());
            ASSERT_TRUE(read.ok()) << read.status() << state.toText();
            // A place at a segment's start may be given before empty segments.
            if (cursor.offset > 0) {
                EXPECT_EQ(read->cursor, cursor) << state.toText();
            } else {
                EXPECT_EQ(read->cursor.next, cursor.next);
                EXPECT_LE(read->cursor.segment, cursor.segment);
            }
            FeedState again;
            ASSERT_TRUE(FeedState::fromText(read->toText(), again));
            EXPECT_EQ(again.toText(), state.toText());
        }
    }
}

TEST(FeedProgress, AnEpochsEndIsTheNextOnesStartAndMayBeAskedForTwice) {
    FeedProgress progress;
    progress.begin(emptyState(), 4);
    ASSERT_EQ(progress.addRecord({0, 0, 0, 2, 1, {1, 10, 0, 9, {{10, 9}}}}), nullptr);
    progress.addBatch(0, 0, 1, 0, 4);
    progress.addBatch(0, 1, 2, 0, 4);
    progress.addBatch(0, 2, 4, 0, 1);
    FeedState before, after, again;
    ASSERT_EQ(progress.stateAt(0, 2, before), nullptr);
    EXPECT_EQ(before.segment, 1U);
    EXPECT_EQ(before.rest, (std::vector<StateRest>{{0, 1}}));
    EXPECT_EQ(before.hashLow, 3U);
    ASSERT_EQ(progress.endEpoch(0, 3), nullptr);
    ASSERT_EQ(progress.advance(0, 3, after), nullptr);
    EXPECT_EQ(after.epoch, 1U);
    EXPECT_EQ(after.next, 0U);
    EXPECT_TRUE(after.rest.empty());
    EXPECT_EQ(after.hashLow, 7U);
    EXPECT_EQ(after.rowsDelivered, 9U);
    EXPECT_EQ(after.sums.rowsScanned, 10U);
    ASSERT_EQ(progress.advance(0, 3, again), nullptr);
    EXPECT_EQ(again.toText(), after.toText());
    EXPECT_NE(progress.advance(0, 1, again), nullptr) << "never back";
}

TEST(FeedProgress, RefusesRecordsThatDoNotFollow) {
    FeedProgress progress;
    progress.begin(emptyState(), 4);
    EXPECT_NE(progress.addRecord({0, 1, 0, 2, 0, {}}), nullptr) << "a segment is missing";
    EXPECT_NE(progress.addRecord({0, 0, 1, 2, 0, {}}), nullptr) << "a number is missing";
    EXPECT_NE(progress.addRecord({0, 0, 0, 2, 4, {}}), nullptr) << "a tail of a micro-batch";
    EXPECT_EQ(progress.addRecord({0, 0, 0, 2, 0, {}}), nullptr);
    EXPECT_EQ(progress.addRecord({0, 0, 0, 2, 0, {}}), nullptr) << "again, after a reopen";
    EXPECT_NE(progress.addRecord({0, 0, 0, 3, 0, {}}), nullptr) << "changed";
    EXPECT_NE(progress.endEpoch(0, 1), nullptr);
    EXPECT_NE(progress.endEpoch(1, 2), nullptr);
    EXPECT_EQ(progress.endEpoch(0, 2), nullptr);
}

TEST(FeedProgress, KeepsABoundedHistory) {
    FeedProgress progress;
    progress.begin(emptyState(), 1);
    for (std::uint64_t n = 0; n < 200'000; ++n) {
        ASSERT_EQ(progress.addRecord({0, n, n, 1, 0, {1, 1, 0, 1, {}}}), nullptr);
        progress.addBatch(0, n, 1, 0, 1);
    }
    FeedState state;
    EXPECT_NE(progress.stateAt(0, 1, state), nullptr) << "too far back";
    ASSERT_EQ(progress.stateAt(0, 200'000, state), nullptr);
    EXPECT_EQ(state.hashLow, 200'000U);
    EXPECT_EQ(state.sums.rowsScanned, 200'000U);
}

TEST(FeedState, ReadsNothingButItsOwnText) {
    const std::string text = emptyState().toText();
    FeedState state;
    ASSERT_TRUE(FeedState::fromText(text, state));
    std::mt19937_64 random(9);
    for (int i = 0; i < 20'000; ++i) {
        std::string damaged = text;
        for (std::size_t k = random() % 3 + 1; k > 0; --k) {
            damaged[random() % damaged.size()] = static_cast<char>(random());
        }
        static_cast<void>(
            FeedState::fromText(damaged.substr(0, random() % (damaged.size() + 1)), state));
    }
    EXPECT_FALSE(FeedState::fromText(text.substr(1), state));
    EXPECT_FALSE(FeedState::fromText("", state));
    EXPECT_FALSE(FeedState::fromText(std::string(100'000, '['), state));
}

TEST(TinyJson, ReadsTextAndCounts) {
    TinyJson json;
    ASSERT_TRUE(TinyJson::parse(R"({"a": "x\"\u0041\n", "b": [1, 2], "c": null})", json));
    std::string text;
    EXPECT_TRUE(json.readText("a", text));
    EXPECT_EQ(text, "x\"A\n");
    EXPECT_EQ(json.find("b")->items.size(), 2U);
    for (const char* wrong :
         {"{", "{\"a\"}", "[1,]", "-1", "1.5", "\"", "\"\\u12\"", "1 2", "99999999999999999999"}) {
        EXPECT_FALSE(TinyJson::parse(wrong, json)) << wrong;
    }
    EXPECT_EQ(quoteJson("a\"\n"), "\"a\\\"\\u000a\"");
}

}  // namespace
}  // namespace millrace::ring

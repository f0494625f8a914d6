#include "backend/ring/feed_state.h"

#include <random>

#include <gtest/gtest.h>

#include "backend/ring/record_limits.h"
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

/// Sums of a random segment, the same in both rooms.
struct SomeSums {
    explicit SomeSums(std::mt19937_64& random) {
        const std::uint64_t rows = random() % 100;
        ring = {1, rows, rows / 10, rows / 2, {{rows, rows / 2}}};
        const auto n = static_cast<std::int64_t>(rows);
        stream = {1, n, n / 10, n / 2, {{n, n / 2}}};
        for (const char* name : {"ids/größe", "step/0/false", "unknown/a \"b\"\\c\n\t\x01\x7f"}) {
            if (random() % 3 > 0) {
                ring.counts[name] = rows;
                stream.counts[name] = n;
            }
        }
    }
    StateSums ring;
    stream::SegmentSums stream;
};

/// Feeds random segments to stream::OpenRest and to FeedProgress: cursors and sums must be the
/// same.
TEST(FeedProgress, CursorsAndSumsAreThoseOfTheStreamRoom) {
    std::mt19937_64 random(5);
    for (int round = 0; round < 500; ++round) {
        const auto b = static_cast<std::int64_t>(1 + random() % 7);
        FeedProgress progress;
        progress.begin(emptyState(), static_cast<std::uint64_t>(b));
        stream::OpenRest rest(b);
        std::vector<stream::Cursor> cursors;
        std::vector<stream::SegmentSums> sumsBefore(1);
        const std::int64_t segments = 1 + static_cast<std::int64_t>(random() % 6);
        std::int64_t partitionStart = 0;
        for (std::int64_t s = 0; s < segments; ++s) {
            stream::Cursor at = stream::Cursor::start(std::string(32, 'a'), std::string(32, 'b'));
            at.segment = s;
            at.rest = rest.parts();
            const auto kept = static_cast<std::int64_t>(random() % 20);
            partitionStart = random() % 3 == 0 ? s : partitionStart;
            const stream::SegmentShare share = rest.add(s, kept, partitionStart);
            for (at.offset = 0; at.offset < share.count(); ++at.offset) {
                at.next = share.first + at.offset;
                cursors.push_back(at);
            }
            StateRecord record;
            record.segment = static_cast<std::uint64_t>(s);
            record.first = static_cast<std::uint64_t>(share.first);
            record.count = static_cast<std::uint64_t>(share.count());
            record.tailRows = static_cast<std::uint64_t>(share.tailRows);
            SomeSums sums(random);
            sums.ring.rowsKept = static_cast<std::uint64_t>(kept);
            sums.stream.rowsKept = kept;
            record.sums = sums.ring;
            sumsBefore.push_back(sumsBefore.back());
            sumsBefore.back().add(sums.stream);
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
            EXPECT_EQ(read->sums, sumsBefore[static_cast<std::size_t>(read->cursor.segment)]);
            EXPECT_EQ(read->toText(), state.toText());
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

TEST(FeedProgress, RefusesMoreNamesOfCountsThanAStateHolds) {
    FeedState start = emptyState();
    start.sums.counts = {{"of the state", 1}};
    FeedProgress progress;
    progress.begin(start, 1);
    StateRecord record;
    for (std::size_t i = 1; i < kMaxRecordCounts; ++i) {
        record.sums.counts[std::to_string(i)] = 1;
    }
    EXPECT_EQ(progress.addRecord(record), nullptr);
    record.segment = 1;
    EXPECT_EQ(progress.addRecord(record), nullptr) << "the same names again";
    record.segment = 2;
    record.sums.counts = {{"one more", 1}};
    EXPECT_STREQ(progress.addRecord(record), "the segments' records have too many names of counts");
}

/// What both rooms say of a text; they must agree.
bool isRead(const std::string& text) {
    FeedState state;
    const bool isRead = FeedState::fromText(text, state);
    EXPECT_EQ(isRead, stream::StreamState::fromText(text).ok()) << text.substr(0, 300);
    return isRead;
}

std::string withCounts(const std::string& counts) {
    std::string text = emptyState().toText();
    const std::string none = R"("counts":{})";
    return text.replace(text.find(none), none.size(), R"("counts":)" + counts);
}

TEST(FeedState, BothRoomsTakeTheSameCounts) {
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

TEST(FeedState, AStateOfAVersionWithoutCountsGoesOnWithoutAny) {
    FeedState state = emptyState();
    state.sums = {3, 30, 0, 30, {{30, 30}}, {{"ids/x", 9}}};
    std::string text = state.toText();
    const std::string counts = R"("counts":{"ids/x":9},)";
    text.erase(text.find(counts), counts.size());
    FeedState old;
    ASSERT_TRUE(FeedState::fromText(text, old));
    EXPECT_FALSE(old.sums.hasCounts);
    EXPECT_EQ(old.toText(), text);
    const auto ofStream = stream::StreamState::fromText(text);
    ASSERT_TRUE(ofStream.ok()) << ofStream.status();
    EXPECT_FALSE(ofStream->sums.hasCounts);
    EXPECT_EQ(ofStream->toText(), text);

    FeedProgress progress;
    progress.begin(old, 4);
    ASSERT_EQ(progress.addRecord({0, 0, 0, 2, 0, {1, 10, 0, 8, {{10, 8}}, {{"ids/x", 5}}}}),
              nullptr);
    FeedState later;
    ASSERT_EQ(progress.stateAt(0, 2, later), nullptr);
    EXPECT_EQ(later.sums.rowsScanned, 40U);
    EXPECT_FALSE(later.sums.hasCounts) << "five of an unknown number of ids is no count";
    EXPECT_TRUE(later.sums.counts.empty());

    FeedState fresh = emptyState();
    text = withCounts("0");
    text.erase(text.find(R"("counts":0,)"), 11);
    ASSERT_TRUE(FeedState::fromText(text, fresh));
    EXPECT_TRUE(fresh.sums.hasCounts) << "no segment was summed up yet";
}

TEST(FeedState, ReadsNothingButItsOwnText) {
    FeedState counted = emptyState();
    counted.sums.counts = {{"ids/größe", 7}, {"step/0/null", 1}};
    const std::string text = counted.toText();
    FeedState state;
    ASSERT_TRUE(FeedState::fromText(text, state));
    EXPECT_EQ(state.sums.counts, counted.sums.counts);
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
    EXPECT_EQ(quoteJson("a\"\n\x01"), "\"a\\\"\\n\\u0001\"");
    ASSERT_TRUE(TinyJson::parse(R"({"counts":{"a/b\n":1,"größe":2}})", json));
    const TinyJson* counts = json.find("counts");
    ASSERT_NE(counts, nullptr);
    ASSERT_EQ(counts->members.size(), 2U);
    EXPECT_EQ(counts->members[0].name, "a/b\n");
    EXPECT_EQ(counts->find("größe")->count, 2U);
}

}  // namespace
}  // namespace millrace::ring

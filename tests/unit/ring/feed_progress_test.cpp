#include "backend/feed/feed_progress.h"

#include <random>

#include <gtest/gtest.h>

#include "backend/stream/micro_batch_count.h"
#include "backend/stream/read_state.h"

namespace millrace::ring {
namespace {

using stream::Cursor;
using stream::SegmentRecord;
using stream::SegmentSums;
using stream::StepMark;
using stream::StreamState;

StreamState emptyState() {
    StreamState state;
    state.cursor = Cursor::start(std::string(32, 'a'), std::string(32, 'b'));
    return state;
}

/// The mark of a step that only this rank got, [number - batches, number) of the epoch.
StepMark markOf(std::uint32_t epoch, std::int64_t number, std::int64_t batches, bool isLast,
                StepMark::Share own, const Sum128& hash, std::int64_t rows) {
    StepMark mark;
    mark.epoch = epoch;
    mark.number = number;
    mark.batches = batches;
    mark.rows = own.rows;
    mark.isLast = isLast;
    mark.orderHash = stream::OrderHash(hash);
    mark.rowsDelivered = rows;
    mark.own = own;
    return mark;
}

/// A step of one micro-batch with the hash 1.
const char* addStep(FeedProgress& progress, std::uint32_t epoch, std::int64_t number,
                    std::int64_t before, bool isLast = false) {
    const char* wrong = progress.addBatch({epoch, number}, {1, 0}, 1);
    bool isNew = false;
    return wrong != nullptr
               ? wrong
               : progress.addMark(markOf(epoch, number + 1, 1, isLast, {1, 1, {1, 0}},
                                         {static_cast<std::uint64_t>(before) + 1, 0}, before + 1),
                                  isNew);
}

SegmentSums someSums(std::mt19937_64& random, std::int64_t rowsKept) {
    const auto rows = static_cast<std::int64_t>(random() % 100);
    SegmentSums sums{1, rows, rows / 10, rowsKept, {{rows, rowsKept}}};
    for (const char* name : {"ids/größe", "step/0/false", "unknown/a \"b\"\\c\n\t\x01\x7f"}) {
        if (random() % 3 > 0) {
            sums.counts[name] = rows;
        }
    }
    return sums;
}

/// Feeds random segments to stream::MicroBatchCount and to FeedProgress: cursors must be the same.
TEST(FeedProgress, CursorsAreThoseOfTheOpenRest) {
    std::mt19937_64 random(5);
    for (int round = 0; round < 500; ++round) {
        const auto b = static_cast<std::int64_t>(1 + random() % 7);
        FeedProgress progress;
        progress.begin(emptyState(), b);
        stream::MicroBatchCount rest(b);
        std::vector<Cursor> cursors;
        std::vector<SegmentSums> sumsBefore(1), ownSums;
        const std::int64_t segments = 1 + static_cast<std::int64_t>(random() % 6);
        std::int64_t partitionStart = 0;
        for (std::int64_t s = 0; s < segments; ++s) {
            Cursor at = emptyState().cursor;
            at.segment = s;
            at.rest = rest.parts();
            const auto kept = static_cast<std::int64_t>(random() % 20);
            partitionStart = random() % 3 == 0 ? s : partitionStart;
            const stream::SegmentShare share = rest.add(s, kept, partitionStart);
            for (at.offset = 0; at.offset < share.count(); ++at.offset) {
                at.next = share.first + at.offset;
                cursors.push_back(at);
            }
            const SegmentRecord record{
                0, s, share.first, share.count(), share.tailRows, someSums(random, kept)};
            sumsBefore.push_back(sumsBefore.back());
            sumsBefore.back().add(record.sums);
            ownSums.push_back(record.sums);
            ASSERT_EQ(progress.addRecord(record), nullptr);
        }
        for (std::int64_t n = 0; n < static_cast<std::int64_t>(cursors.size()); ++n) {
            ASSERT_EQ(addStep(progress, 0, n, n), nullptr);
        }
        for (const Cursor& cursor : cursors) {
            StreamState state;
            ASSERT_EQ(progress.stateAt({0, cursor.next}, state), nullptr);
            EXPECT_EQ(state.rowsDelivered, cursor.next);
            // A position at a segment's start may be reported before empty segments.
            if (cursor.offset > 0) {
                EXPECT_EQ(state.cursor, cursor) << state.toText();
            } else {
                EXPECT_EQ(state.cursor.next, cursor.next);
                EXPECT_LE(state.cursor.segment, cursor.segment);
            }
            const auto segment = static_cast<std::size_t>(state.cursor.segment);
            EXPECT_EQ(state.sums, sumsBefore[segment]);
            EXPECT_EQ(state.opened, cursor.offset > 0 ? ownSums[segment] : SegmentSums{});
            const Result<StreamState> read = stream::readState(state.toText());
            ASSERT_TRUE(read.ok()) << read.status() << state.toText();
            EXPECT_EQ(read->toText(), state.toText());
        }
    }
}

// The first segment of a stream whose rows keep their order: its first rows are delivered before
// the whole segment is known.
TEST(FeedProgress, AnOpenedSegmentIsToldOnlyAtMarksBehindItsRecord) {
    FeedProgress progress;
    progress.begin(emptyState(), 1);
    ASSERT_EQ(addStep(progress, 0, 0, 0), nullptr);
    ASSERT_EQ(progress.addRecord({0, 0, 0, 3, 0, {1, 10, 0, 3, {{10, 3}}}}), nullptr);
    ASSERT_EQ(addStep(progress, 0, 1, 1), nullptr);
    ASSERT_EQ(addStep(progress, 0, 2, 2), nullptr);
    StreamState early, late, whole;
    ASSERT_EQ(progress.stateAt({0, 1}, early), nullptr);
    ASSERT_EQ(progress.stateAt({0, 2}, late), nullptr);
    ASSERT_EQ(progress.stateAt({0, 3}, whole), nullptr);
    EXPECT_EQ(early.opened, SegmentSums{});
    EXPECT_EQ(late.opened, (SegmentSums{1, 10, 0, 3, {{10, 3}}}));
    EXPECT_EQ(late.sums, SegmentSums{});
    EXPECT_EQ(whole.opened, SegmentSums{});
    EXPECT_EQ(whole.sums, late.opened);
    // A reader that resumes there reads the segment's record again and counts it once.
    FeedProgress resumed;
    resumed.begin(*stream::readState(late.toText()), 1);
    EXPECT_EQ(resumed.base().toText(), late.toText());
    ASSERT_EQ(resumed.addRecord({0, 0, 0, 3, 0, {1, 10, 0, 3, {{10, 3}}}}), nullptr);
    ASSERT_EQ(addStep(resumed, 0, 2, 2), nullptr);
    StreamState end;
    ASSERT_EQ(resumed.stateAt({0, 3}, end), nullptr);
    EXPECT_EQ(end.toText(), whole.toText());
}

TEST(FeedProgress, AnEpochsEndIsTheNextOnesStartAndMayBeAskedForTwice) {
    FeedProgress progress;
    progress.begin(emptyState(), 4);
    ASSERT_EQ(progress.addRecord({0, 0, 0, 2, 1, {1, 10, 0, 9, {{10, 9}}}}), nullptr);
    bool isNew = false;
    ASSERT_EQ(progress.addBatch({0, 0}, {1, 0}, 4), nullptr);
    ASSERT_EQ(progress.addBatch({0, 1}, {2, 0}, 4), nullptr);
    ASSERT_EQ(progress.addMark(markOf(0, 2, 2, false, {2, 8, {3, 0}}, {3, 0}, 8), isNew), nullptr);
    ASSERT_TRUE(isNew);
    ASSERT_EQ(progress.addBatch({0, 2}, {4, 0}, 1), nullptr);
    StreamState before, after, again;
    EXPECT_NE(progress.stateAt({0, 1}, before), nullptr) << "within a step";
    EXPECT_NE(progress.stateAt({0, 3}, before), nullptr) << "its mark is not there";
    ASSERT_EQ(progress.stateAt({0, 2}, before), nullptr);
    EXPECT_EQ(before.cursor.segment, 1);
    EXPECT_EQ(before.cursor.rest, (std::vector<stream::RestPart>{{0, 1}}));
    EXPECT_EQ(before.orderHash.sum(), (Sum128{3, 0}));
    ASSERT_EQ(progress.addMark(markOf(0, 3, 1, true, {1, 1, {4, 0}}, {7, 0}, 9), isNew), nullptr);
    ASSERT_EQ(progress.endEpoch(0, 3), nullptr);
    EXPECT_NE(progress.endEpoch(0, 4), nullptr);
    StreamState prefetched;
    ASSERT_EQ(progress.stateAt({0, 2}, prefetched), nullptr);
    EXPECT_EQ(prefetched.toText(), before.toText()) << "whatever was read meanwhile";
    ASSERT_EQ(progress.advance({0, 3}, after), nullptr);
    EXPECT_EQ(after.cursor.epoch, 1U);
    EXPECT_EQ(after.cursor.next, 0);
    EXPECT_TRUE(after.cursor.rest.empty());
    EXPECT_EQ(after.orderHash.sum(), (Sum128{7, 0}));
    EXPECT_EQ(after.rowsDelivered, 9);
    EXPECT_EQ(after.sums.rowsScanned, 10);
    for (const FeedProgress::Place place : {FeedProgress::Place{0, 3}, {1, 0}}) {
        ASSERT_EQ(progress.advance(place, again), nullptr);
        EXPECT_EQ(again.toText(), after.toText());
    }
    EXPECT_NE(progress.advance({0, 2}, again), nullptr) << "never back";
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
    EXPECT_NE(progress.endEpoch(0, 2), nullptr) << "before its last mark";
    EXPECT_EQ(addStep(progress, 0, 0, 0), nullptr);
    EXPECT_NE(addStep(progress, 0, 3, 1, true), nullptr) << "more than the records have";
}

TEST(FeedProgress, RefusesMarksThatDoNotFollow) {
    const auto refused = [](StepMark mark) {
        FeedProgress progress;
        progress.begin(emptyState(), 4);
        EXPECT_EQ(progress.addRecord({0, 0, 0, 4, 0, {}}), nullptr);
        EXPECT_EQ(progress.addBatch({0, 1}, {5, 0}, 4), nullptr);
        bool isNew = false;
        const char* wrong = progress.addMark(mark, isNew);
        return wrong == nullptr ? "" : std::string(wrong);
    };
    const StepMark right = markOf(0, 2, 2, false, {1, 4, {5, 0}}, {9, 0}, 8);
    EXPECT_EQ(refused(right), "");
    const std::string order = "a step's mark does not follow the one before";
    const std::string share =
        "this rank's micro-batches of a step are not those that its mark tells of";
    StepMark wrong = right;
    wrong.epoch = 1;
    EXPECT_EQ(refused(wrong), order);
    wrong = right;
    wrong.number = wrong.batches = 1;
    EXPECT_EQ(refused(wrong), order) << "before a micro-batch that came";
    wrong = right;
    wrong.batches = 1;
    EXPECT_EQ(refused(wrong), order) << "a step is missing";
    wrong = right;
    wrong.isLeftOut = true;
    EXPECT_EQ(refused(wrong), order) << "only an epoch's last step is left out";
    wrong = right;
    wrong.own.hash = {6, 0};
    EXPECT_EQ(refused(wrong), share);
    wrong = right;
    wrong.own.batches = 0;
    EXPECT_EQ(refused(wrong), share);
    wrong = right;
    wrong.isLast = true;
    EXPECT_EQ(refused(wrong), "an epoch's total is not what its segments' records add up to");
}

TEST(FeedProgress, AMarkThatComesAgainMustSayTheSame) {
    FeedProgress progress;
    progress.begin(emptyState(), 4);
    ASSERT_EQ(progress.addRecord({0, 0, 0, 4, 0, {}}), nullptr);
    ASSERT_EQ(addStep(progress, 0, 0, 0), nullptr);
    ASSERT_EQ(addStep(progress, 0, 1, 1), nullptr);
    StepMark again = markOf(0, 1, 1, false, {}, {1, 0}, 1);
    again.rows = 1;
    bool isNew = true;
    EXPECT_EQ(progress.addMark(again, isNew), nullptr) << "another feed has another share";
    EXPECT_FALSE(isNew);
    again.rowsDelivered = 2;
    EXPECT_STREQ(progress.addMark(again, isNew), "a step's mark changed when it came again");
}

TEST(FeedProgress, AStateSaysWhatWasLeftOut) {
    FeedProgress progress;
    progress.begin(emptyState(), 4);
    ASSERT_EQ(progress.addRecord({0, 0, 0, 3, 0, {}}), nullptr);
    ASSERT_EQ(progress.addBatch({0, 0}, {1, 0}, 4), nullptr);
    ASSERT_EQ(progress.addBatch({0, 1}, {1, 0}, 4), nullptr);
    bool isNew = false;
    ASSERT_EQ(progress.addMark(markOf(0, 2, 2, false, {2, 8, {2, 0}}, {2, 0}, 8), isNew), nullptr);
    StepMark last = markOf(0, 3, 1, true, {}, {2, 0}, 8);
    last.rows = last.rowsLeftOut = 3;
    last.isLeftOut = true;
    ASSERT_EQ(progress.addMark(last, isNew), nullptr) << "a joined ring gets nothing of it";
    StreamState state;
    ASSERT_EQ(progress.stateAt({0, 2}, state), nullptr);
    EXPECT_EQ(state.rowsLeftOut, 0);
    ASSERT_EQ(progress.stateAt({0, 3}, state), nullptr);
    EXPECT_EQ(state.rowsLeftOut, 3);
    EXPECT_EQ(state.rowsDelivered, 8);
    EXPECT_EQ(state.cursor.epoch, 1U);
}

TEST(FeedProgress, KeepsABoundedHistory) {
    FeedProgress progress;
    progress.begin(emptyState(), 1);
    for (std::int64_t n = 0; n < 200'000; ++n) {
        ASSERT_EQ(progress.addRecord({0, n, n, 1, 0, {1, 1, 0, 1, {}}}), nullptr);
        ASSERT_EQ(addStep(progress, 0, n, n), nullptr);
    }
    StreamState state;
    EXPECT_NE(progress.stateAt({0, 1}, state), nullptr) << "too far back";
    ASSERT_EQ(progress.stateAt({0, 200'000}, state), nullptr);
    EXPECT_EQ(state.orderHash.sum(), (Sum128{200'000, 0}));
    EXPECT_EQ(state.sums.rowsScanned, 200'000);
}

TEST(FeedProgress, RefusesMoreNamesOfCountsThanAStateHolds) {
    StreamState start = emptyState();
    start.sums.counts = {{"of the state", 1}};
    FeedProgress progress;
    progress.begin(start, 1);
    SegmentRecord record;
    for (std::size_t i = 1; i < stream::kMaxRecordCounts; ++i) {
        record.sums.counts[std::to_string(i)] = 1;
    }
    EXPECT_EQ(progress.addRecord(record), nullptr);
    record.segment = 1;
    EXPECT_EQ(progress.addRecord(record), nullptr) << "the same names again";
    record.segment = 2;
    record.sums.counts = {{"one more", 1}};
    EXPECT_STREQ(progress.addRecord(record), "the segments' records have too many names of counts");
}

}  // namespace
}  // namespace millrace::ring

#include "backend/stream/micro_batch_count.h"

#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "backend/stream/read_state.h"

namespace millrace::stream {
namespace {

using RowId = std::pair<std::int64_t, std::int64_t>;  // segment, row
struct Batch {
    std::int64_t number, segment, index;
    std::vector<RowId> rows;
    bool operator==(const Batch&) const = default;
};

/// The first segment of each segment's partition; empty: there is one partition.
using Starts = std::vector<std::int64_t>;

std::int64_t startOf(const Starts& starts, std::int64_t segment) {
    return starts.empty() ? 0 : starts[static_cast<std::size_t>(segment)];
}

/// The definition, row by row.
std::vector<Batch> oracle(const std::vector<std::int64_t>& segments, std::int64_t b,
                          const Starts& starts = {}) {
    std::vector<Batch> out;
    std::vector<RowId> rest;
    std::int64_t number = 0;
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(segments.size()); ++s) {
        const std::int64_t rows = segments[static_cast<std::size_t>(s)];
        std::int64_t row = 0, index = 0;
        const bool isOfEarlier = !rest.empty() && rest.front().first < startOf(starts, s);
        if (isOfEarlier && static_cast<std::int64_t>(rest.size()) + rows >= b) {
            for (; static_cast<std::int64_t>(rest.size()) < b; ++row) {
                rest.emplace_back(s, row);
            }
            out.push_back({number++, s, index++, std::exchange(rest, {})});
        }
        for (; row + b <= rows; row += b) {
            Batch batch{number++, s, index++, {}};
            for (std::int64_t r = row; r < row + b; ++r) {
                batch.rows.emplace_back(s, r);
            }
            out.push_back(batch);
        }
        for (; row < rows; ++row) {
            rest.emplace_back(s, row);
        }
        if (static_cast<std::int64_t>(rest.size()) >= b) {
            out.push_back({number++, s, index, {rest.begin(), rest.begin() + b}});
            rest.erase(rest.begin(), rest.begin() + b);
        }
    }
    if (!rest.empty()) {
        out.push_back({number, static_cast<std::int64_t>(segments.size()), 0, rest});
    }
    return out;
}

Batch expand(const JoinedBatch& joined, const std::vector<std::int64_t>& segments) {
    Batch batch{joined.number, joined.segment, joined.index, {}};
    for (const Piece& piece : joined.pieces) {
        const std::int64_t from =
            piece.from == Piece::kFromEnd
                ? segments[static_cast<std::size_t>(piece.segment)] - piece.rows
                : piece.from;
        for (std::int64_t r = from; r < from + piece.rows; ++r) {
            batch.rows.emplace_back(piece.segment, r);
        }
    }
    EXPECT_EQ(joined.rows, static_cast<std::int64_t>(batch.rows.size()));
    return batch;
}

struct Made {
    std::vector<Batch> batches;
    std::vector<Cursor> cursors;  // cursors[n]: before micro-batch n
};

/// Runs MicroBatchCount from a cursor; keeps the batches from cursor.next on.
Made run(MicroBatchCount rest, const Cursor& from, const std::vector<std::int64_t>& segments,
         std::int64_t b, const Starts& starts = {}) {
    Made made;
    const auto total = static_cast<std::int64_t>(segments.size());
    const auto keep = [&](Batch batch, Cursor at) {
        if (batch.number >= from.next) {
            at.next = batch.number;
            made.cursors.push_back(std::move(at));
            made.batches.push_back(std::move(batch));
        }
    };
    for (std::int64_t s = from.segment; s < total; ++s) {
        Cursor at = from;
        at.segment = s;
        at.rest = rest.parts();
        const SegmentShare share =
            rest.add(s, segments[static_cast<std::size_t>(s)], startOf(starts, s));
        EXPECT_LT(rest.rows(), b);
        if (share.lead > 0) {
            at.offset = 0;
            keep(expand(*share.joined, segments), at);
        }
        for (std::int64_t i = 0; i < share.full; ++i) {
            const std::int64_t index = share.firstFull() + i;
            Batch batch{share.first + index, s, index, {}};
            for (std::int64_t r = i * b; r < (i + 1) * b; ++r) {
                batch.rows.emplace_back(s, share.lead + r);
            }
            at.offset = index;
            keep(std::move(batch), at);
        }
        if (share.joined && share.lead == 0) {
            at.offset = share.full;
            keep(expand(*share.joined, segments), at);
        }
        EXPECT_EQ(rest.next(), share.first + share.count());
    }
    Cursor at = from;
    at.segment = total;
    at.offset = 0;
    at.rest = rest.parts();
    if (const auto last = rest.finish(total)) {
        keep(expand(*last, segments), at);
    }
    return made;
}

std::vector<std::int64_t> randomSegments(std::mt19937_64& random, std::int64_t b) {
    std::vector<std::int64_t> segments(random() % 12);
    for (std::int64_t& rows : segments) {
        rows = static_cast<std::int64_t>(
            random() % 4 == 0 ? random() % 3 : random() % static_cast<std::uint64_t>(4 * b));
    }
    return segments;
}

Starts randomStarts(std::mt19937_64& random, std::size_t segments) {
    Starts starts;
    for (std::size_t s = 0; s < segments; ++s) {
        starts.push_back(s == 0 || random() % 3 == 0 ? static_cast<std::int64_t>(s)
                                                     : starts.back());
    }
    return starts;
}

TEST(MicroBatchCount, EqualsTheOracleForRandomPartitionsAndResumesAtAnyCursor) {
    std::mt19937_64 random(6);
    for (int round = 0; round < 1000; ++round) {
        const auto b = static_cast<std::int64_t>(1 + random() % 9);
        const std::vector<std::int64_t> segments = randomSegments(random, b);
        const Starts starts = randomStarts(random, segments.size());
        const Made made = run(MicroBatchCount(b), Cursor{}, segments, b, starts);
        ASSERT_EQ(made.batches, oracle(segments, b, starts));
        for (std::size_t n = 0; n < made.cursors.size(); ++n) {
            const Made resumed =
                run(MicroBatchCount(b, made.cursors[n]), made.cursors[n], segments, b, starts);
            ASSERT_EQ(resumed.batches,
                      std::vector<Batch>(made.batches.begin() + static_cast<long>(n),
                                         made.batches.end()));
        }
    }
}

// The rest of a partition comes before all rows of the first segments that can fill a micro-batch
// with it, not only when a tail is long enough.
TEST(MicroBatchCount, RowsOfAPartitionLeaveBeforeTheNextOnesOwn) {
    MicroBatchCount rest(10);
    EXPECT_EQ(rest.add(0, 13, 0).count(), 1);
    const SegmentShare next = rest.add(1, 24, 1);
    ASSERT_TRUE(next.joined);
    EXPECT_EQ(next.lead, 7);
    EXPECT_EQ(next.joined->number, 1);
    EXPECT_EQ(next.joined->index, 0);
    EXPECT_EQ(next.joined->pieces, (std::vector<Piece>{{0, 10, 3}, {1, 0, 7}}));
    EXPECT_EQ(next.full, 1);
    EXPECT_EQ(next.tailRows, 7);
    EXPECT_EQ(rest.parts(), (std::vector<RestPart>{{1, 7}}));
    // Segments that are too small wait with the rest; the next segment takes both.
    EXPECT_EQ(rest.add(2, 2, 2).count(), 0);
    const SegmentShare last = rest.add(3, 1, 3);
    ASSERT_TRUE(last.joined);
    EXPECT_EQ(last.joined->pieces, (std::vector<Piece>{{1, 17, 7}, {2, 0, 2}, {3, 0, 1}}));
    EXPECT_EQ(last.count(), 1);
    EXPECT_EQ(rest.rows(), 0);
}

TEST(MicroBatchCount, EqualsTheOracleForRandomSegments) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 2000; ++round) {
        const auto b = static_cast<std::int64_t>(1 + random() % 9);
        const auto segments = randomSegments(random, b);
        const Made made = run(MicroBatchCount(b), Cursor{}, segments, b);
        ASSERT_EQ(made.batches, oracle(segments, b)) << "round " << round;
    }
}

TEST(MicroBatchCount, ResumedAtAnyCursorGivesExactlyTheRest) {
    std::mt19937_64 random(2);
    for (int round = 0; round < 300; ++round) {
        const auto b = static_cast<std::int64_t>(1 + random() % 9);
        const auto segments = randomSegments(random, b);
        const Made whole = run(MicroBatchCount(b), Cursor{}, segments, b);
        for (const Cursor& cursor : whole.cursors) {
            Cursor again = cursor;
            again.streamHash = again.planHash = std::string(32, '0');
            const Result<Cursor> read = readCursor(again.toText());
            ASSERT_TRUE(read.ok()) << read.status() << again.toText();
            ASSERT_TRUE(checkCursor(*read, again.streamHash, again.planHash,
                                    static_cast<std::int64_t>(segments.size()), b)
                            .ok());
            const Made resumed = run(MicroBatchCount(b, *read), *read, segments, b);
            const std::vector<Batch> expected(whole.batches.begin() + cursor.next,
                                              whole.batches.end());
            ASSERT_EQ(resumed.batches, expected);
        }
    }
}

TEST(MicroBatchCount, ResumedAfterTheRestWasTakenGivesNothing) {
    Cursor cursor;
    cursor.next = 1;
    cursor.segment = 2;
    cursor.offset = 1;
    cursor.rest = {{1, 3}};
    MicroBatchCount rest(5, cursor);
    const auto last = rest.finish(2);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->number, 0);
    EXPECT_LT(last->number, cursor.next);
}

TEST(MicroBatchCount, StartsNumbersAgainInEachEpoch) {
    MicroBatchCount rest(4);
    EXPECT_EQ(rest.add(0, 9).full, 2);
    const auto last = rest.finish(1);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->rows, 1);
    EXPECT_EQ(rest.next(), 3);
    rest.startEpoch();
    EXPECT_EQ(rest.add(0, 4).first, 0);
    EXPECT_FALSE(rest.finish(1));
    EXPECT_EQ(rest.next(), 1);
}

}  // namespace
}  // namespace millrace::stream

#include "backend/stream/open_rest.h"

#include <random>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

using RowId = std::pair<std::int64_t, std::int64_t>;  // segment, row
struct Batch {
    std::int64_t number, segment, index;
    std::vector<RowId> rows;
    bool operator==(const Batch&) const = default;
};

/// The definition, row by row.
std::vector<Batch> oracle(const std::vector<std::int64_t>& segments, std::int64_t b) {
    std::vector<Batch> out;
    std::vector<RowId> rest;
    std::int64_t number = 0;
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(segments.size()); ++s) {
        const std::int64_t rows = segments[static_cast<std::size_t>(s)];
        std::int64_t row = 0, index = 0;
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

/// Runs OpenRest from a cursor; keeps batches from cursor.next on.
Made run(OpenRest rest, const Cursor& from, const std::vector<std::int64_t>& segments,
         std::int64_t b) {
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
        const SegmentShare share = rest.add(s, segments[static_cast<std::size_t>(s)]);
        EXPECT_LT(rest.rows(), b);
        for (std::int64_t i = 0; i < share.full; ++i) {
            Batch batch{share.first + i, s, i, {}};
            for (std::int64_t r = i * b; r < (i + 1) * b; ++r) {
                batch.rows.emplace_back(s, r);
            }
            at.offset = i;
            keep(std::move(batch), at);
        }
        if (share.joined) {
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

TEST(OpenRest, EqualsTheOracleForRandomSegments) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 2000; ++round) {
        const auto b = static_cast<std::int64_t>(1 + random() % 9);
        const auto segments = randomSegments(random, b);
        const Made made = run(OpenRest(b), Cursor{}, segments, b);
        ASSERT_EQ(made.batches, oracle(segments, b)) << "round " << round;
    }
}

TEST(OpenRest, ResumedAtAnyCursorGivesExactlyTheRest) {
    std::mt19937_64 random(2);
    for (int round = 0; round < 300; ++round) {
        const auto b = static_cast<std::int64_t>(1 + random() % 9);
        const auto segments = randomSegments(random, b);
        const Made whole = run(OpenRest(b), Cursor{}, segments, b);
        for (const Cursor& cursor : whole.cursors) {
            Cursor again = cursor;
            again.streamHash = again.planHash = std::string(32, '0');
            const Result<Cursor> read = Cursor::fromText(again.toText());
            ASSERT_TRUE(read.ok()) << read.status() << again.toText();
            ASSERT_TRUE(read->check(again.streamHash, again.planHash,
                                    static_cast<std::int64_t>(segments.size()), b)
                            .ok());
            const Made resumed = run(OpenRest(b, *read), *read, segments, b);
            const std::vector<Batch> expected(whole.batches.begin() + cursor.next,
                                              whole.batches.end());
            ASSERT_EQ(resumed.batches, expected);
        }
    }
}

TEST(OpenRest, ResumedAfterTheRestWasTakenGivesNothing) {
    Cursor cursor;
    cursor.next = 1;
    cursor.segment = 2;
    cursor.offset = 1;
    cursor.rest = {{1, 3}};
    OpenRest rest(5, cursor);
    const auto last = rest.finish(2);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->number, 0);
    EXPECT_LT(last->number, cursor.next);
}

TEST(OpenRest, StartsNumbersAgainInEachEpoch) {
    OpenRest rest(4);
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

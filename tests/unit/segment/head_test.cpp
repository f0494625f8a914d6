// The first rows of a stream, computed before the others: only the time of the first frame may
// change.
#include <algorithm>

#include "tests/unit/segment/request_fixture.h"

namespace millrace::segment {
namespace {

class HeadTest : public RequestTest {
 protected:
    std::vector<SeenBatch> batchesOf(const std::shared_ptr<const StreamInput>& input, int threads,
                                     const stream::Cursor& start = {}) {
        RememberingSink sink;
        EXPECT_TRUE(run(input, sink, threads, 2, start).ok()) << sink.errorText;
        records_ = sink.records;
        return sink.batches();
    }

    // Numbers and bytes.
    static void expectSame(const std::vector<SeenBatch>& got, std::span<const SeenBatch> wanted,
                           const std::string& where) {
        ASSERT_EQ(got.size(), wanted.size()) << where;
        for (std::size_t b = 0; b < got.size(); ++b) {
            EXPECT_EQ(got[b].number, wanted[b].number) << where;
            EXPECT_TRUE(got[b].bytes == wanted[b].bytes) << where << ", batch " << b;
        }
    }

    std::vector<stream::SegmentRecord> records_;
};

TEST_F(HeadTest, ChangesNoByteOfAnyFrame) {
    writeFiles();
    for (const std::string features :
         {"request: request, dedup: required, lists: [history]",
          "request: request, dedup: \"off\", lists: [history, tags]"}) {
        const auto input = open(specText(features, "none"));
        headRows_ = 0;
        const std::vector<SeenBatch> wanted = batchesOf(input, 1);
        const std::vector<stream::SegmentRecord> records = records_;
        for (const std::int64_t rows : {1, 100, 192, 250}) {
            headRows_ = rows;
            for (const int threads : {1, 3}) {
                expectSame(batchesOf(input, threads), wanted, strCat(rows, " rows, ", threads));
                ASSERT_EQ(records_.size(), records.size());
                for (std::size_t s = 0; s < records.size(); ++s) {
                    EXPECT_EQ(records_[s].first, records[s].first);
                    EXPECT_EQ(records_[s].count, records[s].count);
                    EXPECT_EQ(records_[s].tailRows, records[s].tailRows);
                    EXPECT_EQ(records_[s].sums.rowsScanned, records[s].sums.rowsScanned);
                    EXPECT_EQ(records_[s].sums.rowsKept, records[s].sums.rowsKept);
                    EXPECT_EQ(records_[s].sums.steps[0].out, records[s].sums.steps[0].out);
                }
            }
        }
    }
}

// Splits that are only a little longer than the head are computed whole: here the first one, or
// two, of five.
TEST_F(HeadTest, IsOfWholeSplitsWhereTheseAreSmall) {
    writeFiles();
    std::string text = specText("request: request, dedup: required, lists: [history]", "none");
    const std::string two = "segment_splits: 2";
    text.replace(text.find(two), two.size(), "segment_splits: 5");
    const auto input = open(text);
    const auto expectHead = [&](std::int64_t least, std::size_t splits, std::int64_t rows) {
        const SegmentPart head = input->headOf(0, 0, least);
        EXPECT_EQ(head.kind, splits + static_cast<std::size_t>(rows) > 0
                                 ? SegmentPart::Kind::kHead
                                 : SegmentPart::Kind::kWhole)
            << least;
        EXPECT_EQ(head.headSplits, splits) << least;
        EXPECT_EQ(head.headRows, rows) << least;
    };
    expectHead(0, 0, 0);
    expectHead(100, 0, 128);  // a whole number of micro-batches
    expectHead(250, 1, 0);    // more than half of a split
    expectHead(900, 2, 0);    // into the second split
    expectHead(1250, 0, 0);   // more than half of the segment
    headRows_ = 0;
    const std::vector<SeenBatch> wanted = batchesOf(input, 1);
    for (const std::int64_t rows : {100, 250, 900}) {
        headRows_ = rows;
        for (const int threads : {1, 3}) {
            expectSame(batchesOf(input, threads), wanted, strCat(rows, " rows, ", threads));
        }
        RememberingSink first(9);
        stream::Cursor cursor;
        EXPECT_EQ(run(input, first, 2, 2, {}, &cursor).code(), absl::StatusCode::kCancelled);
        expectSame(batchesOf(input, 2, cursor), std::span(wanted).subspan(9),
                   strCat(rows, " rows, resumed"));
    }
}

TEST_F(HeadTest, ChangesNoByteAfterAResume) {
    writeFiles();
    const auto input =
        open(specText("request: request, dedup: required, lists: [history]", "none"));
    const std::vector<SeenBatch> wanted = batchesOf(input, 1);
    headRows_ = 128;
    for (std::size_t most = 1; most < 40; most += 3) {
        RememberingSink first(static_cast<std::int64_t>(most));
        stream::Cursor cursor;
        EXPECT_EQ(run(input, first, 2, 2, {}, &cursor).code(), absl::StatusCode::kCancelled);
        expectSame(batchesOf(input, 2, cursor), std::span(wanted).subspan(most),
                   strCat("after ", most));
    }
}

TEST_F(HeadTest, ComesBeforeTheRestIsRead) {
    writeFiles();
    const auto input = open(specText("lists: [history]", "none"));
    struct OneSink : RememberingSink {
        using RememberingSink::RememberingSink;
        Status segment(const stream::SegmentRecord& record, std::stop_token stop) override {
            framesBefore = static_cast<std::int64_t>(batches().size());
            return RememberingSink::segment(record, std::move(stop));
        }
        std::int64_t framesBefore = -1;
    };
    // The record is made when the whole segment is known; a single thread reads the rest
    // afterwards. Seven in eight of the 500 rows stay.
    for (const auto& [rows, frames] : {std::pair{128, 1}, {250, 6}}) {
        headRows_ = rows;
        OneSink sink(frames + 1);
        EXPECT_EQ(run(input, sink, 1).code(), absl::StatusCode::kCancelled);
        EXPECT_EQ(sink.framesBefore, frames) << rows;
    }
}

}  // namespace
}  // namespace millrace::segment

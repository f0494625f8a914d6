// The global sequence over small CSV files: order, threads, epochs, tails, cursors, evaluation.
#include <algorithm>
#include <set>

#include "backend/stream/read_state.h"
#include "tests/unit/segment/stream_fixture.h"

namespace millrace::segment {
namespace {

using RowId = std::pair<std::uint32_t, std::uint64_t>;

std::vector<RowId> rowsOf(const std::vector<SeenBatch>& batches, std::uint32_t epoch = 0) {
    std::vector<RowId> rows;
    for (const SeenBatch& batch : batches) {
        if (batch.epoch == epoch) {
            rows.insert(rows.end(), batch.rows.begin(), batch.rows.end());
        }
    }
    return rows;
}

bool isKept(int file, int row) {
    const int value = 3 * row + file;
    return value % 10 != 7 && value % 7 != 0;
}

class SequenceTest : public StreamTest {
 protected:
    void SetUp() override { writeCsv(); }

    std::vector<RowId> keptInFileOrder() const {
        std::vector<RowId> rows;
        for (int f = 0; f < kFiles; ++f) {
            for (int r = 0; r < kRowsPerFile; ++r) {
                if (isKept(f, r)) {
                    rows.emplace_back(f, r);
                }
            }
        }
        return rows;
    }
};

TEST_F(SequenceTest, IsTheSameForAnyNumberOfThreads) {
    const auto input = open(specText(batchText()));
    RememberingSink one, two, four;
    ASSERT_TRUE(run(input, one, 1).ok());
    ASSERT_TRUE(run(input, two, 2).ok());
    ASSERT_TRUE(run(input, four, 4).ok());
    EXPECT_TRUE(one.hasEnded && two.hasEnded && four.hasEnded);
    EXPECT_GT(one.batches().size(), 100U);
    EXPECT_EQ(one.batches(), two.batches());
    EXPECT_EQ(one.batches(), four.batches());
    EXPECT_EQ(one.orderHash(), two.orderHash());
    EXPECT_EQ(one.orderHash(), four.orderHash());
}

TEST_F(SequenceTest, AnotherSeedGivesAnotherOrder) {
    RememberingSink seven, eight;
    ASSERT_TRUE(run(open(specText(batchText())), seven, 2).ok());
    std::string text = specText(batchText());
    text.replace(text.find("seed: 7"), 7, "seed: 8");
    ASSERT_TRUE(run(open(text), eight, 2).ok());
    EXPECT_NE(seven.orderHash(), eight.orderHash());
    auto a = rowsOf(seven.batches()), b = rowsOf(eight.batches());
    EXPECT_NE(a, b);
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    EXPECT_EQ(a, b);
}

TEST_F(SequenceTest, EpochsDifferButHoldTheSameRows) {
    RememberingSink sink;
    ASSERT_TRUE(run(open(specText(batchText())), sink, 2).ok());
    auto first = rowsOf(sink.batches(), 0), second = rowsOf(sink.batches(), 1);
    EXPECT_NE(first, second);
    std::sort(first.begin(), first.end());
    std::sort(second.begin(), second.end());
    EXPECT_EQ(first, keptInFileOrder());
    EXPECT_EQ(second, keptInFileOrder());
}

TEST_F(SequenceTest, JoinsTailsSoThatOnlyTheLastMicroBatchIsShort) {
    RememberingSink sink;
    const auto input = open(specText(batchText("rows", 1)));
    ASSERT_GE(input->numSegments(), 10);
    ASSERT_TRUE(run(input, sink, 2, 1).ok());
    const auto batches = sink.batches();
    ASSERT_EQ(sink.totals, std::vector<std::int64_t>{static_cast<std::int64_t>(batches.size())});
    for (std::size_t i = 0; i < batches.size(); ++i) {
        EXPECT_EQ(batches[i].number, static_cast<std::int64_t>(i));
        EXPECT_EQ(batches[i].rows.size(),
                  i + 1 < batches.size() ? 16U : keptInFileOrder().size() % 16)
            << i;
    }
    std::int64_t scanned = 0, kept = 0, tails = 0;
    for (const stream::SegmentRecord& record : sink.records) {
        scanned += record.sums.rowsScanned;
        kept += record.sums.rowsKept;
        tails += record.tailRows > 0 ? 1 : 0;
    }
    EXPECT_EQ(scanned, kFiles * kRowsPerFile);
    EXPECT_EQ(kept, static_cast<std::int64_t>(keptInFileOrder().size()));
    EXPECT_GT(tails, 10);
}

// Another, slow computation of the sequence: rows as a map, segments by hand, the rest as one list.
TEST_F(SequenceTest, EqualsASlowOracle) {
    const auto input = open(specText(batchText("rows", 1)));
    const auto& files = input->files();
    const auto order = stream::splitOrder(files, 7, 0);
    std::vector<std::vector<RowId>> expected;
    std::vector<RowId> rest;
    for (const stream::SplitRef& ref : order) {
        const stream::PlanSplit& split = files[ref.file].splits[ref.split];
        std::map<std::uint64_t, RowId> byKey;
        for (auto r = static_cast<int>(split.firstRow); r < split.firstRow + split.rows; ++r) {
            if (isKept(static_cast<int>(ref.file), r)) {
                const auto key = stream::rowKey(7, stream::fileKey(0, files[ref.file].relativePath),
                                                static_cast<std::uint64_t>(r));
                byKey[key] = {ref.file, r};
            }
        }
        std::vector<RowId> rows;
        for (const auto& [key, row] : byKey) {
            rows.push_back(row);
        }
        std::size_t at = 0;
        for (; at + 16 <= rows.size(); at += 16) {
            expected.emplace_back(rows.begin() + static_cast<long>(at),
                                  rows.begin() + static_cast<long>(at) + 16);
        }
        rest.insert(rest.end(), rows.begin() + static_cast<long>(at), rows.end());
        if (rest.size() >= 16) {
            expected.emplace_back(rest.begin(), rest.begin() + 16);
            rest.erase(rest.begin(), rest.begin() + 16);
        }
    }
    if (!rest.empty()) {
        expected.push_back(rest);
    }
    RememberingSink sink;
    ASSERT_TRUE(run(input, sink, 2, 1).ok());
    std::vector<std::vector<RowId>> got;
    for (const SeenBatch& batch : sink.batches()) {
        got.push_back(batch.rows);
    }
    EXPECT_EQ(got, expected);
}

TEST_F(SequenceTest, FramesHoldTheValuesOfTheirRows) {
    RememberingSink sink;
    const auto input = open(specText(batchText("rows", 1)));
    ASSERT_TRUE(run(input, sink, 2, 1).ok());
    for (const SeenBatch& batch : sink.batches()) {
        frame::FrameBuffer aligned(batch.bytes.size());
        std::memcpy(aligned.bytes().data(), batch.bytes.data(), batch.bytes.size());
        const auto view = frame::FrameView::open(aligned.bytes());
        ASSERT_TRUE(view.ok()) << view.status();
        const auto at = [&view](frame::Role role, const char* name) {
            return static_cast<std::size_t>(view->find(role, name));
        };
        const auto dense = view->values<float>(at(frame::Role::kDense, "dense"));
        const auto label = view->values<float>(at(frame::Role::kLabel, "label"));
        const auto mask = view->values<std::uint8_t>(at(frame::Role::kMask, "label"));
        const auto carried = view->values<std::int64_t>(at(frame::Role::kCarry, "value"));
        const auto list = view->offsets(at(frame::Role::kList, "list"));
        for (std::size_t r = 0; r < view->rows(); ++r) {
            const auto value =
                static_cast<std::int64_t>(3 * batch.rows[r].second + batch.rows[r].first);
            EXPECT_EQ(carried[r], value);
            EXPECT_EQ(dense[2 * r], static_cast<float>(value) / 2);
            EXPECT_EQ(dense[2 * r + 1], static_cast<float>(value));
            EXPECT_EQ(label[r], value % 5 == 0 ? 1.0F : 0.0F);
            EXPECT_EQ(mask[r], 1);
            if (batch.rows[r].second % 3 == 2) {
                EXPECT_EQ(list[r + 1] - list[r], 2);
            }
        }
    }
}

TEST_F(SequenceTest, WithoutShuffleKeepsTheFilesOrder) {
    RememberingSink sink;
    std::string text = specText(batchText("none", 1));
    text.replace(text.find("shuffle: none"), 13, "shuffle: none, order: as_is");
    ASSERT_TRUE(run(open(text), sink, 3, 1).ok());
    auto rows = rowsOf(sink.batches());
    // Tails join later micro-batches, so only the rows of one segment are in file order.
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(rows, keptInFileOrder());
    for (const SeenBatch& batch : sink.batches()) {
        EXPECT_TRUE(std::is_sorted(batch.rows.begin(), batch.rows.end()));
    }
}

TEST_F(SequenceTest, ResumesFromAnyCursorWithExactlyTheRest) {
    const auto input = open(specText(batchText()));
    RememberingSink whole;
    ASSERT_TRUE(run(input, whole, 2).ok());
    const auto all = whole.batches();
    for (const std::size_t cut : {0UL, 1UL, 4UL, 5UL, 6UL, 23UL, 50UL, all.size() / 2 - 1,
                                  all.size() / 2, all.size() / 2 + 1, all.size() - 1}) {
        RememberingSink before(static_cast<std::int64_t>(cut)), after;
        stream::Cursor cursor;
        EXPECT_FALSE(run(input, before, 1, 2, {}, &cursor).ok());
        const auto text = stream::readCursor(cursor.toText());
        ASSERT_TRUE(text.ok()) << text.status();
        ASSERT_TRUE(run(input, after, 2, 2, *text).ok()) << cut;
        auto joined = before.batches();
        const auto rest = after.batches();
        joined.insert(joined.end(), rest.begin(), rest.end());
        EXPECT_EQ(joined, all) << "cut after " << cut;
    }
}

TEST_F(SequenceTest, RefusesACursorOfAnotherStream) {
    const auto input = open(specText(batchText()));
    RememberingSink sink;
    const stream::Cursor other = stream::Cursor::start(std::string(32, 'a'), std::string(32, 'b'));
    EXPECT_EQ(run(input, sink, 1, 2, other).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SequenceTest, EvaluationHasItsRowsInFileOrder) {
    RememberingSink sink;
    ASSERT_TRUE(run(open(specText(batchText()), recipe::Part::kEval), sink, 2, 1).ok());
    auto rows = rowsOf(sink.batches());
    std::vector<RowId> expected;
    for (int f = 0; f < kFiles; ++f) {
        for (int r = 0; r < kRowsPerFile; ++r) {
            if ((3 * r + f) % 10 == 7) {
                expected.emplace_back(f, r);
            }
        }
    }
    EXPECT_EQ(rows.size(), expected.size());
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(rows, expected);
}

TEST_F(SequenceTest, WholeRequestsMoveTogether) {
    std::string text = specText(batchText("requests", 1));
    const std::string from = "carry: [value, tags]";
    text.replace(text.find(from), from.size(), from + ", request: block");
    const std::string derive = "derive: {half";
    text.replace(text.find(derive), derive.size(), "derive: {half");
    // A column of the file with the same value in four adjacent rows.
    for (int f = 0; f < kFiles; ++f) {
        std::ofstream out(directory_ / strCat("part-", f, ".csv"));
        out << "user,value,label,tags,block\n";
        for (int r = 0; r < kRowsPerFile; ++r) {
            out << r % 17 << ',' << 3 * r + f << ",0,x," << r / 4 << '\n';
        }
    }
    RememberingSink sink;
    ASSERT_TRUE(run(open(text), sink, 2, 1).ok());
    std::set<RowId> finished;
    RowId current{99, 0};
    for (const RowId& row : rowsOf(sink.batches())) {
        const RowId block{row.first, row.second / 4};
        if (block != current) {
            finished.insert(current);
            current = block;
        }
    }
    // Tails move rows to other micro-batches, so most blocks, but not all, are in one micro-batch.
    EXPECT_GT(finished.size(), 400U);
}

}  // namespace
}  // namespace millrace::segment

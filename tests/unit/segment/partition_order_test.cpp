// batch.order: {by: column}: one day after the other, shuffled within each.
#include <filesystem>

#include "backend/stream/read_state.h"
#include "tests/unit/segment/stream_fixture.h"

namespace millrace::segment {
namespace {

class PartitionOrder : public StreamTest {
 protected:
    static constexpr int kDays = 4, kRowsPerDay = 370, kSplitRows = 50;

    /// Days in descending order of their files' names, two files each; `day` is the directory, and
    /// `label` marks every third row.
    void SetUp() override {
        for (int day = 0; day < kDays; ++day) {
            const std::string directory = directory_ / strCat("day=", 20 - day);
            std::filesystem::create_directories(directory);
            for (int part = 0; part < 2; ++part) {
                std::ofstream out(strCat(directory, "/part-", part, ".csv"));
                out << "x,label\n";
                for (int r = 0; r < kRowsPerDay / 2; ++r) {
                    out << r << ',' << (r % 3 == 0 ? 1 : 0) << '\n';
                }
            }
        }
    }

    std::string text(const std::string& order = "{by: day}", int seed = 7) const {
        return strCat("name: t\ndataset: {path: \"", directory_.path(),
                      "\", format: csv, csv_split_rows: ", kSplitRows,
                      "}\nlabel: label\nfeatures: {dense: [x], carry: [day]}\n"
                      "model: {type: mlp, hidden: [4]}\nbatch: {rows: 64, micro_rows: 16, epochs: "
                      "2, segment_splits: 3, seed: ",
                      seed, ", order: ", order, "}\n");
    }

    static std::vector<std::int64_t> daysOf(const StreamInput& input,
                                            const std::vector<SeenBatch>& batches) {
        std::vector<std::int64_t> days;
        for (const SeenBatch& batch : batches) {
            for (const auto& [file, row] : batch.rows) {
                days.push_back(input.files()[file].splits[0].partition);
            }
        }
        return days;
    }
};

TEST_F(PartitionOrder, RowsComeDayByDayAndAreShuffledWithin) {
    const auto input = open(text());
    ASSERT_EQ(input->numSegments(), kDays * 3) << "8 splits a day, 3 in a segment";
    RememberingSink sink;
    ASSERT_TRUE(run(input, sink, 2, 1).ok());
    const auto batches = sink.batches();
    const std::vector<std::int64_t> days = daysOf(*input, batches);
    ASSERT_EQ(days.size(), static_cast<std::size_t>(kDays * kRowsPerDay));
    // When the next day begins, the open rest has fewer than micro_rows rows.
    std::vector<std::int64_t> rowsOfDay(kDays, 0), lateRows(kDays, 0);
    std::int64_t newest = 0;
    for (const std::int64_t day : days) {
        ++rowsOfDay[static_cast<std::size_t>(day)];
        lateRows[static_cast<std::size_t>(day)] += day < newest ? 1 : 0;
        newest = std::max(newest, day);
    }
    for (std::size_t day = 0; day < kDays; ++day) {
        EXPECT_EQ(rowsOfDay[day], kRowsPerDay);
        EXPECT_LT(lateRows[day], input->microRows());
    }
    // The least value comes first: its directory is the last by name.
    EXPECT_NE(input->files()[batches[0].rows[0].first].path.find("day=17"), std::string::npos);
    // Shuffled: neighbours of a file rarely follow each other, and a batch mixes its segment.
    std::int64_t neighbours = 0;
    for (const SeenBatch& batch : batches) {
        for (std::size_t r = 1; r < batch.rows.size(); ++r) {
            const auto [file, row] = batch.rows[r - 1];
            neighbours += batch.rows[r] == std::pair(file, row + 1) ? 1 : 0;
        }
    }
    EXPECT_LT(neighbours, kDays * kRowsPerDay / 20);
}

// Each day leaves a short rest: it comes before the next day's rows, and is not carried from day to
// day until tails fill a micro-batch.
TEST_F(PartitionOrder, WhatIsLeftOfADayComesBeforeTheNextOnesOwn) {
    const auto input = open(text() + "recipe: [{filter: x < 129}]\n");
    RememberingSink sink;
    ASSERT_TRUE(run(input, sink, 3, 1).ok());
    const auto batches = sink.batches();
    const std::vector<std::int64_t> days = daysOf(*input, batches);
    ASSERT_EQ(days.size(), static_cast<std::size_t>(kDays) * 2 * 129);
    for (std::size_t row = 1; row < days.size(); ++row) {
        EXPECT_LE(days[row - 1], days[row]) << "row " << row;
    }
    for (std::size_t i = 0; i + 1 < batches.size(); ++i) {
        EXPECT_EQ(batches[i].rows.size(), static_cast<std::size_t>(input->microRows())) << i;
    }
}

TEST_F(PartitionOrder, NoSegmentCrossesADay) {
    const auto input = open(text());
    for (const std::uint32_t epoch : {0U, 1U}) {
        std::int64_t last = 0;
        for (std::int64_t segment = 0; segment < input->numSegments(); ++segment) {
            const auto splits = input->splitsOf(epoch, segment);
            ASSERT_FALSE(splits.empty());
            for (const stream::SplitRef& ref : splits) {
                const std::int64_t day = input->files()[ref.file].splits[ref.split].partition;
                EXPECT_EQ(day, segment / 3);
                EXPECT_GE(day, last);
                last = day;
            }
        }
    }
}

TEST_F(PartitionOrder, IsTheSameForAnyThreadsAndDependsOnSeedAndEpoch) {
    const auto input = open(text());
    RememberingSink one, two, four, other, permuted;
    ASSERT_TRUE(run(input, one, 1).ok());
    ASSERT_TRUE(run(input, two, 2).ok());
    ASSERT_TRUE(run(input, four, 4).ok());
    EXPECT_EQ(one.batches(), two.batches());
    EXPECT_EQ(one.orderHash(), two.orderHash());
    EXPECT_EQ(one.orderHash(), four.orderHash());
    ASSERT_TRUE(run(open(text("{by: day}", 8)), other, 2).ok());
    EXPECT_NE(one.orderHash(), other.orderHash());
    const auto all = one.batches();
    const std::vector<SeenBatch> first(all.begin(),
                                       all.begin() + static_cast<long>(all.size() / 2));
    std::vector<SeenBatch> second(all.begin() + static_cast<long>(all.size() / 2), all.end());
    EXPECT_NE(first[0].rows, second[0].rows) << "another epoch, another shuffle";
    EXPECT_EQ(daysOf(*input, {first[0]}), daysOf(*input, {second[0]})) << "but the same first day";
}

TEST_F(PartitionOrder, ResumesFromAnyCursorWithExactlyTheRest) {
    const auto input = open(text());
    RememberingSink whole;
    ASSERT_TRUE(run(input, whole, 2).ok());
    const auto all = whole.batches();
    for (std::size_t cut = 0; cut < all.size(); cut += 13) {
        RememberingSink before(static_cast<std::int64_t>(cut)), after;
        stream::Cursor cursor;
        EXPECT_FALSE(run(input, before, 1, 2, {}, &cursor).ok());
        const auto read = stream::readCursor(cursor.toText());
        ASSERT_TRUE(read.ok()) << read.status();
        ASSERT_TRUE(run(input, after, 3, 2, *read).ok()) << cut;
        auto joined = before.batches();
        const auto rest = after.batches();
        joined.insert(joined.end(), rest.begin(), rest.end());
        EXPECT_EQ(joined, all) << "cut after " << cut;
    }
}

TEST_F(PartitionOrder, IsPartOfTheStreamHash) {
    const std::string byDay = open(text())->streamHash();
    EXPECT_NE(byDay, open(text("permuted"))->streamHash());
    EXPECT_NE(byDay, open(text("as_is"))->streamHash());
}

}  // namespace
}  // namespace millrace::segment

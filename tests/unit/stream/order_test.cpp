#include "backend/stream/order.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "backend/core/philox.h"

namespace millrace::stream {
namespace {

std::vector<PlanFile> someFiles(int files, int splits) {
    std::vector<PlanFile> list;
    for (int f = 0; f < files; ++f) {
        PlanFile file;
        file.relativePath = strCat("part-", f);
        for (int s = 0; s < splits; ++s) {
            file.splits.push_back({s, s * 10, 10, 1});
        }
        list.push_back(file);
    }
    return list;
}

bool less(const SplitRef& a, const SplitRef& b) {
    return std::pair(a.file, a.split) < std::pair(b.file, b.split);
}

TEST(SplitOrder, IsAPermutationThatSeedAndEpochDecide) {
    const auto files = someFiles(7, 9);
    const auto order = splitOrder(files, 5, 0);
    EXPECT_EQ(order, splitOrder(files, 5, 0));
    EXPECT_NE(order, splitOrder(files, 6, 0));
    EXPECT_NE(order, splitOrder(files, 5, 1));
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end(), less);
    EXPECT_EQ(sorted, splitOrder(files, 5, 0, SplitOrder::kAsIs));
}

TEST(SplitOrder, FollowsTheSplitKeys) {
    const auto files = someFiles(3, 5);
    const auto order = splitOrder(files, 11, 2);
    std::uint64_t last = 0;
    for (const SplitRef& ref : order) {
        const std::uint64_t key =
            splitKey(11, splitFileKey(2, files[ref.file].relativePath), ref.split * 10U);
        EXPECT_LE(last, key);
        last = key;
    }
}

TEST(SplitOrder, DependsOnRelativePathsNotOnOtherFiles) {
    auto files = someFiles(4, 4);
    const auto order = splitOrder(files, 3, 0);
    files.pop_back();
    auto kept = order;
    std::erase_if(kept, [](const SplitRef& ref) { return ref.file == 3; });
    EXPECT_EQ(splitOrder(files, 3, 0), kept);
}

TEST(SplitOrder, GoldenKeysStay) {
    EXPECT_EQ(splitKey(7, splitFileKey(0, "a.parquet"), 0), [] {
        DrawKey key(DrawPurpose::kSplit, "");
        key.epoch(0).rest().text("a.parquet");
        return philox64(7, key.counter(), 0);
    }());
    EXPECT_NE(fileKey(0, "a.parquet"), fileKey(1, "a.parquet"));
    EXPECT_NE(rowKey(7, fileKey(0, "a"), 1), splitKey(7, splitFileKey(0, "a"), 1));
    // Recorded from the first version: a change needs a new stream version.
    EXPECT_EQ(splitKey(7, splitFileKey(0, "a.parquet"), 0), 10016570365169048247ULL);
    EXPECT_EQ(rowKey(7, fileKey(0, "a.parquet"), 12), 16494129768724738089ULL);
}

TEST(Segments, CoverAllSplitsOnceAndAreConsecutive) {
    for (const int k : {1, 2, 3, 7, 63, 100}) {
        const auto order = splitOrder(someFiles(7, 9), 5, 0);
        std::vector<SplitRef> all;
        const std::int64_t n = numSegments(63, k);
        EXPECT_EQ(n, (63 + k - 1) / k);
        for (std::int64_t i = 0; i < n; ++i) {
            const auto segment = segmentOf(order, k, i);
            EXPECT_FALSE(segment.empty());
            all.insert(all.end(), segment.begin(), segment.end());
        }
        EXPECT_EQ(all, order);
        EXPECT_TRUE(segmentOf(order, k, n).empty());
        EXPECT_TRUE(segmentOf(order, k, -1).empty());
    }
    EXPECT_EQ(numSegments(0, 4), 0);
}

TEST(SplitOrder, ByPartitionPermutesWithinEachPartition) {
    auto files = someFiles(6, 5);
    for (std::uint32_t f = 0; f < files.size(); ++f) {
        for (PlanSplit& split : files[f].splits) {
            split.partition = (f + split.rowGroup) % 3;
        }
    }
    const auto order = splitOrder(files, 5, 0, SplitOrder::kByPartition);
    EXPECT_NE(order, splitOrder(files, 5, 1, SplitOrder::kByPartition));
    const auto permuted = splitOrder(files, 5, 0);
    // Each partition's splits are in the order of the whole permutation.
    std::vector<SplitRef> expected;
    for (std::int64_t partition = 0; partition < 3; ++partition) {
        std::copy_if(permuted.begin(), permuted.end(), std::back_inserter(expected),
                     [&](const SplitRef& ref) {
                         return files[ref.file].splits[ref.split].partition == partition;
                     });
    }
    EXPECT_EQ(order, expected);
}

TEST(Segments, EndWithTheirPartition) {
    auto files = someFiles(2, 8);
    const std::vector<std::int64_t> ofFirst = {0, 0, 0, 0, 0, 1, 2, 2};
    for (std::size_t s = 0; s < 8; ++s) {
        files[0].splits[s].partition = ofFirst[s];
        files[1].splits[s].partition = 2;
    }
    const SegmentCuts cuts(files, 3, SplitOrder::kByPartition);
    for (const std::uint32_t epoch : {0U, 1U}) {
        const auto order = splitOrder(files, 5, epoch, SplitOrder::kByPartition);
        std::vector<SplitRef> all;
        std::vector<std::size_t> sizes;
        for (std::int64_t i = 0; i < cuts.count(); ++i) {
            const auto segment = cuts.of(order, i);
            sizes.push_back(segment.size());
            const auto partitionOf = [&](const SplitRef& ref) {
                return files[ref.file].splits[ref.split].partition;
            };
            for (const SplitRef& ref : segment) {
                EXPECT_EQ(partitionOf(ref), partitionOf(segment.front())) << i;
            }
            all.insert(all.end(), segment.begin(), segment.end());
        }
        EXPECT_EQ(all, order);
        EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 2, 1, 3, 3, 3, 1}));
        EXPECT_TRUE(cuts.of(order, cuts.count()).empty());
        EXPECT_TRUE(cuts.of(order, -1).empty());
    }
    EXPECT_EQ(SegmentCuts(files, 3, SplitOrder::kPermuted).count(), 6);
    EXPECT_EQ(SegmentCuts({}, 3, SplitOrder::kByPartition).count(), 0);
}

TEST(RowKey, SpreadsRows) {
    std::set<std::uint64_t> keys;
    const std::uint64_t file = fileKey(0, "x");
    for (std::uint64_t row = 0; row < 10'000; ++row) {
        keys.insert(rowKey(1, file, row));
    }
    EXPECT_EQ(keys.size(), 10'000U);
}

}  // namespace
}  // namespace millrace::stream

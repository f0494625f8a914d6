#pragma once
// The order in which an epoch visits splits and rows, as pure functions (docs/guides/streaming.md).
//
// Splits are permuted by (seed, epoch), as a whole or within each partition. Consecutive splits
// make a segment, which never holds splits of two partitions. Rows within a segment are sorted by
// their key, ties by (file, row).
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backend/stream/plan.h"

namespace millrace::stream {

/// Spec key batch.order; kByPartition: partition after partition, each permuted.
enum class SplitOrder { kPermuted, kAsIs, kByPartition };

/// A split by its place in the plan.
struct SplitRef {
    std::uint32_t file = 0;   ///< index into the files; also the file number of its rows' ids
    std::uint32_t split = 0;  ///< index into that file's splits
    bool operator==(const SplitRef&) const = default;
};

/// All splits of `files` in the order of this epoch. kAsIs: in plan order.
std::vector<SplitRef> splitOrder(std::span<const PlanFile> files, std::uint64_t seed,
                                 std::uint32_t epoch, SplitOrder order = SplitOrder::kPermuted);

/// Number of segments of `numSplits` splits.
std::int64_t numSegments(std::int64_t numSplits, std::int64_t segmentSplits);

/// The splits of segment `index`; empty beyond the last one.
std::span<const SplitRef> segmentOf(std::span<const SplitRef> order, std::int64_t segmentSplits,
                                    std::int64_t index);

/// Assigns the splits of an order to segments, equally for all epochs.
class SegmentCuts {
 public:
    SegmentCuts() = default;
    /// kByPartition: a segment ends with its partition, however few splits it has.
    SegmentCuts(std::span<const PlanFile> files, std::int64_t segmentSplits, SplitOrder order);

    std::int64_t count() const { return count_; }
    /// The first segment of the partition of segment `index`; 0 without partitions.
    std::int64_t partitionStart(std::int64_t index) const;
    /// The splits of segment `index` of an order of these files; empty beyond the last one.
    std::span<const SplitRef> of(std::span<const SplitRef> order, std::int64_t index) const;

 private:
    std::int64_t segmentSplits_ = 1;
    std::int64_t count_ = 0;
    std::vector<std::int64_t> ends_;    ///< kByPartition: by segment, the split behind it
    std::vector<std::int64_t> starts_;  ///< kByPartition: by segment, its partition's first segment
};

/// The first half of a row key's counter: made once per file and epoch.
std::uint64_t fileKey(std::uint32_t epoch, std::string_view relativePath);

/// The key by which a segment's rows are sorted (purpose `row`). `row` counts within the file.
std::uint64_t rowKey(std::uint64_t seed, std::uint64_t fileKey, std::uint64_t row);

/// The first half of a split key's counter, made likewise.
std::uint64_t splitFileKey(std::uint32_t epoch, std::string_view relativePath);

/// The key by which splits are sorted (purpose `split`). `firstRow` counts within the file.
std::uint64_t splitKey(std::uint64_t seed, std::uint64_t splitFileKey, std::uint64_t firstRow);

}  // namespace millrace::stream

#include "backend/stream/order.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backend/core/philox.h"

namespace millrace::stream {
namespace {

std::uint64_t counterOf(DrawPurpose purpose, std::uint32_t epoch, std::string_view relativePath) {
    DrawKey key(purpose, "");
    key.epoch(epoch).rest().text(relativePath);
    return key.counter();
}

}  // namespace

std::uint64_t fileKey(std::uint32_t epoch, std::string_view relativePath) {
    return counterOf(DrawPurpose::kRow, epoch, relativePath);
}

std::uint64_t rowKey(std::uint64_t seed, std::uint64_t fileKey, std::uint64_t row) {
    return philox64(seed, fileKey, row);
}

std::uint64_t splitFileKey(std::uint32_t epoch, std::string_view relativePath) {
    return counterOf(DrawPurpose::kSplit, epoch, relativePath);
}

std::uint64_t splitKey(std::uint64_t seed, std::uint64_t splitFileKey, std::uint64_t firstRow) {
    return philox64(seed, splitFileKey, firstRow);
}

std::vector<SplitRef> splitOrder(std::span<const PlanFile> files, std::uint64_t seed,
                                 std::uint32_t epoch, SplitOrder order) {
    struct Keyed {
        std::int64_t partition;
        std::uint64_t key;
        SplitRef ref;
    };
    std::vector<Keyed> keyed;
    const bool isPartitioned = order == SplitOrder::kByPartition;
    for (std::uint32_t f = 0; f < files.size(); ++f) {
        const std::uint64_t fileKey = splitFileKey(epoch, files[f].relativePath);
        for (std::uint32_t s = 0; s < files[f].splits.size(); ++s) {
            const PlanSplit& split = files[f].splits[s];
            const auto row = static_cast<std::uint64_t>(split.firstRow);
            keyed.push_back(
                {isPartitioned ? split.partition : 0, splitKey(seed, fileKey, row), {f, s}});
        }
    }
    if (order != SplitOrder::kAsIs) {
        // Stable, and collected by (file, row): ties stay in that order.
        std::ranges::stable_sort(keyed, [](const Keyed& a, const Keyed& b) {
            return a.partition != b.partition ? a.partition < b.partition : a.key < b.key;
        });
    }
    std::vector<SplitRef> refs;
    refs.reserve(keyed.size());
    for (const Keyed& k : keyed) {
        refs.push_back(k.ref);
    }
    return refs;
}

std::int64_t numSegments(std::int64_t numSplits, std::int64_t segmentSplits) {
    INVARIANT(segmentSplits >= 1 && numSplits >= 0, "a segment has a split");
    return numSplits / segmentSplits + (numSplits % segmentSplits != 0 ? 1 : 0);
}

SegmentCuts::SegmentCuts(std::span<const PlanFile> files, std::int64_t segmentSplits,
                         SplitOrder order)
    : segmentSplits_(segmentSplits) {
    std::vector<std::int64_t> partitions;
    std::int64_t splits = 0;
    for (const PlanFile& file : files) {
        splits += std::ssize(file.splits);
        for (const PlanSplit& split : file.splits) {
            if (order == SplitOrder::kByPartition) {
                partitions.push_back(split.partition);
            }
        }
    }
    count_ = numSegments(splits, segmentSplits);
    std::ranges::sort(partitions);
    for (std::size_t at = 0; at < partitions.size();) {
        std::size_t end = at;
        while (end < partitions.size() && partitions[end] == partitions[at] &&
               std::cmp_less(end - at, segmentSplits)) {
            ++end;
        }
        const bool isNew = at == 0 || partitions[at] != partitions[at - 1];
        starts_.push_back(isNew ? std::ssize(ends_) : starts_.back());
        ends_.push_back(static_cast<std::int64_t>(end));
        at = end;
    }
    if (order == SplitOrder::kByPartition) {
        count_ = std::ssize(ends_);
    }
}

std::int64_t SegmentCuts::partitionStart(std::int64_t index) const {
    return index >= 0 && index < std::ssize(starts_) ? starts_[index] : 0;
}

std::span<const SplitRef> SegmentCuts::of(std::span<const SplitRef> order,
                                          std::int64_t index) const {
    if (index < 0 || index >= count_) {
        return {};
    }
    if (ends_.empty()) {
        return segmentOf(order, segmentSplits_, index);
    }
    const std::int64_t from = index == 0 ? 0 : ends_[index - 1];
    return order.subspan(from, ends_[index] - from);
}

std::span<const SplitRef> segmentOf(std::span<const SplitRef> order, std::int64_t segmentSplits,
                                    std::int64_t index) {
    const std::int64_t total = std::ssize(order);
    if (index < 0 || index >= numSegments(total, segmentSplits)) {
        return {};
    }
    const std::int64_t from = index * segmentSplits;
    const std::int64_t count = std::min(segmentSplits, total - from);
    return order.subspan(from, count);
}

}  // namespace millrace::stream

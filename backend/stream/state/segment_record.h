#pragma once
// The record of a segment's rows and counts, and sums of records: one type from the sequencer,
// which makes it, to the receipt, which adds it up. Its bytes in a ring: record_bytes.h; sums in a
// state: stream_state.h.
//
// Threads: values. Failure: none; input from outside is bounded by the limits below when it is
// read.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace millrace::stream {

/// Limits of a record: the same for its writers, its readers, and the state that sums it up.
inline constexpr std::size_t kMaxRecordSteps = 64;
inline constexpr std::size_t kMaxRecordCounts = 1024;
inline constexpr std::size_t kMaxCountNameBytes = 255;
/// Limit of every count that is read, so that the sum of two always fits an int64.
inline constexpr std::int64_t kMaxCount = (std::int64_t{1} << 62) - 1;

struct StepRows {
    std::int64_t in = 0, out = 0;
    bool operator==(const StepRows&) const = default;
};

/// Sums over segments.
struct SegmentSums {
    std::int64_t segments = 0;
    std::int64_t rowsScanned = 0;  ///< all rows of the splits, including pruned ones
    std::int64_t rowsPruned = 0;
    std::int64_t rowsKept = 0;    ///< rows that leave the last step
    std::vector<StepRows> steps;  ///< in recipe order; a shorter list counts as zeros
    /// By name: "step/2/no partner", "ids/genres", "unknown/genres" (docs/formats/cursor.md).
    std::map<std::string, std::int64_t> counts{};

    /// Each sum saturates at kMaxCount: sums can always be read again.
    void add(const SegmentSums& other);
    void addCount(const std::string& name, std::int64_t value);
    bool operator==(const SegmentSums&) const = default;
};

/// The record of one segment. In a ring it comes before the first frame of a later segment, and
/// before or after its own frames.
struct SegmentRecord {
    std::uint32_t epoch = 0;
    std::int64_t segment = 0;
    std::int64_t first = 0;     ///< number of its first micro-batch
    std::int64_t count = 0;     ///< its micro-batches, including the joined one
    std::int64_t tailRows = 0;  ///< rows that it adds to the open rest
    SegmentSums sums;           ///< of this segment: sums.segments is 1
    bool operator==(const SegmentRecord&) const = default;
};

}  // namespace millrace::stream

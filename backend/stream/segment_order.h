#pragma once
// Names a segment, and orders it to be computed elsewhere: the messages between the feed, which
// orders, and the data workers.
//
// Threads: values.
#include <compare>
#include <cstdint>
#include <vector>

namespace millrace::stream {

/// A segment of an epoch. Names ascend in the order of the sequence.
struct SegmentName {
    std::uint32_t epoch = 0;
    std::int64_t segment = 0;
    auto operator<=>(const SegmentName&) const = default;
};

/// One segment given to one worker.
struct SegmentOrder {
    SegmentName name;
    /// Grows each time that the segment is given: an answer names the order that it answers.
    std::uint32_t generation = 0;
    /// Above 0: only this many of the segment's last kept rows are needed, as one frame, the tail:
    /// for a resumed stream's open rest. 0: all of it.
    std::int64_t lastRows = 0;
    std::int64_t decodedBytes = 0;     ///< decoded bytes according to the plan
    std::vector<std::uint32_t> files;  ///< indices of the plan's files that it reads; ascending
    bool isSame(const SegmentOrder& other) const {
        return name == other.name && generation == other.generation;
    }
};

}  // namespace millrace::stream

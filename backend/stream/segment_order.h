#pragma once
// The name of a segment on its way, and the order to compute it elsewhere: what the feed, whoever
// orders, and the data workers say to each other.
//
// Threads: values.
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::stream {

/// A segment of an epoch. Names ascend as the sequence does.
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
    /// Above 0: only the segment's last so many kept rows are wanted, as one frame, the tail: a
    /// resumed stream's open rest. 0: all of it.
    std::int64_t lastRows = 0;
    std::int64_t decodedBytes = 0;     ///< what the plan expects it to decode to
    std::vector<std::uint32_t> files;  ///< of the plan, that it reads; ascending
    bool isSame(const SegmentOrder& other) const {
        return name == other.name && generation == other.generation;
    }
};

}  // namespace millrace::stream

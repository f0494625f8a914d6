#pragma once
// Where a stream's frames and records go, in order: a ring, or a sink of `millrace stream`.
//
// Threads: reserve(), records and their order belong to one thread (or to callers who agree on the
// order); commit() may be called from any thread, in any order: what was reserved first is seen
// first.
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/ring/record_limits.h"

namespace millrace::ring {

struct StepRows {
    std::uint64_t in = 0, out = 0;
};

/// The name is borrowed until the call that hands it over returns.
struct NamedCount {
    std::string_view name;
    std::uint64_t value = 0;
};

/// What a segment gave. It stands in the ring before the first frame of a later segment; it may
/// stand before or after its own frames.
struct SegmentRecord {
    static constexpr std::size_t kMaxSteps = kMaxRecordSteps;
    static constexpr std::size_t kMaxCounts = kMaxRecordCounts;
    std::uint32_t epoch = 0;
    std::uint32_t numSteps = 0;
    std::uint64_t segment = 0;
    std::uint64_t first = 0;     ///< number of its first micro-batch
    std::uint64_t count = 0;     ///< its micro-batches, the joined one included
    std::uint64_t tailRows = 0;  ///< what it adds to the open rest
    std::uint64_t rowsScanned = 0;
    std::uint64_t rowsPruned = 0;
    std::uint64_t rowsKept = 0;
    std::array<StepRows, kMaxSteps> steps{};  ///< in recipe order, the first numSteps
    /// What else was counted, each name once, of 1 to 255 bytes (docs/formats/cursor.md, "Counts").
    std::vector<NamedCount> counts;
};

/// A place for one frame, 64-byte aligned. Uncommitted ones must be committed or the sink closed.
struct Reservation {
    std::span<std::byte> bytes;
    std::uint64_t ticket = 0;
};

class FrameSink {
 public:
    virtual ~FrameSink() = default;

    /// Blocks while there is no room. kCancelled on stop, kUnavailable when the reader is gone,
    /// kFailedPrecondition when the reader keeps everything for too long, kResourceExhausted when
    /// the memory budget refuses a larger ring.
    virtual Result<Reservation> reserve(std::uint64_t bytes, std::stop_token stop) = 0;
    virtual Status commit(const Reservation& place, std::uint32_t epoch, std::uint64_t number) = 0;
    virtual Status segmentRecord(const SegmentRecord& record, std::stop_token stop) = 0;
    /// `total` = the counts of all segments' records (each segment has one, empty ones too), and
    /// one more when the rest was the last micro-batch.
    virtual Status endOfEpoch(std::uint32_t epoch, std::uint64_t total, std::stop_token stop) = 0;
    virtual Status endOfStream(std::stop_token stop) = 0;
    /// The last thing a reader sees: the status's sentence, cut at 4096 bytes, and its exit code
    /// (core/exit_codes.h), so that a rank can tell bad input from a full disk.
    virtual Status error(const Status& why, std::stop_token stop) = 0;

    /// reserve, copy, commit.
    Status frame(std::uint32_t epoch, std::uint64_t number, std::span<const std::byte> bytes,
                 std::stop_token stop) {
        ASSIGN_OR_RETURN(const Reservation place, reserve(bytes.size(), stop));
        std::memcpy(place.bytes.data(), bytes.data(), bytes.size());
        return commit(place, epoch, number);
    }
};

}  // namespace millrace::ring

#pragma once
// Where a stream's frames and records go, in order: a ring, or a sink of `millrace stream`.
//
// The one interface between whoever makes the sequence (segment::Sequencer) and whoever takes it:
// frames are gathered straight into the memory that the sink gives (decision 0001).
// Threads: everything but commit() is called by one thread at a time, in the order of the sequence;
// commit() from any thread, in any order: what was reserved first is seen first.
// Failure: kCancelled on stop; what else a sink may answer, it says itself.
#include <cstdint>
#include <span>
#include <stop_token>

#include "backend/core/hash.h"
#include "backend/core/status.h"
#include "backend/stream/state/segment_record.h"

namespace millrace::ring {

/// A slot for one frame, 64-byte aligned. Uncommitted ones must be committed or the sink closed.
struct FrameSlot {
    std::span<std::byte> bytes;
    std::uint64_t ticket = 0;  ///< the sink's own
};

class FrameSink {
 public:
    virtual ~FrameSink() = default;

    /// False: this micro-batch is somebody else's, or was delivered before; it is left out.
    virtual bool wants(std::uint32_t epoch, std::int64_t number) const {
        (void)epoch, (void)number;
        return true;
    }
    /// In the place of the frame of a micro-batch that the sink does not want, so that it can count
    /// what it never sees. `rowIds`: stream::rowIdsHash(). What lies before the place where a
    /// stream was begun is not told.
    virtual Status leftOut(std::uint32_t epoch, std::int64_t number, std::int64_t rows,
                           const Sum128& rowIds, std::stop_token stop) {
        (void)epoch, (void)number, (void)rows, (void)rowIds, (void)stop;
        return okStatus();
    }
    /// Room for a frame; blocks while there is none.
    virtual Result<FrameSlot> reserve(std::uint64_t bytes, std::uint32_t epoch, std::int64_t number,
                                      std::stop_token stop) = 0;
    virtual Status commit(const FrameSlot& slot, std::uint32_t epoch, std::int64_t number) = 0;
    /// Before the first frame of a later segment, and before the joined micro-batch of its own.
    /// Where rowsKept less tailRows is no multiple of the micro-batch's rows, the joined one comes
    /// first, and the others of these rows stand in it (stream::SegmentShare::lead).
    virtual Status segment(const stream::SegmentRecord& record, std::stop_token stop) = 0;
    /// `total` = the counts of all segments' records (each segment has one, empty ones too), and
    /// one more when the rest was the last micro-batch.
    virtual Status endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) = 0;
    virtual Status endOfStream(std::stop_token stop) = 0;
    /// The stream ends with `why`; nothing follows.
    virtual Status error(const Status& why, std::stop_token stop) = 0;
};

}  // namespace millrace::ring

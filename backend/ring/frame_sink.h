#pragma once
// The consumer of a stream's frames and records, in order: a ring, or a sink of `millrace stream`.
//
// This is the one interface between producers (segment::Sequencer) and consumers of the sequence:
// frames are gathered straight into the sink's memory (decision 0001).
// Threads: everything but commit() is called by one thread at a time, in the order of the sequence;
// commit() from any thread, in any order: slots become visible in the order of their reservation.
// Failure: kCancelled on stop; each sink documents its other errors.
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

#include "backend/core/hash.h"
#include "backend/core/status.h"
#include "backend/stream/frame_part.h"
#include "backend/stream/state/segment_record.h"

namespace millrace::ring {

/// A slot for one frame, 64-byte aligned. Each must be committed, or the sink closed.
struct FrameSlot {
    std::span<std::byte> bytes;
    std::uint64_t ticket = 0;  ///< the sink's own
};

class FrameSink {
 public:
    virtual ~FrameSink() = default;

    /// False: this micro-batch belongs to another rank, or was delivered before; it is left out.
    virtual bool wants(std::uint32_t epoch, std::int64_t number) const {
        (void)epoch, (void)number;
        return true;
    }
    /// Called instead of reserve() and commit() for a micro-batch that the sink does not want, so
    /// that it can count it. `rowIds`: stream::rowIdsHash(). Not called for micro-batches before
    /// the place where the stream was begun.
    virtual Status leftOut(std::uint32_t epoch, std::int64_t number, std::int64_t rows,
                           const Sum128& rowIds, std::stop_token stop) {
        (void)epoch, (void)number, (void)rows, (void)rowIds, (void)stop;
        return okStatus();
    }
    /// Whether readers of this sink fetch frames themselves from the workers that hold them. From
    /// any thread; does not block.
    virtual bool takesParts() const { return false; }
    /// Whether it takes a reference to this micro-batch, which the worker holds, instead of its
    /// frame. Likewise.
    virtual bool takesPart(std::uint64_t worker, std::uint32_t epoch, std::int64_t number) const {
        (void)worker, (void)epoch, (void)number;
        return false;
    }
    /// Called instead of reserve() and commit() if takesPart(). `owner` keeps the frame at its
    /// worker; it is released once the reader's side has fetched the frame. Blocks as reserve().
    /// False: the reader's side cannot fetch it any more; call reserve() and commit().
    virtual Result<bool> part(const stream::FramePart& part, std::shared_ptr<const void> owner,
                              std::uint32_t epoch, std::int64_t number, std::stop_token stop) {
        (void)part, (void)owner, (void)epoch, (void)number, (void)stop;
        return internalError("a sink that takes no references");
    }
    /// Reserves memory for a frame; blocks until there is some.
    virtual Result<FrameSlot> reserve(std::uint64_t bytes, std::uint32_t epoch, std::int64_t number,
                                      std::stop_token stop) = 0;
    virtual Status commit(const FrameSlot& slot, std::uint32_t epoch, std::int64_t number) = 0;
    /// Called before the first frame of a later segment, and before the joined micro-batch of its
    /// own. If rowsKept less tailRows is not a multiple of the micro-batch's rows, the joined
    /// micro-batch comes first and contains the others of these rows (stream::SegmentShare::lead).
    virtual Status segment(const stream::SegmentRecord& record, std::stop_token stop) = 0;
    /// `total` = the sum of the counts of all segments' records (each segment has one, empty ones
    /// too), plus one if the rest was the last micro-batch.
    virtual Status endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) = 0;
    virtual Status endOfStream(std::stop_token stop) = 0;
    /// The stream ends with `why`; nothing follows.
    virtual Status error(const Status& why, std::stop_token stop) = 0;
};

}  // namespace millrace::ring

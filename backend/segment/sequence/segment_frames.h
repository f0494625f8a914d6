#pragma once
// A computed segment as delivery uses it: frames that can be measured and written into memory of a
// sink, wherever the rows were computed.
//
// LocalFrames gathers them from the columns of a segment that was computed here; RemoteFrames
// decodes what another process sent. Both produce the same bytes.
// Threads: immutable once made, except as the subclass documents. Several threads write frames of
// one segment at once, each with its own tools.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/core/hash.h"
#include "backend/core/status.h"
#include "backend/frame/codec.h"
#include "backend/frame/frame.h"
#include "backend/segment/batch_meter.h"
#include "backend/segment/frame_gatherer.h"
#include "backend/segment/row_counts.h"
#include "backend/stream/frame_part.h"

namespace millrace::segment {

class LocalFrames;

/// Rows of a segment that make a frame.
struct FrameRows {
    /// Frames that are not full micro-batches: rows that fill up an earlier rest; the tail.
    static constexpr std::int64_t kLead = -2, kTail = -1;
    std::int64_t frame = 0;  ///< index among the full micro-batches, or kLead or kTail
    std::int64_t first = 0;  ///< index among the segment's rows that are held
    std::int64_t rows = 0;
};

/// One thread's tools for gathering and decoding, reused from frame to frame.
struct FrameTools {
    explicit FrameTools(const frame::FrameLayout& layout, StageCounters* counters = nullptr)
        : gatherer(layout, counters) {}
    FrameGatherer gatherer;
    /// Made on first use.
    frame::FrameDecoder& decoder() { return decoder_ ? *decoder_ : decoder_.emplace(); }

 private:
    std::optional<frame::FrameDecoder> decoder_;
};

/// By row; empty if the spec names no such column.
struct FrameKeys {
    std::vector<std::uint64_t> requests, users;
};

class SegmentFrames {
 public:
    virtual ~SegmentFrames() = default;

    virtual const RowCounts& counts() const = 0;
    /// Rows held: all kept rows. A head's leftover rows are held by the rest; an order for a tail
    /// holds only the tail.
    virtual std::int64_t rowsHeld() const = 0;
    /// Whether the frame can be written now. kLead, kTail as in FrameRows.
    virtual bool isAtHand(std::int64_t frame) const = 0;

    /// Bytes of the frame with these rows.
    virtual Result<std::uint64_t> measure(const FrameRows& rows, FrameTools& tools) const = 0;
    /// Fills `memory` with the frame measured last with these tools. The frame must be at hand.
    virtual Status write(const FrameRows& rows, FrameTools& tools, std::span<std::byte> memory,
                         const frame::FrameId& id) const = 0;
    /// The mix of the rows written last, a full micro-batch.
    virtual BatchMix mix(const FrameRows& rows, FrameTools& tools) const = 0;
    /// Keys of the rows written last, a lead or tail.
    virtual FrameKeys keys(const FrameRows& rows, FrameTools& tools) const = 0;
    /// stream::rowIdsHash() of a full micro-batch that nobody here reads.
    virtual Sum128 rowIds(const FrameRows& rows, FrameTools& tools) const = 0;

    /// A reference to a full micro-batch that a process elsewhere holds; nothing: it has to be
    /// written here.
    virtual std::optional<stream::FramePart> part(std::int64_t frame) const {
        (void)frame;
        return std::nullopt;
    }

    /// Null: computed elsewhere, in frames cut from the segment's first row on.
    virtual LocalFrames* here() { return nullptr; }
};

}  // namespace millrace::segment

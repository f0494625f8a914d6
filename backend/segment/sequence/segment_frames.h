#pragma once
// A computed segment as delivery sees it: frames that can be measured and written into the place
// that a sink gives, wherever the rows were computed.
//
// LocalFrames gathers them from the columns of a segment that was computed here; RemoteFrames
// decodes what another process sent. The frames are the same bytes.
// Threads: immutable once made but for what its kind says; several threads write frames of one
// segment at once, each with tools of its own.
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

namespace millrace::segment {

class LocalFrames;

/// Rows of a segment that make a frame.
struct FrameRows {
    /// Of frames that are no full micro-batch: rows that fill up an earlier rest; the tail.
    static constexpr std::int64_t kLead = -2, kTail = -1;
    std::int64_t frame = 0;  ///< index among the full micro-batches, or one of the above
    std::int64_t first = 0;  ///< row of the segment's that are held
    std::int64_t rows = 0;
};

/// Of one thread: what it gathers and decodes with; kept from frame to frame.
struct FrameTools {
    explicit FrameTools(const frame::FrameLayout& layout, StageCounters* counters = nullptr)
        : gatherer(layout, counters) {}
    FrameGatherer gatherer;
    /// Made when first needed.
    frame::FrameDecoder& decoder() { return decoder_ ? *decoder_ : decoder_.emplace(); }

 private:
    std::optional<frame::FrameDecoder> decoder_;
};

/// By row; empty where the spec names no such column.
struct FrameKeys {
    std::vector<std::uint64_t> requests, users;
};

class SegmentFrames {
 public:
    virtual ~SegmentFrames() = default;

    virtual const RowCounts& counts() const = 0;
    /// Rows held: all kept ones, but for a head's, which come with the rest, and a tail alone.
    virtual std::int64_t rowsHeld() const = 0;
    /// Nothing but time keeps the frame from being written. kLead, kTail as in FrameRows.
    virtual bool isAtHand(std::int64_t frame) const = 0;

    /// Bytes of the frame with these rows.
    virtual Result<std::uint64_t> measure(const FrameRows& rows, FrameTools& tools) const = 0;
    /// Fills `memory` with the frame measured last with these tools. Of frames that are at hand.
    virtual Status write(const FrameRows& rows, FrameTools& tools, std::span<std::byte> memory,
                         const frame::FrameId& id) const = 0;
    /// How the rows written last are mixed; of a full micro-batch.
    virtual BatchMix mix(const FrameRows& rows, FrameTools& tools) const = 0;
    /// Of the rows written last; of lead and tail.
    virtual FrameKeys keys(const FrameRows& rows, FrameTools& tools) const = 0;
    /// stream::rowIdsHash() of a full micro-batch that nobody here reads.
    virtual Sum128 rowIds(const FrameRows& rows, FrameTools& tools) const = 0;

    /// Null: computed elsewhere, in frames cut from the segment's first row on.
    virtual LocalFrames* here() { return nullptr; }
};

}  // namespace millrace::segment

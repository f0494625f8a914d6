#pragma once
// A segment that was computed here: frames are gathered from the decoder's columns.
//
// Threads: as SegmentFrames; prepend() before other threads know of the object, or in the turn.
#include "backend/segment/segment_output.h"
#include "backend/segment/sequence/segment_frames.h"

namespace millrace::segment {

class LocalFrames final : public SegmentFrames {
 public:
    explicit LocalFrames(SegmentOutput output) : output_(std::move(output)) {}

    const SegmentOutput& output() const { return output_; }
    /// See SegmentOutput::prepend().
    void prepend(const SegmentOutput& before, std::int64_t firstRow) {
        output_.prepend(before, firstRow);
    }

    const RowCounts& counts() const override { return output_.counts; }
    std::int64_t rowsHeld() const override { return output_.rowsKept(); }
    bool isAtHand(std::int64_t) const override { return true; }
    Result<std::uint64_t> measure(const FrameRows& rows, FrameTools& tools) const override;
    Status write(const FrameRows& rows, FrameTools& tools, std::span<std::byte> memory,
                 const frame::FrameId& id) const override;
    BatchMix mix(const FrameRows& rows, FrameTools& tools) const override;
    FrameKeys keys(const FrameRows& rows, FrameTools& tools) const override;
    Sum128 rowIds(const FrameRows& rows, FrameTools& tools) const override;
    LocalFrames* here() override { return this; }

 private:
    SegmentOutput output_;
};

}  // namespace millrace::segment

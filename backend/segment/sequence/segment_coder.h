#pragma once
// Codes a computed segment: gathers, codes and describes every frame, so that the columns can be
// released.
//
// Threads: one coder per thread; it reuses its scratch memory between frames. Owns: no results;
// coded frames are in the pool, which outlives them.
// Failure: the pool's limit.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/core/status.h"
#include "backend/frame/codec.h"
#include "backend/segment/memory/buffer_pool.h"
#include "backend/segment/segment_output.h"
#include "backend/segment/sequence/local_frames.h"
#include "backend/segment/sequence/remote_frames.h"
#include "backend/segment/sequence/segment_report.h"
#include "backend/segment/stage_counters.h"
#include "backend/stream/segment_order.h"

namespace millrace::segment {

struct CodedSegment {
    SegmentReport facts;
    std::vector<CodedFrame> frames;  ///< as FrameSpan counts them
    std::int64_t bytes = 0;          ///< of memory that the frames hold
};

class SegmentCoder {
 public:
    /// Called with each frame before it is coded.
    using Look = std::function<void(const frame::FrameView&)>;
    struct Options {
        frame::CodecPlan codecs;  ///< one per column, or empty
        std::shared_ptr<FrameArena>
            arena{};  ///< memory for frames without codecs; null: they are in the pool
        Look look{};  ///< null: no callback
    };
    /// All arguments outlive the coder.
    SegmentCoder(const StreamShape& shape, BufferPool& pool, StageCounters& counters,
                 Options options);

    Result<CodedSegment> code(const LocalFrames& segment, const stream::SegmentOrder& order);

 private:
    Status codeFrame(const LocalFrames& segment, const FrameRows& rows, const frame::FrameId& id,
                     FrameReport& facts, CodedSegment& into);
    Result<frame::FrameView> gather(const LocalFrames& segment, const FrameRows& rows,
                                    const frame::FrameId& id, FrameReport& facts,
                                    std::span<std::byte> memory);
    Result<FrameArena::Room> roomFor(std::int64_t bytes);
    Result<PooledBuffer> encoded(const frame::FrameView& view, std::size_t& bytes);

    const StreamShape& shape_;
    BufferPool& pool_;
    StageCounters& counters_;
    FrameTools tools_;
    const Options options_;
    frame::FrameEncoder encoder_;
    PooledBuffer scratch_;  ///< the frame before it is coded
};

}  // namespace millrace::segment

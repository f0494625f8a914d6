#pragma once
// A segment that was computed elsewhere: its facts are here, its frames come when they are asked
// for, coded, and are decoded straight into the place where they will be read.
//
// Who asks is the Window: in the order of the sequence, as many as its budget of bytes allows, so
// what is asked for is the credit and nothing arrives unasked. Threads: came() and isAtHand() from
// any, the rest as SegmentFrames. Owns: the coded frames at hand; whoever holds the others keeps
// them until this one's death releases them.
// Failure: came() refuses what is damaged or is not the frame that was announced; the caller then
// gives the order up (SegmentDesk::lost).
#include <functional>
#include <memory>
#include <span>

#include "backend/core/mutex.h"
#include "backend/segment/sequence/change_teller.h"
#include "backend/segment/sequence/frame_arena.h"
#include "backend/segment/sequence/segment_facts.h"
#include "backend/segment/sequence/segment_frames.h"
#include "backend/stream/segment_order.h"

namespace millrace::segment {

class RemoteFrames;

/// A coded frame in memory that `owner` keeps.
struct CodedFrame {
    std::shared_ptr<const void> owner;
    std::span<const std::byte> bytes;
    SlabPlace place{};  ///< no slab: who coded it does not share this memory

    bool isShared() const { return place.slab != nullptr; }
};

/// Consecutive frames: the full ones by their index, and behind the last of these the tail.
struct FrameSpan {
    std::int64_t first = 0, count = 0;
};

/// Whoever holds coded frames: a worker at the other end of a connection, or a SegmentServer in
/// this process. Threads: both from any. Neither blocks.
class FrameHolder {
 public:
    virtual ~FrameHolder() = default;
    /// Asks for these frames of the order, each exactly once; they come through to.came(), in any
    /// order, from any thread, also from inside of this call.
    virtual void take(const stream::SegmentOrder& order, const FrameSpan& span,
                      const std::shared_ptr<RemoteFrames>& to) = 0;
    /// Nobody will ask for frames of the order any more, or reads one.
    virtual void release(const stream::SegmentOrder& order) = 0;
};

class RemoteFrames final : public SegmentFrames, public std::enable_shared_from_this<RemoteFrames> {
 public:
    /// kDataLoss as checkFacts(). `shape` outlives the frames.
    static Result<std::shared_ptr<RemoteFrames>> make(const StreamShape& shape,
                                                      stream::SegmentOrder order,
                                                      SegmentFacts facts,
                                                      std::shared_ptr<FrameHolder> holder);
    ~RemoteFrames() override;

    const stream::SegmentOrder& order() const { return order_; }
    const SegmentFacts& facts() const { return facts_; }
    /// Full ones, and one more for a tail of rows.
    std::int64_t numFrames() const;
    /// As announced; `frame` below numFrames().
    std::uint64_t codedBytes(std::int64_t frame) const;

    /// From the holder: frame `frame` of the span asked for. kDataLoss when its bytes are damaged
    /// or it is not what the facts say. A frame that is here already is left alone.
    Status came(std::int64_t frame, CodedFrame coded);
    /// Called without a lock after each frame that came. Null: nobody any more; returns when no
    /// call is under way.
    void onCame(std::function<void()> tell) { teller_.set(std::move(tell)); }
    void ask(const FrameSpan& span);
    /// The frame was written and will not be again: its bytes go.
    void drop(std::int64_t frame);

    const RowCounts& counts() const override { return facts_.counts; }
    std::int64_t rowsHeld() const override;
    bool isAtHand(std::int64_t frame) const override;
    Result<std::uint64_t> measure(const FrameRows& rows, FrameTools& tools) const override;
    Status write(const FrameRows& rows, FrameTools& tools, std::span<std::byte> memory,
                 const frame::FrameId& id) const override;
    BatchMix mix(const FrameRows& rows, FrameTools& tools) const override;
    FrameKeys keys(const FrameRows& rows, FrameTools& tools) const override;
    Sum128 rowIds(const FrameRows& rows, FrameTools& tools) const override;

 private:
    RemoteFrames(const StreamShape& shape, stream::SegmentOrder order, SegmentFacts facts,
                 std::shared_ptr<FrameHolder> holder);
    std::int64_t indexOf(std::int64_t frame) const;
    const FrameFacts& factsOf(std::int64_t index) const;
    CodedFrame codedAt(std::int64_t index) const;

    const StreamShape& shape_;
    const stream::SegmentOrder order_;
    const SegmentFacts facts_;
    const std::shared_ptr<FrameHolder> holder_;
    mutable Mutex mutex_;
    std::int64_t askedEnd_ MR_GUARDED_BY(mutex_) = 0;      ///< behind the last frame asked for
    std::vector<CodedFrame> coded_ MR_GUARDED_BY(mutex_);  ///< by index; no owner: not here
    ChangeTeller teller_;
};

}  // namespace millrace::segment

#pragma once
// A segment that was computed elsewhere. Its facts are here; its coded frames arrive on request and
// are decoded straight into the memory where they will be read.
//
// The Window requests frames in the order of the sequence, as many as its budget of bytes allows.
// The requests are the credit: nothing arrives unrequested. Threads: came() and isAtHand() from
// any, the rest as SegmentFrames. Owns: the coded frames at hand. The holder keeps the others until
// this object's destructor releases them.
// Failure: came() rejects a frame that is damaged or not the announced one; the caller then gives
// up the order (RemoteSegmentQueue::lost).
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "backend/core/mutex.h"
#include "backend/segment/sequence/change_notifier.h"
#include "backend/segment/sequence/frame_arena.h"
#include "backend/segment/sequence/segment_frames.h"
#include "backend/segment/sequence/segment_report.h"
#include "backend/stream/segment_order.h"

namespace millrace::segment {

class RemoteFrames;

/// A coded frame in memory that `owner` keeps.
struct CodedFrame {
    std::shared_ptr<const void> owner;
    std::span<const std::byte> bytes;
    SlabPlace place{};  ///< no slab: the coder does not share this memory

    bool isShared() const { return place.slab != nullptr; }
};

/// Consecutive frames. Full frames count by their index; the tail's index follows the last of them.
struct FrameSpan {
    std::int64_t first = 0, count = 0;
};

/// Holds coded frames: a worker at the other end of a connection, or a SegmentServer in this
/// process. Threads: both calls from any. Neither blocks.
class FrameHolder {
 public:
    virtual ~FrameHolder() = default;
    /// Requests these frames of the order, each exactly once. They arrive through to.came(), in any
    /// order, from any thread, possibly from inside this call.
    virtual void take(const stream::SegmentOrder& order, const FrameSpan& span,
                      const std::shared_ptr<RemoteFrames>& to) = 0;
    /// For references to the frames: the holder's number, and its own generation of the order.
    struct Place {
        std::uint64_t worker = 0;  ///< 0: others cannot fetch the frames
        std::uint32_t generation = 0;
    };
    virtual Place place() const { return {}; }
    /// Call when the order's frames are no longer read and will not be requested.
    virtual void release(const stream::SegmentOrder& order) = 0;
};

class RemoteFrames final : public SegmentFrames, public std::enable_shared_from_this<RemoteFrames> {
 public:
    /// kDataLoss as checkFacts(). `shape` outlives the frames.
    static Result<std::shared_ptr<RemoteFrames>> make(const StreamShape& shape,
                                                      stream::SegmentOrder order,
                                                      SegmentReport facts,
                                                      std::shared_ptr<FrameHolder> holder);
    ~RemoteFrames() override;

    const stream::SegmentOrder& order() const { return order_; }
    const SegmentReport& facts() const { return facts_; }
    /// Number of full frames, plus one if there is a tail.
    std::int64_t numFrames() const;
    /// The announced size; `frame` must be below numFrames().
    std::uint64_t codedBytes(std::int64_t frame) const { return factsOf(frame).codedBytes; }
    /// Its size in memory.
    std::uint64_t rawBytes(std::int64_t frame) const { return factsOf(frame).bytes; }

    /// The holder passes in frame `frame` of the requested span. kDataLoss when its bytes are
    /// damaged or differ from the facts. A frame that is already here is ignored.
    Status came(std::int64_t frame, CodedFrame coded);
    /// Sets a callback for each frame that arrives, called without a lock. Null removes it; returns
    /// when no call is running.
    void onCame(std::function<void()> tell) { notifier_.set(std::move(tell)); }
    void ask(const FrameSpan& span);
    /// Releases the bytes of a frame that was written and will not be written again.
    void drop(std::int64_t frame);

    /// The number of the worker that holds the frames; 0: others cannot fetch them.
    std::uint64_t worker() const { return place_.worker; }

    const RowCounts& counts() const override { return facts_.counts; }
    std::int64_t rowsHeld() const override;
    bool isAtHand(std::int64_t frame) const override;
    Result<std::uint64_t> measure(const FrameRows& rows, FrameTools& tools) const override;
    Status write(const FrameRows& rows, FrameTools& tools, std::span<std::byte> memory,
                 const frame::FrameId& id) const override;
    BatchMix mix(const FrameRows& rows, FrameTools& tools) const override;
    FrameKeys keys(const FrameRows& rows, FrameTools& tools) const override;
    Sum128 rowIds(const FrameRows& rows, FrameTools& tools) const override;
    std::optional<stream::FramePart> part(std::int64_t frame) const override;

 private:
    RemoteFrames(const StreamShape& shape, stream::SegmentOrder order, SegmentReport facts,
                 std::shared_ptr<FrameHolder> holder);
    std::int64_t indexOf(std::int64_t frame) const;
    const FrameReport& factsOf(std::int64_t index) const;
    CodedFrame codedAt(std::int64_t index) const;

    const StreamShape& shape_;
    const stream::SegmentOrder order_;
    const SegmentReport facts_;
    const std::shared_ptr<FrameHolder> holder_;
    const FrameHolder::Place place_;
    mutable Mutex mutex_;
    std::int64_t askedEnd_ MR_GUARDED_BY(mutex_) = 0;      ///< end of the requested frames
    std::vector<CodedFrame> coded_ MR_GUARDED_BY(mutex_);  ///< by index; no owner: not here
    ChangeNotifier notifier_;
};

}  // namespace millrace::segment

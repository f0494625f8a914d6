#pragma once
// OwedFrames: the frames that one data worker owes to this process over one connection. Used by
// WorkerLink and FrameFetcher.
//
// Threads: any. Callbacks are called without the lock. Owns: the received parts of incomplete
// frames. Bounds: the requests. Failure: kDataLoss for a chunk that was not requested, or differs
// from its announcement.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/segment/sequence/remote_frames.h"
#include "backend/stream/segment_order.h"
#include "daemon/worker/wire/frame_chunk.h"
#include "daemon/worker/wire/frame_memory.h"

namespace millrace::wire {

/// Bytes that arrived, and the time spent waiting for them.
struct Traffic {
    std::uint64_t bytes = 0;
    std::int64_t waitNs = 0;
    std::uint64_t rawBytes = 0;  ///< in memory, of the frames that are whole

    void add(const Traffic& other) {
        bytes += other.bytes;
        waitNs += other.waitNs;
        rawBytes += other.rawBytes;
    }
    /// Returns what was added since `before`.
    Traffic since(const Traffic& before) const {
        return {bytes - before.bytes, waitNs - before.waitNs, rawBytes - before.rawBytes};
    }
};

class OwedFrames {
 public:
    explicit OwedFrames(std::shared_ptr<FrameMemory> memory) : memory_(std::move(memory)) {}

    /// Gets a whole frame, or the reason why none comes; an error ends the connection.
    using Deliver = std::function<Status(std::int64_t frame, Result<segment::CodedFrame> coded)>;
    /// The frame that a chunk names in memory shared with the worker.
    using Shared = std::function<Result<segment::CodedFrame>(const FrameChunk&)>;

    /// The announced size of a frame: as it is sent, and in memory.
    struct FrameSize {
        std::uint64_t codedBytes = 0, rawBytes = 0;
    };
    /// Call before the request is sent.
    void ask(const stream::SegmentOrder& order, std::int64_t frame, const FrameSize& size,
             Deliver to);
    /// Waits for none of the order's frames any more.
    void forget(const stream::SegmentOrder& order);
    /// Does not deliver the frame when it arrives.
    void forget(const stream::SegmentOrder& order, std::int64_t frame);
    /// The connection is over: delivers `why` for all frames that are still owed.
    void end(const Status& why);

    /// A chunk has arrived; delivers its frame if it is whole. `shared` null: frames in shared
    /// memory are an error. A frame of a forgotten order is ignored.
    Status came(const FrameChunk& chunk, const Shared& shared);
    Traffic traffic() const;

 private:
    struct Name {
        stream::SegmentName name;
        std::uint32_t generation = 0;
        auto operator<=>(const Name&) const = default;
    };
    struct Partial {
        std::shared_ptr<std::byte> bytes;
        std::uint64_t size = 0, come = 0, rawBytes = 0;
        Deliver to;
    };
    using Frames = std::map<std::int64_t, Partial>;
    struct Whole {
        Deliver to;
        Result<segment::CodedFrame> coded = segment::CodedFrame();
    };
    static Name nameOf(const stream::SegmentOrder& order) { return {order.name, order.generation}; }
    Status addLocked(const FrameChunk& chunk, const Shared& shared, Whole& whole)
        MR_REQUIRES(mutex_);
    Status addBytesLocked(const FrameChunk& chunk, Partial& partial, Whole& whole)
        MR_REQUIRES(mutex_);
    void gotLocked(std::size_t frames) MR_REQUIRES(mutex_);

    const std::shared_ptr<FrameMemory> memory_;
    mutable Mutex mutex_;
    std::map<Name, Frames> owed_ MR_GUARDED_BY(mutex_);
    std::size_t numOwed_ MR_GUARDED_BY(mutex_) = 0;          ///< frames that were requested
    std::int64_t waitingSinceNs_ MR_GUARDED_BY(mutex_) = 0;  ///< valid while frames are owed
    Traffic traffic_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::wire

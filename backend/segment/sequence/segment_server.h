#pragma once
// A data worker's engine: takes orders, computes segments on its threads under its memory limit,
// codes every frame at once, lets go of the columns, and holds the coded frames until released.
//
// No network in it: who receives orders and sends frames is somebody else.
// Objects of a store are fetched ahead for the orders that wait, and for no other segment.
// Order: the foremost order in the sequence is begun first. Memory: everything lives in the pool.
// Coded frames are bounded by heldBytesMax, columns by the rest of the pool's limit; a segment that
// runs out of memory beside others is computed again alone. An order that comes before what is held
// never waits for room: the last ones held are given up for it (SegmentDone::isGivenUp).
// Threads: all calls from any; its own are named "data-N" and joined by the destructor, which waits
// for the segments that are being computed. The callbacks come from these, without a lock.
// Failure: of a segment: told in its answer, with file and row group or row.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "backend/core/status.h"
#include "backend/frame/codec.h"
#include "backend/segment/buffer_pool.h"
#include "backend/segment/sequence/remote_frames.h"
#include "backend/segment/sequence/segment_facts.h"
#include "backend/segment/stage_counters.h"
#include "backend/segment/stream_input.h"
#include "backend/stream/segment_order.h"

namespace millrace::segment {

/// The answer to an order.
struct SegmentDone {
    stream::SegmentOrder order;
    /// Not OK: no facts. kResourceExhausted: a machine with more memory may do it.
    Status status;
    /// It is held no more, as it made room for one before it: to be ordered again. May follow an
    /// answer that was given.
    bool isGivenUp = false;
    SegmentFacts facts;
};

struct SegmentServerOptions {
    int threads = 1;
    std::int64_t heldBytesMax = std::int64_t{1} << 30;  ///< at most half of the pool's limit
    frame::CodecPlan codecs;                            ///< empty: none is coded
    /// Where the feed reads frames; null: they are sent. What was asked for there is kept until it
    /// is withdrawn by its name.
    std::shared_ptr<FrameArena> arena;
    /// Sees each frame before it is coded, from the server's threads; null: nobody.
    std::function<void(const frame::FrameView&)> look;
};

class SegmentServer {
 public:
    /// `begun`: a thread begins with an order; null: nobody is told.
    using Begun = std::function<void(const stream::SegmentOrder&)>;
    using Done = std::function<void(SegmentDone)>;
    /// `pool` and `counters` outlive the server and the frames that it made.
    SegmentServer(std::shared_ptr<const StreamInput> input, SegmentServerOptions options,
                  BufferPool& pool, StageCounters& counters, Begun begun, Done done);
    ~SegmentServer();

    /// An order that is known already is left alone.
    void order(const stream::SegmentOrder& order);
    /// Nobody wants it (any more): what is not begun is not begun, what is held goes, and no answer
    /// follows, though one may be under way. What is being computed is answered with kCancelled.
    void withdraw(const stream::SegmentOrder& order);
    /// Likewise, but for what a feed may read in the arena: that goes when it is withdrawn.
    void withdrawUnread(const stream::SegmentOrder& order);
    /// Nothing: not held. `frame` as FrameSpan counts them.
    std::optional<CodedFrame> frame(const stream::SegmentOrder& order, std::int64_t frame) const;
    /// Of frames coded from now on.
    void setCodecs(frame::CodecPlan codecs);

    struct State {
        /// Further orders that it should have, so that no thread waits for one. Those for which
        /// what it holds leaves no room wait; one that comes before that does not.
        std::int64_t numFree = 0;
        std::int64_t numOrders = 0;  ///< not answered
        std::int64_t numHeld = 0;
        std::int64_t heldBytes = 0;
    };
    State state() const;

 private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::segment

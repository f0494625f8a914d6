#pragma once
// A data worker's engine: takes orders, computes segments on its threads under its memory limit,
// codes every frame at once, lets go of the columns, and holds the coded frames until released.
//
// No network in it: who receives orders and sends frames is somebody else.
// Order: the foremost order in the sequence is begun first. Memory: columns live in the pool; coded
// frames are bounded by heldBytesMax. An order that comes before all that is held is never kept
// waiting for room: the last ones held are given up for it (SegmentDone::isGivenUp).
// Threads: all calls from any; its own are named "data-N", joined by the destructor. `done` is
// called from these, without a lock.
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

namespace millrace::segment {

struct SegmentServerOptions {
    int threads = 1;
    std::int64_t heldBytesMax = std::int64_t{1} << 30;  ///< of coded frames
    frame::CodecPlan codecs;                            ///< empty: none is coded
};

/// The answer to an order.
struct SegmentDone {
    stream::SegmentOrder order;
    Status status;           ///< not OK: no facts
    bool isGivenUp = false;  ///< it made room for one before it: to be ordered again
    SegmentFacts facts;
};

class SegmentServer {
 public:
    /// `pool` and `counters` outlive the server and what it made.
    SegmentServer(std::shared_ptr<const StreamInput> input, SegmentServerOptions options,
                  BufferPool& pool, StageCounters& counters, std::function<void(SegmentDone)> done);
    ~SegmentServer();

    void order(const stream::SegmentOrder& order);
    /// Nobody waits for it any more: what is not begun is not begun, what is held goes. No answer
    /// follows a withdrawal, but one may be under way.
    void withdraw(const stream::SegmentOrder& order);
    /// Nothing: not held (any more). `frame` as FrameSpan counts them.
    std::optional<CodedFrame> frame(const stream::SegmentOrder& order, std::int64_t frame) const;
    /// Of frames coded from now on.
    void setCodecs(frame::CodecPlan codecs);

    struct State {
        std::int64_t numFree = 0;    ///< further orders that would be begun at once
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

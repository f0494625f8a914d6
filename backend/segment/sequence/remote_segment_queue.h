#pragma once
// The interface of a stream for having its segments computed elsewhere: which segment to compute
// next, and where answers go. The stream's own threads are one more claimant at the same queue.
//
// Segments are claimed in the order of the sequence. A lost segment is claimed again, before all
// that were never claimed, with the next generation. If several answers arrive, the first is taken,
// so at most one generation of a segment is ever delivered.
// Threads: any; no call blocks. The queue lives as long as its Sequencer.
// Bounds: RemoteQueueLimits; claim() never exceeds them.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backend/core/status.h"
#include "backend/segment/sequence/remote_frames.h"
#include "backend/stream/segment_order.h"

namespace millrace::segment {

struct RemoteQueueLimits {
    std::int64_t segments = 0;    ///< elsewhere at once, from claim() to delivery; 0: never any
    std::int64_t codedBytes = 0;  ///< of coded frames requested or here; one frame always fits
    bool computesHere = true;     ///< as setComputesHere(), until its first call
};

/// For deciding how many workers there should be.
struct RemoteQueueState {
    stream::SegmentName foremost;  ///< the earliest that is not delivered
    std::int64_t numOut = 0;       ///< claimed elsewhere and not answered
    std::int64_t numArrived = 0;   ///< answered from elsewhere and not delivered
    std::int64_t codedBytes = 0;   ///< requested or here
    bool isForemostOut = false;    ///< delivery waits for an answer
    bool isAtEnd = false;          ///< nothing will be claimed any more
};

class RemoteSegmentQueue {
 public:
    virtual ~RemoteSegmentQueue() = default;

    /// Claims the next segment in order that is not being computed and may be computed elsewhere.
    /// Excluded are a stream's head, and the first segment of every partition except the first: its
    /// frames depend on the segments before it.
    virtual std::optional<stream::SegmentOrder> claim() = 0;
    /// Claims a segment that is already out for a second worker; nothing if it is not out.
    virtual std::optional<stream::SegmentOrder> claimAgain(const stream::SegmentName& name) = 0;

    /// Delivers an answer. False: another answer was taken before, or the order is unknown; release
    /// it.
    virtual bool arrived(const std::shared_ptr<RemoteFrames>& frames) = 0;
    /// The order will not be answered, or its frames are no longer available. What was delivered of
    /// it stays; the rest is claimed again.
    virtual void lost(const stream::SegmentOrder& order) = 0;
    /// The segment must no longer be computed elsewhere.
    virtual void claimHere(const stream::SegmentName& name) = 0;
    /// The segment cannot be computed: the stream ends at its position with this error, unless
    /// another answer was taken before.
    virtual void failed(const stream::SegmentOrder& order, const Status& error) = 0;

    /// Whether threads here start segments that could be computed elsewhere. False: they compute
    /// only what must be computed here, and deliver.
    virtual void setComputesHere(bool computes) = 0;
    /// Call when readers elsewhere may have lost, or got, the way to a worker whose frames they
    /// fetch.
    virtual void lookAgain() = 0;
    virtual RemoteQueueState state() const = 0;
    /// For error messages: "segment 12 of epoch 0 (part-3.parquet rows 0 to 8,191, ...)".
    virtual std::string describe(const stream::SegmentName& name) const = 0;

    /// Sets a callback for when there may be something to claim or the earliest segment changed. It
    /// is called without a lock, from threads of the stream and threads that answer; it must not
    /// block. Null removes it; returns when no call is running.
    virtual void onChange(std::function<void()> tell) = 0;
};

}  // namespace millrace::segment

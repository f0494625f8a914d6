#pragma once
// What whoever has segments computed elsewhere sees of a stream: what to have computed next, and
// where answers go. The threads of the stream are one more claimant at the same desk.
//
// A segment is claimed in the order of the sequence; one that was lost is claimed again, before all
// that nobody has begun, with a generation one higher. Of several answers the first is taken, so at
// most one generation of a segment is ever delivered.
// Threads: any; no call blocks. The desk lives as long as its Sequencer.
// Bounds: DeskLimits; claim() gives nothing beyond them.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backend/core/status.h"
#include "backend/segment/sequence/remote_frames.h"
#include "backend/stream/segment_order.h"

namespace millrace::segment {

struct DeskLimits {
    std::int64_t segments = 0;    ///< elsewhere at once, from claim() to delivery; 0: none ever
    std::int64_t codedBytes = 0;  ///< of coded frames asked for or here; one frame fits always
};

/// For whoever decides how many workers there should be.
struct DeskState {
    stream::SegmentName foremost;  ///< the first that is not delivered
    std::int64_t numOut = 0;       ///< claimed elsewhere and not answered
    std::int64_t numArrived = 0;   ///< answered from elsewhere and not delivered
    std::int64_t codedBytes = 0;   ///< asked for or here
    bool isForemostOut = false;    ///< delivery waits for an answer
    bool isAtEnd = false;          ///< nothing will be claimed any more
};

class SegmentDesk {
 public:
    virtual ~SegmentDesk() = default;

    /// The next in order that nobody computes and that may be computed elsewhere. Not: a stream's
    /// head, and the first segment of a partition but the first, whose frames depend on those
    /// before.
    virtual std::optional<stream::SegmentOrder> claim() = 0;
    /// One that is out already, for a second worker too; nothing when it is not.
    virtual std::optional<stream::SegmentOrder> claimAgain(const stream::SegmentName& name) = 0;

    /// The answer. False: another one was taken before, or the order is not known; let go of it.
    virtual bool arrived(const std::shared_ptr<RemoteFrames>& frames) = 0;
    /// The order will not be answered, or its frames can be had no more: what is delivered of it
    /// stays, the rest is claimed again.
    virtual void lost(const stream::SegmentOrder& order) = 0;
    /// Nobody elsewhere shall try it any more.
    virtual void claimHere(const stream::SegmentName& name) = 0;
    /// It cannot be computed: the stream ends in its place with this error, unless another answer
    /// was taken before.
    virtual void failed(const stream::SegmentOrder& order, const Status& error) = 0;

    /// Whether threads here begin segments that others could have computed. True at first; false:
    /// they compute only what nobody else may, and deliver.
    virtual void setComputesHere(bool computes) = 0;
    virtual DeskState state() const = 0;
    /// Of an error's sentence: "segment 12 of epoch 0 (part-3.parquet rows 0 to 8,191, ...)".
    virtual std::string describe(const stream::SegmentName& name) const = 0;

    /// Called without a lock, from threads of the stream and from whoever answers, when there may
    /// be something to claim or the foremost segment is another; it must not block. Null: nobody
    /// any more; returns when no call is under way.
    virtual void onChange(std::function<void()> tell) = 0;
};

}  // namespace millrace::segment

#pragma once
// The segments in flight, in the order of the sequence, and the items that follow them: heads,
// rests of a cursor, ends of epochs.
//
// A plain data structure: it decides nothing about time or memory. Threads: its owner's lock.
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "backend/core/status.h"
#include "backend/ring/frame_sink.h"
#include "backend/segment/segment_output.h"
#include "backend/segment/sequence/remote_frames.h"
#include "backend/segment/sequence/segment_frames.h"
#include "backend/segment/stream_input.h"
#include "backend/stream/micro_batch_count.h"
#include "backend/stream/segment_order.h"
#include "backend/stream/state/cursor.h"

namespace millrace::segment {

struct FlightItem {
    /// kOpen: not being computed. kComputing: by a thread here, or elsewhere under the generations
    /// in `out`.
    enum class State { kOpen, kComputing, kReady, kFailed, kRetry };
    std::uint32_t epoch = 0;
    std::int64_t segment = 0;
    std::int64_t flightNumber = 0;  ///< in the order in which items entered the flight
    bool isAlone = false;           ///< memory is short: no other thread helps
    SegmentPart part;
    bool isForRest = false;   ///< only its tail is needed, for the open rest of a cursor
    bool isEpochEnd = false;  ///< no rows: follows the epoch's last segment
    bool isHereOnly = false;  ///< must not be computed elsewhere
    bool isHere = false;      ///< claimed by a thread here: counts for memory here
    State state = State::kComputing;
    Status error;
    /// Immutable to the thread that has the turn, which has a copy: Task::frames.
    std::shared_ptr<SegmentFrames> frames;
    std::int64_t plannedBytes = 0;  ///< decoded bytes according to the plan
    std::int64_t heldBytes = 0;     ///< expected bytes while computing, then actual bytes
    int writers = 0;                ///< threads that gather frames from it
    bool isDelivered = false;

    std::int64_t lastRows = 0;             ///< isForRest: number of its last rows that are needed
    std::uint32_t nextGeneration = 0;      ///< of the next order
    std::vector<std::uint32_t> out;        ///< generations that are being computed elsewhere
    std::shared_ptr<RemoteFrames> remote;  ///< same as `frames`, if they come from elsewhere
    std::int64_t nextFrame = 0;            ///< next frame to deliver, as FrameSpan counts
    std::int64_t askedEnd = 0;             ///< frames before this one were requested, or passed on
    std::vector<bool> asked;               ///< by frame of `remote`: it was requested
    /// Number of its first full micro-batch, once known and if others may fetch its frames.
    std::optional<std::int64_t> firstNumber;
    std::int64_t codedBytes = 0;           ///< of the requested frames that are not written yet
    std::optional<std::int64_t> rowsKept;  ///< set once it was computed, here or elsewhere

    stream::SegmentName name() const { return {epoch, segment}; }
    bool isElsewhere() const { return !isHere && !isEpochEnd; }
};

/// A request for frames, to be sent without a lock.
struct FrameAsk {
    std::shared_ptr<RemoteFrames> frames;
    FrameSpan span;
};

class Flight {
 public:
    using Item = std::shared_ptr<FlightItem>;
    struct Options {
        std::uint32_t epochs = 1;
        stream::Cursor start;
        std::int64_t headRows = 0;  ///< as SequencerOptions::headRows
        /// A sink whose readers may fetch frames themselves; null: they do not.
        const ring::FrameSink* fetching = nullptr;
    };
    Flight(const StreamInput& input, Options options);

    std::deque<Item>& items() { return items_; }
    const std::deque<Item>& items() const { return items_; }
    /// Null: nothing is in flight.
    Item front() const { return items_.empty() ? nullptr : items_.front(); }
    /// The earliest item is finished.
    void popFront();
    /// The earliest segment that is not delivered.
    stream::SegmentName foremost() const;
    /// The item of that name that is open or claimed elsewhere; null: none.
    Item findElsewhere(const stream::SegmentName& name) const;
    std::int64_t numElsewhere() const;

    /// Whether items or ends of epochs follow those in flight.
    bool isMore() const { return !rest_.empty() || epoch_ < options_.epochs; }
    /// Whether the next to follow is an item with rows.
    bool hasNext() const { return isMore() && (!rest_.empty() || segment_ < numSegments()); }
    /// Returns that item. Requires hasNext().
    FlightItem next() const;
    /// Appends the item to those in flight.
    Item take(FlightItem next);
    /// Appends ends of epochs while at most `most` items that are not elsewhere are in flight.
    void endEpochs(std::int64_t most);
    /// Moves the first ready item of the earliest epoch in front of those that are not ready.
    void bringReady();

    /// The order to compute the item elsewhere, with the next generation.
    stream::SegmentOrder orderOf(FlightItem& item) const;
    /// Call when the item's frames have arrived as `remote`.
    void took(FlightItem& item, std::shared_ptr<RemoteFrames> frames);
    /// Whether the frame is not needed here, since its reader fetches it from the worker.
    bool isPassedOn(const FlightItem& item, std::int64_t frame) const;
    /// The requests to send so that at most `most` bytes of coded frames are requested or here.
    std::vector<FrameAsk> asks(std::int64_t most);
    /// Call when a frame from elsewhere was written.
    void wrote(FlightItem& item, std::int64_t frame);
    /// Releases the item's frames from elsewhere; null: it has none.
    std::shared_ptr<RemoteFrames> dropRemote(FlightItem& item);
    std::int64_t codedBytes() const { return codedBytes_; }

 private:
    std::int64_t numSegments() const { return input_.numSegments(); }
    bool mayBeElsewhere(const FlightItem& item) const;
    void countItems();
    void countItem(FlightItem& item);
    bool askFor(FlightItem& item, bool isFront, std::int64_t most, std::vector<FrameAsk>& asks);
    std::vector<bool>::reference askedAt(FlightItem& item, std::int64_t frame) const {
        return item.asked[static_cast<std::size_t>(frame)];
    }

    const StreamInput& input_;
    const Options options_;
    std::deque<Item> items_;
    std::deque<stream::RestPart> rest_;  ///< of the cursor; not in flight yet
    std::uint32_t epoch_ = 0;            ///< epoch of the next item; segment_ is its segment
    std::int64_t segment_ = 0;
    SegmentPart part_;  ///< of `segment_`: kRest once its head is in flight
    std::int64_t flightNumber_ = 0;
    std::int64_t codedBytes_ = 0;  ///< requested or here, over all items
    /// Numbers the micro-batches of the first items without a gap in what is computed, ahead of
    /// delivery, which counts for itself. Used only with Options::fetching.
    stream::MicroBatchCount count_;
    std::size_t numCounted_ = 0;  ///< of the items
    std::int64_t headRows_ = 0;   ///< of a counted head whose rest is not counted yet
};

}  // namespace millrace::segment

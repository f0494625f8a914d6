#pragma once
// The segments in flight, in the order of the sequence, and what follows them: heads, rests of a
// cursor, ends of epochs.
//
// A plain structure: it decides nothing about time or memory. Threads: its owner's lock.
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "backend/core/status.h"
#include "backend/segment/segment_output.h"
#include "backend/segment/sequence/remote_frames.h"
#include "backend/segment/sequence/segment_frames.h"
#include "backend/segment/stream_input.h"
#include "backend/stream/segment_order.h"
#include "backend/stream/state/cursor.h"

namespace millrace::segment {

struct FlightItem {
    /// kOpen: nobody computes it. kComputing: a thread here, or as many as `out` elsewhere.
    enum class State { kOpen, kComputing, kReady, kFailed, kRetry };
    std::uint32_t epoch = 0;
    std::int64_t segment = 0;
    std::int64_t flightNumber = 0;  ///< in the order in which items came into the flight
    bool isAlone = false;           ///< memory is short: nobody helps
    SegmentPart part;
    bool isForRest = false;   ///< only its tail is wanted, for the open rest of a cursor
    bool isEpochEnd = false;  ///< no rows: stands behind the epoch's last segment
    bool isHereOnly = false;  ///< nobody elsewhere may compute it
    bool isHere = false;      ///< a thread here has claimed it: it counts for memory here
    State state = State::kComputing;
    Status error;
    /// Immutable to who has the turn, who has a copy: Task::frames.
    std::shared_ptr<SegmentFrames> frames;
    std::int64_t plannedBytes = 0;  ///< what the plan says that it decodes to
    std::int64_t heldBytes = 0;     ///< what it is expected to hold, then what it does hold
    int writers = 0;                ///< threads that gather frames from it
    bool isDelivered = false;

    std::int64_t lastRows = 0;             ///< isForRest: how many of them
    std::uint32_t nextGeneration = 0;      ///< of the next order
    std::vector<std::uint32_t> out;        ///< generations that are computed elsewhere
    std::shared_ptr<RemoteFrames> remote;  ///< `frames`, when they come from elsewhere
    std::int64_t nextFrame = 0;            ///< that delivery needs, as FrameSpan counts them
    std::int64_t askedEnd = 0;             ///< frames before it were asked for
    std::int64_t codedBytes = 0;           ///< of these, those that are not written yet
    std::optional<std::int64_t> rowsKept;  ///< once it was computed, by whomever

    stream::SegmentName name() const { return {epoch, segment}; }
    bool isElsewhere() const { return !isHere && !isEpochEnd; }
};

/// To be asked for without a lock.
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
    };
    Flight(const StreamInput& input, Options options);

    std::deque<Item>& items() { return items_; }
    const std::deque<Item>& items() const { return items_; }
    /// Null: nothing is in flight.
    Item front() const { return items_.empty() ? nullptr : items_.front(); }
    /// The first that is not delivered.
    stream::SegmentName foremost() const;
    /// The item of that name, claimed elsewhere or open; null: none.
    Item findElsewhere(const stream::SegmentName& name) const;
    std::int64_t numElsewhere() const;

    /// Items or ends of epochs will come behind these.
    bool isMore() const { return !rest_.empty() || epoch_ < options_.epochs; }
    /// What comes next is an item with rows.
    bool hasNext() const { return isMore() && (!rest_.empty() || segment_ < numSegments()); }
    /// That item; only with hasNext().
    FlightItem next() const;
    /// Puts it behind the others.
    Item take(FlightItem next);
    /// Puts ends of epochs behind them, while at most so many are in flight that are not elsewhere.
    void endEpochs(std::int64_t most);
    /// Puts the first item of the foremost epoch that is ready in front of those that are not.
    void bringReady();

    /// The order that has the item computed elsewhere, one generation more.
    stream::SegmentOrder orderOf(FlightItem& item) const;
    /// What to ask for so that at most `most` bytes of coded frames are asked for or here.
    std::vector<FrameAsk> asks(std::int64_t most);
    /// A frame from elsewhere was written.
    void wrote(FlightItem& item, std::int64_t frame);
    /// Lets go of frames from elsewhere; null: it has none.
    std::shared_ptr<RemoteFrames> dropRemote(FlightItem& item);
    std::int64_t codedBytes() const { return codedBytes_; }

 private:
    std::int64_t numSegments() const { return input_.numSegments(); }
    bool mayBeElsewhere(const FlightItem& item) const;

    const StreamInput& input_;
    const Options options_;
    std::deque<Item> items_;
    std::deque<stream::RestPart> rest_;  ///< of the cursor, that are not in flight yet
    std::uint32_t epoch_ = 0;            ///< of what follows, and its segment
    std::int64_t segment_ = 0;
    SegmentPart part_;  ///< of `segment_`: kRest once its head is in flight
    std::int64_t flightNumber_ = 0;
    std::int64_t codedBytes_ = 0;  ///< asked for or here, of all items
};

}  // namespace millrace::segment

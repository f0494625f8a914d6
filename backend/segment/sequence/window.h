#pragma once
// The segments in flight: which is computed next, which is foremost, what they may hold in memory.
//
// Threads: any; everything is behind one lock. Items are claimed in sequence order, so the foremost
// one can always go on and nothing waits for what comes later.
// Memory: an item is let in when the expected bytes of all items fit the pool's limit, or when it
// is alone. One that runs out of memory all the same is computed again when it is foremost and
// alone; only if that fails too, the segment does not fit.
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/segment/column_jobs.h"
#include "backend/segment/segment_output.h"
#include "backend/segment/stage_counters.h"
#include "backend/segment/stream_input.h"
#include "backend/stream/state/cursor.h"

namespace millrace::segment {

struct FlightItem {
    enum class State { kComputing, kReady, kFailed, kRetry };
    std::uint32_t epoch = 0;
    std::int64_t segment = 0;
    std::int64_t flightNumber = 0;  ///< in the order in which items were claimed
    bool isAlone = false;           ///< memory is short: nobody helps
    SegmentPart part;
    bool isForRest = false;   ///< only its tail is wanted, for the open rest of a cursor
    bool isEpochEnd = false;  ///< no rows: stands behind the epoch's last segment
    State state = State::kComputing;
    Status error;
    std::optional<SegmentOutput> output;
    std::int64_t plannedBytes = 0;  ///< what the plan says that it decodes to
    std::int64_t heldBytes = 0;     ///< what it is expected to hold, then what it does hold
    int writers = 0;                ///< threads that gather frames from it
    bool isDelivered = false;
};

class Window {
 public:
    struct Options {
        std::uint32_t epochs = 1;
        int size = 2;
        std::int64_t limitBytes = 0;  ///< 0: none
        stream::Cursor start;
        std::int64_t headRows = 0;          ///< as SequencerOptions::headRows
        bool isOrdered = true;              ///< false: whatever is ready is delivered first
        StageCounters* counters = nullptr;  ///< of waits; null: not counted
        const ColumnJobs* jobs = nullptr;   ///< where to help; null: nowhere. Outlives the window
    };
    struct Task {
        enum class Kind { kStop, kCompute, kDeliver, kHelp };
        Kind kind = Kind::kStop;
        std::shared_ptr<FlightItem> item;  ///< kDeliver: null when every epoch is behind us
    };

    Window(const StreamInput& input, Options options);

    /// Blocks until there is something to do. kDeliver is given to one thread at a time, until
    /// delivered(). kHelp when there was something to help with. `mayCompute` false: deliveries
    /// only.
    Task next(bool mayCompute);

    void computed(const std::shared_ptr<FlightItem>& item, Result<SegmentOutput> output);
    /// The delivering thread gives its turn to whoever is free. `isDone`: the item is behind us.
    void delivered(const std::shared_ptr<FlightItem>& item, bool isDone);
    /// A thread gathers from the item beyond its turn; its memory stays until all have left.
    void enter(const std::shared_ptr<FlightItem>& item);
    void leave(const std::shared_ptr<FlightItem>& item);

    /// There is something to help with.
    void wake();
    /// Every waiting and later next() is kStop.
    void stop();

 private:
    bool canDeliverLocked() const MR_REQUIRES(mutex_);
    void bringReadyLocked() MR_REQUIRES(mutex_);
    std::shared_ptr<FlightItem> claimLocked() MR_REQUIRES(mutex_);
    std::shared_ptr<FlightItem> retryLocked() MR_REQUIRES(mutex_);
    void failedLocked(FlightItem& item, const Status& error) MR_REQUIRES(mutex_);
    void holdLocked(FlightItem& item) MR_REQUIRES(mutex_);
    void waitLocked(bool mayCompute) MR_REQUIRES(mutex_);
    bool hasRetryLocked() const MR_REQUIRES(mutex_);
    void endEpochsLocked() MR_REQUIRES(mutex_);
    void release(const std::shared_ptr<FlightItem>& item) MR_EXCLUDES(mutex_);
    FlightItem nextLocked() const MR_REQUIRES(mutex_);
    void advanceLocked(const FlightItem& item) MR_REQUIRES(mutex_);

    const StreamInput& input_;
    const Options options_;
    Mutex mutex_;
    CondVar changed_;
    std::deque<std::shared_ptr<FlightItem>> flight_ MR_GUARDED_BY(mutex_);
    std::deque<std::int64_t> restSegments_ MR_GUARDED_BY(mutex_);
    std::uint32_t epoch_ MR_GUARDED_BY(mutex_) = 0;
    std::int64_t segment_ MR_GUARDED_BY(mutex_) = 0;
    std::int64_t flightNumber_ MR_GUARDED_BY(mutex_) = 0;  ///< of the next item
    /// Of `segment_`: kRest once its head is in flight.
    SegmentPart part_ MR_GUARDED_BY(mutex_);
    std::int64_t heldBytes_ MR_GUARDED_BY(mutex_) = 0;
    double bytesPerPlanned_ MR_GUARDED_BY(mutex_) = 2.0;
    int numHeld_ MR_GUARDED_BY(mutex_) = 0;
    bool isDelivering_ MR_GUARDED_BY(mutex_) = false;
    bool isStopped_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::segment

#pragma once
// Schedules the segments in flight: which is computed next, by which thread, which is delivered
// next, and how much memory they may hold.
//
// Threads: any; everything is behind one lock. The stream's own threads (next()) and workers
// elsewhere (RemoteSegmentQueue) claim items in sequence order. The earliest item can therefore
// always progress, and nothing waits for a later one. Memory: an item is admitted when the expected
// bytes of all items computed here fit the pool's limit, or when it is alone. If it still runs out
// of memory, it is computed again once it is earliest and alone. Only if that fails too, the
// segment does not fit. Items computed elsewhere hold only coded frames here, within
// RemoteQueueLimits.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/segment/segment_output.h"
#include "backend/segment/sequence/change_notifier.h"
#include "backend/segment/sequence/flight.h"
#include "backend/segment/sequence/remote_segment_queue.h"
#include "backend/segment/stage_counters.h"
#include "backend/segment/stream_input.h"
#include "backend/segment/work_stealing.h"
#include "backend/stream/state/cursor.h"

namespace millrace::segment {

class Window final : public RemoteSegmentQueue {
 public:
    struct Options {
        std::uint32_t epochs = 1;
        int size = 2;
        std::int64_t limitBytes = 0;  ///< 0: no limit
        stream::Cursor start;
        std::int64_t headRows = 0;           ///< as SequencerOptions::headRows
        bool isOrdered = true;               ///< false: any ready item is delivered first
        StageCounters* counters = nullptr;   ///< for wait times; null: not counted
        const WorkStealing* jobs = nullptr;  ///< work to steal; null: none. Outlives the window
        RemoteQueueLimits queue;             ///< if not isOrdered: none
        const ring::FrameSink* fetching = nullptr;  ///< as Flight::Options
    };
    struct Task {
        enum class Kind { kStop, kCompute, kDeliver, kHelp };
        Kind kind = Kind::kStop;
        std::shared_ptr<FlightItem> item;       ///< kDeliver: null at the end of the last epoch
        std::shared_ptr<SegmentFrames> frames;  ///< kDeliver: the item's; null: it failed
    };

    Window(const StreamInput& input, Options options);
    ~Window() override;

    /// Blocks until there is something to do. kDeliver goes to one thread at a time, until
    /// delivered(). kHelp when there may be work to steal. `mayCompute` false: deliveries only.
    Task next(bool mayCompute);

    void computed(const std::shared_ptr<FlightItem>& item, Result<SegmentOutput> output);
    /// The delivering thread passes on its turn. `isDone`: the item is finished; otherwise
    /// `nextFrame` is the next frame of it that delivery needs.
    void delivered(const std::shared_ptr<FlightItem>& item, bool isDone,
                   std::int64_t nextFrame = 0);
    /// Like delivered(), for frames from elsewhere that are unusable because rows of an earlier
    /// partition come first.
    void returned(const std::shared_ptr<FlightItem>& item);
    /// The thread gathers from the item beyond its turn; the item's memory stays until all have
    /// left.
    void enter(const std::shared_ptr<FlightItem>& item);
    void leave(const std::shared_ptr<FlightItem>& item);
    /// A frame of the item was written; if it came from elsewhere its bytes are freed.
    void wrote(const std::shared_ptr<FlightItem>& item, const SegmentFrames& from,
               std::int64_t frame);

    std::optional<stream::SegmentOrder> claim() override;
    std::optional<stream::SegmentOrder> claimAgain(const stream::SegmentName& name) override;
    bool arrived(const std::shared_ptr<RemoteFrames>& frames) override;
    void lost(const stream::SegmentOrder& order) override;
    void claimHere(const stream::SegmentName& name) override;
    void failed(const stream::SegmentOrder& order, const Status& error) override;
    void setComputesHere(bool computes) override;
    RemoteQueueState state() const override;
    std::string describe(const stream::SegmentName& name) const override;
    void lookAgain() override;
    void onChange(std::function<void()> tell) override { notifier_.set(std::move(tell)); }

    /// Call when there is work to steal, or a frame arrived.
    void wake();
    /// Makes every waiting and later next() return kStop.
    void stop();
    /// Like stop(), and releases all frames from elsewhere. No thread may have the turn or write.
    void close();

 private:
    using Item = std::shared_ptr<FlightItem>;
    bool canDeliverLocked() const MR_REQUIRES(mutex_);
    Item claimHereLocked() MR_REQUIRES(mutex_);
    Item openHereLocked() const MR_REQUIRES(mutex_);
    Item claimOpenLocked(const Item& open) MR_REQUIRES(mutex_);
    Item retryLocked() MR_REQUIRES(mutex_);
    void failedLocked(FlightItem& item, const Status& error) MR_REQUIRES(mutex_);
    bool fitsLocked(const FlightItem& item) const MR_REQUIRES(mutex_);
    void guessLocked(FlightItem& item) const MR_REQUIRES(mutex_);
    void holdLocked(FlightItem& item) MR_REQUIRES(mutex_);
    void unholdLocked(FlightItem& item) MR_REQUIRES(mutex_);
    void waitLocked(bool mayCompute) MR_REQUIRES(mutex_);
    bool hasRetryLocked() const MR_REQUIRES(mutex_);
    void release(const Item& item) MR_EXCLUDES(mutex_);
    bool takeRowsLocked(FlightItem& item, std::int64_t rowsKept) MR_REQUIRES(mutex_);
    static void askFor(const std::vector<FrameAsk>& asks);

    const StreamInput& input_;
    const Options options_;
    mutable Mutex mutex_;
    CondVar changed_;
    Flight flight_ MR_GUARDED_BY(mutex_);
    std::int64_t heldBytes_ MR_GUARDED_BY(mutex_) = 0;
    double bytesPerPlanned_ MR_GUARDED_BY(mutex_) = 2.0;
    int numHeld_ MR_GUARDED_BY(mutex_) = 0;
    bool computesHere_ MR_GUARDED_BY(mutex_);
    bool isDelivering_ MR_GUARDED_BY(mutex_) = false;
    bool isStopped_ MR_GUARDED_BY(mutex_) = false;
    ChangeNotifier notifier_;
};

}  // namespace millrace::segment

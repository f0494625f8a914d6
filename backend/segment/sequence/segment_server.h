#pragma once
// The engine of a data worker: takes orders, computes segments on its threads under its memory
// limit, codes every frame at once, releases the columns, and holds the coded frames until
// released.
//
// It does no networking: its caller receives orders and sends frames. It fetches objects of a store
// ahead for waiting orders only.
// Order: the order earliest in the sequence starts first. Memory: everything is in the pool. Coded
// frames are bounded by heldBytesMax, columns by the rest of the pool's limit. A segment that runs
// out of memory beside others is computed again alone. An order that comes before held segments in
// the sequence never waits for room: the last held segments are given up for it
// (SegmentDone::isGivenUp).
// Threads: all calls from any. Its own threads are named "data-N" and joined by the destructor,
// which waits for the segments that are being computed. They call the callbacks without a lock.
// Failure: a segment's error is in its answer, with file and row group or row.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/frame/codec.h"
#include "backend/segment/memory/buffer_pool.h"
#include "backend/segment/objects_ahead.h"
#include "backend/segment/segment_runner.h"
#include "backend/segment/sequence/remote_frames.h"
#include "backend/segment/sequence/segment_coder.h"
#include "backend/segment/sequence/segment_report.h"
#include "backend/segment/stage_counters.h"
#include "backend/segment/stream_input.h"
#include "backend/stream/segment_order.h"

namespace millrace::segment {

/// The answer to an order.
struct SegmentDone {
    stream::SegmentOrder order;
    /// Not OK: no facts. kResourceExhausted: a machine with more memory may succeed.
    Status status;
    /// The segment was dropped to make room for an earlier one and must be ordered again. May
    /// follow a successful answer.
    bool isGivenUp = false;
    SegmentReport facts;
};

struct SegmentServerOptions {
    int threads = 1;
    std::int64_t heldBytesMax = std::int64_t{1} << 30;  ///< at most half of the pool's limit
    frame::CodecPlan codecs;                            ///< empty: frames are not coded
    /// The memory in which a feed on this machine reads frames; null: frames are sent. A segment of
    /// which a frame was requested stays in the arena until withdraw() names it.
    std::shared_ptr<FrameArena> arena;
    /// Called with each frame before it is coded, from the server's threads; null: no callback.
    std::function<void(const frame::FrameView&)> look;
};

class SegmentServer {
 public:
    /// Called when a thread starts an order; null: no callback.
    using Begun = std::function<void(const stream::SegmentOrder&)>;
    using Done = std::function<void(SegmentDone)>;
    /// `pool` and `counters` outlive the server and the frames that it made.
    SegmentServer(std::shared_ptr<const StreamInput> input, SegmentServerOptions options,
                  BufferPool& pool, StageCounters& counters, Begun begun, Done done);
    ~SegmentServer();

    /// Ignores an order that is already known.
    void order(const stream::SegmentOrder& order);
    /// The order is no longer needed. If it waits it is dropped; if it is held its frames are
    /// freed. No answer follows, but one may be on its way. If it is being computed it is answered
    /// with kCancelled.
    void withdraw(const stream::SegmentOrder& order) { drop(order, false); }
    /// Like withdraw(), but keeps what a feed may be reading in the arena until withdraw() names
    /// it.
    void withdrawUnread(const stream::SegmentOrder& order) { drop(order, true); }
    /// Returns nothing if the order is not held. `frame` as FrameSpan counts them.
    std::optional<CodedFrame> frame(const stream::SegmentOrder& order, std::int64_t frame);
    /// Applies to frames coded from now on.
    void setCodecs(frame::CodecPlan codecs);

 private:
    enum class Phase { kWaiting, kComputing, kHeld };
    struct Entry {
        stream::SegmentOrder order;
        Phase phase = Phase::kWaiting;
        bool isWithdrawn = false;      ///< withdrawn while it is computed
        bool isAlone = false;          ///< must be computed with no other segment beside it
        bool isRead = false;           ///< a frame of it was requested
        bool isGivenUp = false;        ///< reported as given up; kept while it may be read
        std::int64_t columnBytes = 0;  ///< expected, while it is computed
        std::int64_t heldBytes = 0;    ///< expected, then actual
        std::vector<CodedFrame> frames;
    };
    using Key = std::pair<stream::SegmentName, std::uint32_t>;
    using Entries = std::map<Key, Entry>;
    static Key keyOf(const stream::SegmentOrder& order) { return {order.name, order.generation}; }
    struct Coder {
        std::uint64_t version = 0;
        std::optional<SegmentCoder> coder;
    };
    /// The work to do, and to report, without the lock.
    struct Work {
        std::optional<stream::SegmentOrder> order;
        std::vector<SegmentDone> givenUp;
        std::vector<Entry> dropped;
        bool isEnd = false;
    };

    void drop(const stream::SegmentOrder& order, bool isReadKept);
    void work();
    Work next();
    bool beginLocked(Work& work) MR_REQUIRES(mutex_);
    bool hasRoomLocked(const Key& key, std::int64_t bytes, Work& work) MR_REQUIRES(mutex_);
    /// Whether another process may be reading its memory.
    bool isRead(const Entry& entry) const { return options_.arena != nullptr && entry.isRead; }
    std::int64_t columnsLimit() const { return ahead_.leftOf(pool_.limitBytes()) - heldMax_; }
    Result<CodedSegment> compute(const stream::SegmentOrder& order, SegmentRunner& runner,
                                 Coder& coder, std::int64_t& columnBytes);
    void finish(const stream::SegmentOrder& order, Result<CodedSegment> coded,
                std::int64_t columnBytes);
    bool settleLocked(Entry& entry, Result<CodedSegment>& coded, std::int64_t columnBytes)
        MR_REQUIRES(mutex_);
    Status tooLarge(const stream::SegmentOrder& order, const Status& why) const;

    const std::shared_ptr<const StreamInput> input_;
    const SegmentServerOptions options_;
    BufferPool& pool_;
    StageCounters& counters_;
    const Begun begun_;
    const Done done_;
    const ObjectsAhead ahead_;
    const std::int64_t heldMax_;
    mutable Mutex mutex_;
    CondVar changed_;
    Entries entries_ MR_GUARDED_BY(mutex_);
    frame::CodecPlan codecs_ MR_GUARDED_BY(mutex_);
    std::uint64_t codecsVersion_ MR_GUARDED_BY(mutex_) = 1;
    std::int64_t numComputing_ MR_GUARDED_BY(mutex_) = 0;
    std::int64_t columnBytes_ MR_GUARDED_BY(mutex_) = 0;
    std::int64_t heldBytes_ MR_GUARDED_BY(mutex_) = 0;  ///< expected, then actual
    double columnsPerPlanned_ MR_GUARDED_BY(mutex_);
    double codedPerPlanned_ MR_GUARDED_BY(mutex_);
    bool isStopped_ MR_GUARDED_BY(mutex_) = false;
    std::vector<std::jthread> threads_;
};

}  // namespace millrace::segment

#pragma once
// LedStream: one stream at its lead. It takes segments from the stream's queue, lets StreamMaster
// decide which worker computes which, sends the orders, and passes the results to the queue. Used
// by Lead.
//
// Workers are identified by the id that join() returned. turn() and answered() report workers with
// wrong answers; the caller ends their sessions and calls lose(). If a worker is lost while it owes
// frames to relays, the segments go to other workers first of all, and the ledger then tells the
// relays. Threads: one owner, under its
// lock; `onReleased` is called from any, without one. Owns: its records of segments that are
// computed elsewhere. The queue outlives it.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backend/ring/frame_ledger.h"
#include "backend/segment/sequence/remote_segment_queue.h"
#include "backend/segment/stream_input.h"
#include "backend/stream/stream_master.h"
#include "daemon/worker/data/traffic_table.h"
#include "daemon/worker/data/worker_link.h"
#include "millrace/v1/data.pb.h"

namespace millrace::data {

class LedStream {
 public:
    using LinkPtr = std::shared_ptr<WorkerLink>;
    /// The queue needs no frame of this order any more: the owner must call released().
    using OnReleased = std::function<void(const stream::SegmentOrder&)>;
    struct Refusal {
        stream::WorkerId worker = 0;
        Status why;
    };

    /// `ledger`: where the frames that relays fetch are owed; outlives the stream.
    LedStream(segment::RemoteSegmentQueue& queue, std::shared_ptr<const segment::StreamInput> input,
              const stream::StreamMaster::Options& options, ring::FrameLedger& ledger,
              OnReleased onReleased);

    segment::RemoteSegmentQueue& queue() { return queue_; }
    const frame::FrameLayout& layout() const { return input_->layout(); }
    /// Larger than that of every order that was given.
    std::uint32_t nextGeneration() const { return nextGeneration_; }

    stream::WorkerId join(const LinkPtr& link, int places, int threads);
    void report(stream::WorkerId id, int places);
    void leave(stream::WorkerId id);
    void lose(stream::WorkerId id, stream::StreamMaster::Loss loss);
    void begun(stream::WorkerId id, const v1::OrderName& name);
    /// Not OK: the answer differs from its description; the worker must be refused.
    Status answered(stream::WorkerId id, const v1::SegmentDone& done);
    void released(const stream::SegmentOrder& order);

    /// Does everything that is due; call after every event, and twice a second.
    std::vector<Refusal> turn(const TrafficTable& traffic);
    /// How many workers would keep the ranks from waiting; updated once a second.
    int workersWanted() const { return workersWanted_; }
    /// Segments that were computed elsewhere and delivered, and the bytes of their frames.
    std::int64_t numDelivered() const { return numDelivered_; }
    std::uint64_t frameBytes() const { return frameBytes_; }
    /// Rows read and rows kept of the segments that arrived since the last call.
    std::pair<std::int64_t, std::int64_t> takeRows() { return std::exchange(rows_, {}); }

 private:
    using Hand = stream::StreamMaster::Hand;
    /// A segment that the queue gave out.
    struct Segment {
        stream::SegmentOrder order;  ///< as the queue knows it
        bool isOurs = true;          ///< false: lost to the queue, and not claimed again yet
        bool isArrived = false;
        bool isAgain = false;  ///< delivered; computed again for relays that lost its frames
        std::uint64_t frameBytes = 0;  ///< once arrived
        Hand keeper;
    };
    using Messages = std::map<LinkPtr, v1::WorkerOrders>;
    class Holder;

    LinkPtr linkOf(stream::WorkerId id) const;
    void loseArrived(stream::WorkerId id);
    Status arrived(const LinkPtr& link, const Hand& hand, const v1::SegmentDone& done);
    void failed(const LinkPtr& link, const Hand& hand, const Status& why);
    static void withdraw(const LinkPtr& link, const v1::OrderName& name);
    bool offer(const std::shared_ptr<segment::RemoteFrames>& frames);
    bool computeAgain(Segment& segment);
    void giveUpOrphans();
    void computeHere(std::int64_t number);
    void claimAgain(Segment& segment);
    bool claim();
    void forget(std::int64_t number);
    void forgetPassed();
    std::vector<Refusal> act(const stream::StreamMaster::Decisions& decisions);
    void tell(const stream::StreamMaster::Decisions& decisions);
    void order(const Hand& hand, Messages& out);
    void endAt(const stream::StreamMaster::PoisonSegment& deadly);
    void watchAppetite(const TrafficTable& traffic, std::int64_t nowNs);

    segment::RemoteSegmentQueue& queue_;
    const std::shared_ptr<const segment::StreamInput> input_;
    ring::FrameLedger& ledger_;
    const OnReleased onReleased_;
    stream::StreamMaster master_;
    std::map<stream::WorkerId, LinkPtr> links_;
    std::map<std::int64_t, Segment> segments_;  ///< by number
    std::map<stream::SegmentName, std::int64_t> numbers_;
    std::int64_t nextNumber_ = 0;
    std::uint32_t nextGeneration_;
    std::optional<bool> computesHere_;  ///< nothing: the queue was not told
    std::int64_t lastTurnNs_, adviceNs_ = 0;
    double starvedNs_ = 0;
    int workersWanted_ = 0;
    std::int64_t numDelivered_ = 0;
    std::uint64_t frameBytes_ = 0;
    std::pair<std::int64_t, std::int64_t> rows_;  ///< read and kept, as takeRows()
};

}  // namespace millrace::data

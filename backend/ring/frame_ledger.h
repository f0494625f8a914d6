#pragma once
// FrameLedger: a stream::FrameBook that threads share. RingSink adds debts and waits for credit;
// the pumps of ranks on other nodes pass on acknowledgements.
//
// Threads: any. Owners are released, and callbacks called, without the lock. Outlives its debts.
// Failure: kUnavailable when the ring has ended, kCancelled on stop.
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <utility>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/stream/frame_book.h"

namespace millrace::ring {

class FrameLedger {
 public:
    using RingId = stream::FrameBook::RingId;
    using Moved = stream::FrameBook::Moved;
    /// Notices to a ring's pump. They come from any thread and must not block.
    struct RingEvents {
        std::function<void()> onLost;  ///< a frame that is owed will not come: the ring must end
        std::function<void(const Moved&)> onMoved;  ///< its relay must be told
    };
    /// Bytes of frames in memory that may be owed to one rank.
    static constexpr std::uint64_t kCreditBytes = std::uint64_t{64} << 20;

    /// A frame that is owed. Destroying it cancels the debt unless keep() was called.
    class Debt {
     public:
        Debt() = default;
        Debt(FrameLedger* ledger, RingId ring, stream::FrameBook::DebtId id)
            : ledger_(ledger), ring_(ring), id_(id) {}
        Debt(Debt&& other) noexcept
            : ledger_(std::exchange(other.ledger_, nullptr)), ring_(other.ring_), id_(other.id_) {}
        Debt& operator=(Debt&&) = delete;
        ~Debt();
        /// The reference is in the ring.
        void keep() { ledger_ = nullptr; }

     private:
        FrameLedger* ledger_ = nullptr;
        RingId ring_ = 0;
        stream::FrameBook::DebtId id_ = 0;
    };

    explicit FrameLedger(std::uint64_t creditBytes = kCreditBytes) : book_(creditBytes) {}

    RingId open(std::uint64_t relay, RingEvents events);
    void close(RingId ring);
    bool isOpen(RingId ring) const;

    /// Relays that follow the feed: ranks behind them may come, and take references.
    void setRelays(std::size_t relays) { numRelays_ = relays; }
    bool hasRelays() const { return numRelays_ > 0; }

    void setReached(std::uint64_t worker, const std::vector<stream::FrameBook::Reach>& reached);
    void block(std::uint64_t worker, RingId ring, std::uint32_t connection, std::int64_t nowNs);
    /// Ends the rings that have waited too long for a worker; call a few times a second.
    void endOverdue(std::int64_t nowNs);
    bool mayRefer(RingId ring, std::uint64_t worker) const;
    /// Waits for credit; `kept` as FrameBook::hasRoom(). Nothing: meanwhile the relay has lost the
    /// worker, so the frame must come from here.
    Result<std::optional<Debt>> owe(RingId ring, const stream::FramePart& part,
                                    stream::FrameBook::Owner owner, std::size_t kept,
                                    const std::stop_token& stop);
    Status acknowledged(RingId ring, std::uint64_t count);
    void lose(std::uint64_t worker);
    void drop(std::uint64_t worker, const stream::SegmentName& name);
    std::set<stream::SegmentName> orphans() const;
    /// Tells the relays of the orphans' rings where the frames are now. False: nobody waits for
    /// them.
    bool replace(const stream::SegmentName& name, const stream::FrameBook::PartOf& partOf,
                 const stream::FrameBook::Owner& owner);
    /// Ends the rings that wait for the segment's frames.
    void giveUp(const stream::SegmentName& name);

    /// FrameBook::carried() and takeTraffic().
    void carried(RingId ring, std::uint64_t bytes);
    std::map<stream::FrameBook::Pair, stream::FrameBook::Totals> takeTraffic();
    /// Whether a pair of worker and relay came or went since the last call.
    bool takeChange() { return isChanged_.exchange(false); }
    stream::FrameBook::Totals totals() const;

 private:
    void cancel(RingId ring, stream::FrameBook::DebtId debt);
    template <typename Rings>
    void endAll(const Rings& rings) MR_EXCLUDES(mutex_);

    mutable Mutex mutex_;
    CondVar changed_;
    stream::FrameBook book_ MR_GUARDED_BY(mutex_);
    std::map<RingId, RingEvents> events_ MR_GUARDED_BY(mutex_);
    std::atomic<std::size_t> numRelays_{0};
    std::atomic<bool> isChanged_{false};
};

}  // namespace millrace::ring

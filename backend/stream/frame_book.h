#pragma once
// FrameBook: the frames that data workers owe to ranks on other nodes.
//
// The leading feed passes a reference through a rank's ring. The rank's relay fetches the frame
// from its worker, writes it into the rank's ring, and acknowledges it. Until then the book keeps
// the frame's owner, which keeps the frame at its worker, and counts it against the ring's credit.
// It also knows which worker has a connection to which relay: only such pairs get references.
//
// A debt is an orphan if its worker is gone. The caller lets another
// worker compute the segment again (orphans() has the names) and calls replace(). The reference
// itself stays as it is: Moved tells the relay where its frame is now.
//
// It is pure: no I/O, no lock; time is an argument, in nanoseconds of any steady clock. Owners that
// it returns are to be released without a lock. Threads: one owner. Bounds: creditBytes per ring,
// or what the caller keeps out. Failure: an acknowledgement of frames that nobody owes.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "backend/core/status.h"
#include "backend/stream/frame_part.h"

namespace millrace::stream {

class FrameBook {
 public:
    using Owner = std::shared_ptr<const void>;
    using RingId = std::uint64_t;
    using DebtId = std::uint64_t;
    /// A worker's connection to a relay. `connection` grows each time that the worker connects.
    struct Reach {
        std::uint64_t relay = 0;
        std::uint32_t connection = 0;
    };
    /// The frames of an order that are at another worker now.
    struct Moved {
        std::uint64_t worker = 0;  ///< the one of the references
        SegmentName name;
        std::uint32_t generation = 0;  ///< likewise
        std::uint64_t toWorker = 0;
        std::uint32_t toGeneration = 0;
        std::map<std::int64_t, std::uint64_t> codedBytes;  ///< by frame that is owed
    };
    /// Rings behind a relay that must learn of it, and rings that must end.
    struct Replaced {
        std::vector<std::pair<RingId, Moved>> moved;
        std::set<RingId> ended;
    };
    /// A reference to frame `frame` of the segment that was computed again.
    using PartOf = std::function<std::optional<FramePart>(std::int64_t frame)>;
    /// How long a worker may stay out of a relay's reach before the ring ends: longer than the feed
    /// takes to notice that a worker is silent.
    static constexpr std::int64_t kOutOfReachNs = 3'000'000'000;
    /// Acknowledged frames since the start.
    struct Totals {
        std::uint64_t frames = 0;
        std::uint64_t bytes = 0, codedBytes = 0;  ///< in memory; as they were sent
        std::uint64_t carriedBytes = 0;           ///< of frames in memory that the feed itself sent
    };
    template <typename Of>
    std::vector<Owner> orphan(const Of& isOf);
    /// Worker, relay.
    using Pair = std::pair<std::uint64_t, std::uint64_t>;
    static constexpr std::uint64_t kFeed = 0;  ///< in a Pair: the leading feed instead of a worker

    /// `creditBytes`: most bytes of frames in memory that are owed to one ring; one frame is always
    /// allowed.
    explicit FrameBook(std::uint64_t creditBytes) : creditBytes_(creditBytes) {}

    /// Returns a new ring of a rank behind `relay`.
    RingId open(std::uint64_t relay);
    /// The ring has ended: nothing is owed to it any more.
    std::vector<Owner> close(RingId ring);
    bool isOpen(RingId ring) const { return rings_.contains(ring); }

    /// The worker's open connections, all of them. Returns whether something changed.
    bool setReached(std::uint64_t worker, const std::vector<Reach>& reached);
    /// The relay awaits a frame, but has no connection to the worker after `connection`. The worker
    /// may connect again, or turn out to be gone, until kOutOfReachNs have passed.
    void block(std::uint64_t worker, RingId ring, std::uint32_t connection, std::int64_t nowNs);
    /// Rings that must end because they have waited too long for a worker that is out of reach.
    std::vector<RingId> overdue(std::int64_t nowNs);
    /// Whether the ring's relay can fetch a frame from the worker.
    bool mayRefer(RingId ring, std::uint64_t worker) const;

    /// Whether `bytes` more may be owed. `kept`: the last debts, which cannot be acknowledged
    /// before the caller's next ones are made.
    bool hasRoom(RingId ring, std::uint64_t bytes, std::size_t kept) const;
    /// Adds a debt. 0: the ring has ended, or its relay cannot reach the worker any more.
    DebtId owe(RingId ring, const FramePart& part, Owner owner);
    /// The reference was not given.
    Owner cancel(RingId ring, DebtId debt);
    /// The relay has written the frames of the first `count` references since the ring was opened.
    Result<std::vector<Owner>> acknowledged(RingId ring, std::uint64_t count);

    /// The worker is gone: what it owes are orphans.
    std::vector<Owner> lose(std::uint64_t worker);
    /// The worker has dropped the segment: the same for its frames.
    std::vector<Owner> drop(std::uint64_t worker, const SegmentName& name);
    /// Segments with orphans.
    std::set<SegmentName> orphans() const;
    /// Another worker has the segment's frames, and `owner` keeps them there. A ring ends if a
    /// frame has other rows than its reference.
    Replaced replace(const SegmentName& name, const PartOf& partOf, const Owner& owner);
    /// The segment is not computed again: rings that wait for it must end.
    std::vector<RingId> giveUp(const SegmentName& name) const;
    /// A frame of this size goes to the ring's relay through the leading feed.
    void carried(RingId ring, std::uint64_t bytes);
    const Totals& totals() const { return totals_; }
    /// Returns the frames by worker and relay since the last call; those of kFeed are as large when
    /// they are sent as in memory.
    std::map<Pair, Totals> takeTraffic() { return std::exchange(traffic_, {}); }

 private:
    struct Debt {
        DebtId id = 0;
        FramePart part;  ///< worker, generation and codedBytes: where the frame is now
        Owner owner;
        bool isOrphan = false;
    };
    struct Ring {
        std::uint64_t relay = 0;
        std::deque<Debt> debts;
        std::uint64_t bytes = 0;         ///< of the debts
        std::uint64_t acknowledged = 0;  ///< references since it was opened
    };

    void addTraffic(const Pair& pair, std::uint64_t bytes, std::uint64_t codedBytes);

    const std::uint64_t creditBytes_;
    std::map<RingId, Ring> rings_;
    std::map<Pair, std::uint32_t> reached_;  ///< the connection
    std::map<Pair, std::uint32_t> blocked_;  ///< connections up to this one
    /// Since when the ring waits for a worker that is out of reach.
    std::map<std::pair<RingId, std::uint64_t>, std::int64_t> waits_;
    std::size_t numOrphans_ = 0;
    std::uint64_t nextRing_ = 1, nextDebt_ = 1;
    Totals totals_;
    std::map<Pair, Totals> traffic_;
};

}  // namespace millrace::stream

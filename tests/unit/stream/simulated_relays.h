#pragma once
// Relays and data workers of a simulated cluster: messages take their time, links break, ranks are
// slow. Used by frame_book_sim_test.cpp, whose lead has the code under test.
//
// Threads: one.
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/stream/frame_book.h"
#include "backend/stream/stream_master.h"

namespace millrace::stream::simulated {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::size_t kSlots = 3;     ///< of a rank's ring at its relay
constexpr std::size_t kTransfer = 2;  ///< entries on their way to a relay

/// A worker as it is; the lead may not know.
struct Worker {
    WorkerId id = 0;
    bool isAlive = true, isSilent = false, isKnown = true;
    std::map<std::pair<std::int64_t, std::uint32_t>, std::int64_t> held;  ///< frames by order
    std::set<std::uint64_t> reached;  ///< relays with an open connection
    std::map<std::uint64_t, std::uint32_t> connections;
};

/// A frame in a ring.
struct Entry {
    std::int64_t segment = 0, frame = 0;
    bool isInline = true;
    FramePart part;
    bool isHere = false;
};

/// A rank's ring at its relay.
struct Reader {
    std::uint64_t relay = 0;
    std::deque<Entry> slots;     ///< in order
    std::deque<Entry> transfer;  ///< sent by the lead, and not in a slot
    std::size_t numWritten = 0;  ///< frames with references, since the ring was opened
    std::size_t numOwed = 0;     ///< references that the lead has given, and that are owed
    bool isTaking = false;       ///< the rank works on the front
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
};

class Relays {
 public:
    explicit Relays(std::uint64_t seed) : random_(seed) {}
    virtual ~Relays() = default;

 protected:
    /// Messages of ring `r`'s relay to the lead.
    virtual void lostWorker(std::size_t r, std::uint64_t worker, std::uint32_t connection) = 0;
    virtual void written(std::size_t r, std::size_t count) = 0;
    /// An entry has left the transfer of a ring.
    virtual void hasRoom() = 0;

    std::int64_t between(std::int64_t least, std::int64_t most);
    /// Happens between `least` and `most` milliseconds later.
    void after(std::int64_t least, std::int64_t most, std::function<void()> happens);
    /// A message of this attempt; it is dropped if all ranks have come again since.
    void send(std::int64_t least, std::int64_t most, std::function<void()> happens);
    void step();
    /// All rings are opened (again).
    void reset();

    /// Tells a relay where frames are now.
    void tell(std::uint64_t relay, const FrameBook::Moved& moved);
    void put(std::size_t r, const Entry& entry);
    void broken(std::uint64_t worker, std::uint64_t relay);
    /// The relay requests what the worker owes it, after it has connected again.
    void requestAgain(std::uint64_t worker, std::uint64_t relay);

    std::mt19937_64 random_;
    std::int64_t now_ = 0;
    std::uint64_t attempt_ = 0;
    std::map<std::uint64_t, Worker> workers_;
    std::vector<Reader> readers_;
    /// Last connection of each worker, by relay and worker.
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> seen_;

 private:
    struct Event {
        std::int64_t at = 0, order = 0;
        std::function<void()> happens;
        bool operator>(const Event& other) const {
            return std::pair(at, order) > std::pair(other.at, other.order);
        }
    };
    struct Move {
        std::uint64_t toWorker = 0;
        std::uint32_t toGeneration = 0;
        std::set<std::int64_t> frames;
    };
    using Home = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::uint32_t>;

    void inOrder(std::int64_t& last, std::int64_t most, std::function<void()> happens);
    void forAwaited(std::uint64_t relay, const std::function<void(std::size_t, Entry&)>& use);
    void follow(std::uint64_t relay, FramePart& part) const;
    void accept(std::size_t r);
    void fetch(std::size_t r, const Entry& entry);
    void take(std::size_t r);

    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::int64_t order_ = 0;
    std::map<Home, Move> moves_;  ///< by relay, worker, segment, generation
    std::map<std::uint64_t, std::int64_t> lastTold_;
    std::map<std::size_t, std::int64_t> lastWritten_;
};

}  // namespace millrace::stream::simulated

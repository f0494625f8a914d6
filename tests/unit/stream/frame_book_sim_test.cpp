// A simulated cluster with the real FrameBook and the real StreamMaster: workers that die, fall
// silent or join, links between workers and relays that break, messages that take their time, slow
// ranks. Each rank gets each of its frames once, in order; nothing is owed at the end; no ring
// exceeds its credit.
//
// MILLRACE_FRAME_SEEDS=A:B runs these seeds instead of the first 1,000.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/unit/stream/simulated_relays.h"

namespace millrace::stream::simulated {
namespace {

constexpr std::uint64_t kFrameBytes = 100, kCredit = 450;
constexpr std::int64_t kAhead = 6;  // segments in flight

/// The rows of a frame: relays compare them.
Sum128 identity(std::int64_t segment, std::int64_t frame) {
    return {static_cast<std::uint64_t>(segment), static_cast<std::uint64_t>(frame)};
}

class Simulation final : private Relays {
 public:
    explicit Simulation(std::uint64_t seed) : Relays(seed), book_(kCredit) {
        numSegments_ = between(5, 40);
        for (std::int64_t segment = 0; segment < numSegments_; ++segment) {
            sizes_.push_back(between(0, 5));
        }
        numRelays_ = static_cast<std::uint64_t>(between(1, 3));
        const std::int64_t rings = between(1, 4);
        for (std::int64_t r = 0; r < rings; ++r) {
            readers_.emplace_back();
            readers_.back().relay = 1 + static_cast<std::uint64_t>(r) % numRelays_;
        }
        const std::int64_t workers = between(2, 4);
        begin();
        for (std::int64_t w = 0; w < workers; ++w) {
            join();
        }
        tick();
        trouble();
    }

    void run() {
        std::int64_t doneAt = INT64_MAX;
        while (now_ < doneAt) {
            if (doneAt == INT64_MAX && isDone()) {
                doneAt = now_ + 60'000 * kMs;  // the last acknowledgements arrive
            }
            ASSERT_LT(now_, 600'000 * kMs) << "nothing progresses at segment " << given_;
            ASSERT_FALSE(::testing::Test::HasFailure());
            step();
        }
        for (std::size_t r = 0; r < readers_.size(); ++r) {
            ASSERT_EQ(readers_[r].taken, expected(r)) << "ring " << r;
        }
        for (const auto& owner : owners_) {
            EXPECT_TRUE(owner.expired()) << "frames are kept for nobody";
        }
        EXPECT_TRUE(book_.orphans().empty());
    }
    int numMoved = 0, numRestarts = 0, numInline = 0, numReferences = 0;

 private:
    /// A segment as LedStream keeps it.
    struct Segment {
        std::uint64_t worker = 0;  ///< 0: not answered
        std::uint32_t generation = 0;
        std::int64_t nextFrame = 0;
        bool isPassed = false, isHere = false;
        std::shared_ptr<int> owner;
    };

    std::vector<std::pair<std::int64_t, std::int64_t>> expected(std::size_t ring) const {
        std::vector<std::pair<std::int64_t, std::int64_t>> frames;
        std::size_t number = 0;
        for (std::int64_t segment = 0; segment < numSegments_; ++segment) {
            for (std::int64_t f = 0; f < sizes_[static_cast<std::size_t>(segment)]; ++f) {
                if (number++ % readers_.size() == ring) {
                    frames.emplace_back(segment, f);
                }
            }
        }
        return frames;
    }
    bool isDone() const {
        for (std::size_t r = 0; r < readers_.size(); ++r) {
            if (readers_[r].taken.size() < expected(r).size() || !readers_[r].slots.empty()) {
                return false;
            }
        }
        return true;
    }

    /// All ranks come (again): the stream starts at their positions.
    void begin() {
        reset();
        StreamMaster::Options options;
        options.firstGeneration = nextGeneration_;
        options.aloneNs = 2'000 * kMs;
        options.aloneAfterDeathNs = 4'000 * kMs;
        master_ = std::make_unique<StreamMaster>(options);
        segments_.clear();
        for (const FrameBook::RingId ring : ids_) {
            book_.close(ring);
        }
        ids_.clear();
        skip_.clear();
        for (const Reader& reader : readers_) {
            ids_.push_back(book_.open(reader.relay));
            skip_.push_back(reader.taken.size());
        }
        given_ = added_ = 0;
        frameNumber_ = 0;
        for (auto& [number, worker] : workers_) {
            worker.held.clear();
            if (worker.isKnown) {
                worker.id = master_->join("w", 3, 1, now_);
            }
        }
    }
    void restart() {
        ++numRestarts;
        begin();
    }

    void join() {
        const std::uint64_t number = nextWorker_++;
        Worker& worker = workers_[number];
        worker.id = master_->join("w", 3, 1, now_);
        for (std::uint64_t relay = 1; relay <= numRelays_; ++relay) {
            connect(number, relay);
        }
    }
    void connect(std::uint64_t number, std::uint64_t relay) {
        after(1, between(0, 9) == 0 ? 6'000 : 60, [this, number, relay] {
            Worker& worker = workers_.at(number);
            if (worker.isAlive && worker.reached.insert(relay).second) {
                ++worker.connections[relay];
                ++seen_[{relay, number}];
                report(number);
            }
        });
    }
    void report(std::uint64_t number) {
        std::vector<FrameBook::Reach> reach;
        const Worker& worker = workers_.at(number);
        for (const std::uint64_t relay : worker.reached) {
            reach.push_back({relay, worker.connections.at(relay)});
        }
        after(1, 1, [this, number, reach] {
            Worker& of = workers_.at(number);
            if (of.isKnown && of.isAlive && !of.isSilent) {
                book_.setReached(number, reach);
                master_->report(of.id, 3, now_);
            }
        });
    }

    void turn() {
        while (added_ < numSegments_ && added_ < given_ + kAhead) {
            master_->add(added_, {});
            segments_[added_++];
        }
        const auto decisions = master_->decide(now_);
        for (const WorkerId id : decisions.silent) {
            lost(numberOf(id));
        }
        for (const WorkerId id : decisions.farewell) {
            const std::uint64_t number = numberOf(id);
            workers_.at(number).isAlive = false;
            lost(number);
            for (std::uint64_t relay = 1; relay <= numRelays_; ++relay) {
                broken(number, relay);
            }
        }
        for (const StreamMaster::Hand& hand : decisions.orders) {
            order(hand);
        }
        std::vector<std::int64_t> toHere = decisions.here;
        for (const StreamMaster::PoisonSegment& deadly : decisions.deadly) {
            toHere.push_back(deadly.number);  // in the product the stream ends
        }
        if (!std::ranges::all_of(toHere, [this](std::int64_t number) { return here(number); })) {
            return;
        }
        if (giveUpOrphans()) {
            return;
        }
        if (!book_.overdue(now_).empty()) {
            restart();
            return;
        }
        deliver();
    }
    std::uint64_t numberOf(WorkerId id) const {
        const auto worker = std::ranges::find_if(
            workers_, [id](const auto& entry) { return entry.second.id == id; });
        return worker == workers_.end() ? 0 : worker->first;
    }
    /// False: all ranks have come again.
    bool here(std::int64_t number) {
        Segment& segment = segments_.at(number);
        if (!book_.giveUp({0, number}).empty()) {
            restart();
            return false;
        }
        segment.isHere = true;
        if (segment.isPassed) {
            forget(number);
        }
        return true;
    }
    bool giveUpOrphans() {
        for (const SegmentName& name : book_.orphans()) {
            const auto segment = segments_.find(name.segment);
            if (segment == segments_.end() || segment->second.worker != 0 ||
                segment->second.isHere) {
                restart();
                return true;
            }
        }
        return false;
    }
    void forget(std::int64_t number) {
        master_->delivered(number);
        segments_.erase(number);
    }

    void order(const StreamMaster::Hand& hand) {
        nextGeneration_ = std::max(nextGeneration_, hand.generation + 1);
        const std::uint64_t number = numberOf(hand.worker);
        if (number == 0) {
            return;
        }
        send(1, 20, [this, number, hand] { master_->started(hand); });
        send(20, 300, [this, number, hand] {
            Worker& worker = workers_.at(number);
            if (!worker.isAlive || worker.isSilent) {
                return;
            }
            worker.held[{hand.number, hand.generation}] =
                sizes_[static_cast<std::size_t>(hand.number)];
            send(1, 5, [this, number, hand] { answered(number, hand); });
        });
    }
    void answered(std::uint64_t number, const StreamMaster::Hand& hand) {
        if (!workers_.at(number).isKnown || !master_->isComputing(hand)) {
            return;
        }
        master_->done(hand, now_);
        Segment& segment = segments_.at(hand.number);
        segment.worker = number;
        segment.generation = hand.generation;
        const std::uint64_t attempt = attempt_;
        segment.owner = std::shared_ptr<int>(new int, [this, attempt, of = hand](int* memory) {
            delete memory;
            // Released later, as the lead's event is.
            after(0, 0, [this, attempt, of] { released(attempt, of); });
        });
        owners_.push_back(segment.owner);
        const auto replaced = book_.replace(
            {0, hand.number},
            [&](std::int64_t frame) { return std::optional(partOf(number, hand, frame)); },
            segment.owner);
        for (const auto& [ring, moved] : replaced.moved) {
            ++numMoved;
            const std::uint64_t relay = readers_[indexOf(ring)].relay;
            tell(relay, moved);
        }
        if (!replaced.ended.empty()) {
            restart();
            return;
        }
        if (segment.isPassed) {
            segment.owner.reset();  // only the debts keep it
        }
        turn();
    }
    void released(std::uint64_t attempt, const StreamMaster::Hand& hand) {
        const auto segment = attempt == attempt_ ? segments_.find(hand.number) : segments_.end();
        if (segment != segments_.end() && segment->second.generation == hand.generation &&
            segment->second.worker != 0) {
            const std::uint64_t worker = segment->second.worker;
            forget(hand.number);
            send(1, 5, [this, worker, hand] {
                workers_.at(worker).held.erase({hand.number, hand.generation});
            });
        }
    }
    FramePart partOf(std::uint64_t worker, const StreamMaster::Hand& hand, std::int64_t frame) {
        FramePart part;
        part.worker = worker;
        part.name = {0, hand.number};
        part.generation = hand.generation;
        part.frame = frame;
        part.rows = part.to = 1;
        part.bytes = part.codedBytes = kFrameBytes;
        part.rowIds = identity(hand.number, frame);
        return part;
    }
    std::size_t indexOf(FrameBook::RingId ring) const {
        return static_cast<std::size_t>(std::ranges::find(ids_, ring) - ids_.begin());
    }

    void lost(std::uint64_t number) {
        Worker& worker = workers_.at(number);
        if (!worker.isKnown) {
            return;
        }
        worker.isKnown = false;
        std::vector<FrameBook::Owner> owners = book_.lose(number);
        master_->lose(worker.id, StreamMaster::Loss::kDied);
        const std::set<SegmentName> orphans = book_.orphans();
        std::vector<std::int64_t> passed;
        for (auto& [name, segment] : segments_) {
            if (segment.worker != number) {
                continue;
            }
            segment.worker = 0;
            segment.owner.reset();
            if (segment.isPassed && !orphans.contains({0, name})) {
                passed.push_back(name);
            }
        }
        for (const std::int64_t name : passed) {
            forget(name);
        }
    }

    /// Gives what can be given, in order.
    void deliver() {
        while (given_ < added_) {
            Segment& segment = segments_.at(given_);
            if (segment.worker == 0 && !segment.isHere) {
                return;
            }
            for (; segment.nextFrame < sizes_[static_cast<std::size_t>(given_)];
                 ++segment.nextFrame) {
                if (!giveFrame(segment)) {
                    return;
                }
            }
            const std::int64_t passed = given_++;
            segment.isPassed = true;
            if (segment.isHere) {
                forget(passed);
            } else {
                segment.owner.reset();
            }
        }
    }
    bool giveFrame(const Segment& segment) {
        const std::size_t r = frameNumber_ % readers_.size();
        Reader& reader = readers_[r];
        if (skip_[r] > 0) {
            --skip_[r];
            ++frameNumber_;
            return true;
        }
        if (reader.transfer.size() >= kTransfer) {
            return false;
        }
        Entry entry{given_, segment.nextFrame, true, {}, false};
        if (!segment.isHere && book_.mayRefer(ids_[r], segment.worker)) {
            if (!book_.hasRoom(ids_[r], kFrameBytes, 0)) {
                return false;
            }
            entry.isInline = false;
            entry.part = partOf(segment.worker, {0, given_, segment.generation}, entry.frame);
            book_.owe(ids_[r], entry.part, segment.owner);
            EXPECT_LE(++reader.numOwed * kFrameBytes, kCredit);
            ++numReferences;
        } else if (!segment.isHere && !workers_.at(segment.worker).isAlive) {
            return false;  // the lead cannot fetch it either, and will notice
        } else {
            ++numInline;
        }
        ++frameNumber_;
        put(r, entry);
        return true;
    }

    void lostWorker(std::size_t r, std::uint64_t worker, std::uint32_t connection) override {
        book_.block(worker, ids_[r], connection, now_);
    }
    void written(std::size_t r, std::size_t count) override {
        const auto owners = book_.acknowledged(ids_[r], count);
        EXPECT_TRUE(owners.ok()) << owners.status();
        readers_[r].numOwed -= owners.ok() ? owners->size() : 0;
        turn();
    }
    void hasRoom() override { turn(); }

    void tick() {
        turn();
        for (auto& [number, worker] : workers_) {
            if (worker.isAlive && !worker.isSilent && worker.isKnown) {
                master_->report(worker.id, 3, now_);
                report(number);
                for (std::uint64_t relay = 1; relay <= numRelays_; ++relay) {
                    // A relay requests again what a worker owes it when that has connected again.
                    if (worker.reached.contains(relay)) {
                        requestAgain(number, relay);
                    }
                }
            }
        }
        after(200, 200, [this] { tick(); });
    }
    void trouble() {
        if (workers_.empty()) {
            return;
        }
        auto at = workers_.begin();
        std::advance(at, between(0, std::ssize(workers_) - 1));
        const std::uint64_t number = at->first;
        Worker& worker = at->second;
        switch (between(0, 6)) {
            case 0:
            case 1:
                if (worker.isAlive) {
                    worker.isAlive = false;
                    after(1, 50, [this, number] {
                        lost(number);
                        turn();
                    });
                    for (std::uint64_t relay = 1; relay <= numRelays_; ++relay) {
                        after(1, 50, [this, number, relay] { broken(number, relay); });
                    }
                    after(10, 3'000, [this] { join(); });
                }
                break;
            case 6:  // it leaves once nobody needs its frames; another one comes
                if (worker.isAlive && worker.isKnown && !worker.isSilent) {
                    master_->leave(worker.id);
                    after(10, 3'000, [this] { join(); });
                }
                break;
            case 2:
                if (worker.isAlive && !worker.isSilent) {
                    worker.isSilent = true;
                    after(100, 4'000, [this, number] {
                        Worker& woken = workers_.at(number);
                        woken.isSilent = false;
                        if (!woken.isKnown && woken.isAlive) {  // it joins again, as another one
                            woken.isAlive = false;
                            for (std::uint64_t relay = 1; relay <= numRelays_; ++relay) {
                                broken(number, relay);
                            }
                            join();
                        }
                    });
                }
                break;
            default: {
                const auto relay =
                    static_cast<std::uint64_t>(between(1, static_cast<std::int64_t>(numRelays_)));
                broken(number, relay);
                report(number);
                if (worker.isAlive) {
                    connect(number, relay);
                }
                break;
            }
        }
        after(5, 600, [this] { trouble(); });
    }

    FrameBook book_;
    std::unique_ptr<StreamMaster> master_;
    std::uint64_t nextWorker_ = 1, numRelays_ = 1;
    std::uint32_t nextGeneration_ = 0;
    std::int64_t numSegments_ = 0, given_ = 0, added_ = 0;
    std::size_t frameNumber_ = 0;
    std::vector<std::int64_t> sizes_;
    std::vector<std::size_t> skip_;  ///< frames that the ring's rank has, by ring
    std::map<std::int64_t, Segment> segments_;
    std::vector<FrameBook::RingId> ids_;
    std::vector<std::weak_ptr<int>> owners_;
};

TEST(FrameBookSimulation, EachRankGetsItsFramesOnceAndInOrder) {
    std::uint64_t first = 1, last = 1000;
    if (const char* seeds = std::getenv("MILLRACE_FRAME_SEEDS")) {
        char* end = nullptr;
        first = std::strtoull(seeds, &end, 10);
        last = *end == ':' ? std::strtoull(end + 1, &end, 10) : first;
    }
    int moved = 0, restarts = 0, inlined = 0, references = 0;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Simulation simulation(seed);
        simulation.run();
        moved += simulation.numMoved;
        restarts += simulation.numRestarts;
        inlined += simulation.numInline;
        references += simulation.numReferences;
        ASSERT_FALSE(HasFailure());
    }
    std::printf("moved %d, restarts %d, inline %d, references %d\n", moved, restarts, inlined,
                references);
    if (last - first >= 999) {
        EXPECT_GT(moved, 200);
        EXPECT_GT(restarts, 5);
        EXPECT_GT(inlined, 500);
        EXPECT_GT(references, 10'000);
        EXPECT_LT(20 * restarts, moved);  // the exception
    }
}

}  // namespace
}  // namespace millrace::stream::simulated

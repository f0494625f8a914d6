// 32 simulated workers and 100,000 segments: losses, delays, answers that come late or twice, a
// clock that jumps. In any case each segment is delivered once, in order, from one generation.
#include <algorithm>
#include <map>
#include <queue>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "backend/stream/stream_master.h"

namespace millrace::stream {
namespace {

using Hand = StreamMaster::Hand;

constexpr std::int64_t kMs = 1'000'000;
constexpr int kWorkers = 32;
constexpr int kThreads = 2;
constexpr int kPlaces = 5;
constexpr std::int64_t kSegments = 100'000;
constexpr std::int64_t kAhead = 256;

/// The true state of a worker, which the master may not know.
struct Worker {
    bool isAlive = true;    ///< it computes and answers
    bool isSilent = false;  ///< and says nothing until it wakes: stopped
    bool isLeaving = false;
    std::map<std::int64_t, std::uint32_t> hands;  ///< ordered, begun or held: generation
    std::set<std::int64_t> begun, held;
};

struct Event {
    enum class Kind { kBegin, kDone, kReport, kTrouble, kWake, kJoin, kHere };
    std::int64_t atNs = 0;
    std::int64_t order = 0;
    Kind kind = Kind::kReport;
    Hand hand{};
    bool operator>(const Event& other) const {
        return std::pair(atNs, order) > std::pair(other.atNs, other.order);
    }
};

class Simulation {
 public:
    explicit Simulation(std::uint64_t seed) : random_(seed) {
        for (int w = 0; w < kWorkers; ++w) {
            join();
        }
        push(Event::Kind::kTrouble, 200 * kMs);
    }

    void run() {
        while (delivered_ < kSegments && !::testing::Test::HasFailure()) {
            ASSERT_LT(nowNs_, 3'600'000 * kMs) << "no way on at segment " << delivered_;
            const Event event = events_.top();
            events_.pop();
            nowNs_ = event.atNs;
            handle(event);
            deliver();
            refill();
            act(master_.decide(clockNs()));
        }
    }

    StreamMaster& master() { return master_; }
    std::int64_t numOrders() const { return orders_; }
    std::int64_t numRefused() const { return refused_; }
    std::int64_t numDeadly() const { return deadly_; }
    std::int64_t numHere() const { return here_; }

 private:
    bool chance(double share) { return std::bernoulli_distribution(share)(random_); }
    std::int64_t between(std::int64_t from, std::int64_t to) {
        return std::uniform_int_distribution<std::int64_t>(from, to)(random_);
    }
    void push(Event::Kind kind, std::int64_t inNs, const Hand& hand = {}) {
        events_.push({nowNs_ + inNs, numEvents_++, kind, hand});
    }
    /// The feed's clock, which is sometimes set.
    std::int64_t clockNs() {
        if (chance(0.0005)) {
            skewNs_ += between(-3'600'000, 3'600'000) * kMs;
        }
        return nowNs_ + skewNs_;
    }

    void join() {
        const WorkerId id = master_.join("w", kPlaces, kThreads, clockNs());
        ASSERT_TRUE(workers_.emplace(id, Worker()).second) << "a name was used again";
        push(Event::Kind::kReport, between(0, 500) * kMs, {id});
    }

    void handle(const Event& event) {
        const auto place = workers_.find(event.hand.worker);
        Worker* worker = place == workers_.end() ? nullptr : &place->second;
        switch (event.kind) {
            case Event::Kind::kBegin:
            case Event::Kind::kDone:
                if (worker != nullptr && worker->isAlive) {
                    compute(event, *worker);
                }
                break;
            case Event::Kind::kReport:
                if (worker != nullptr && worker->isAlive) {
                    if (!worker->isSilent) {
                        master_.report(event.hand.worker, kPlaces, clockNs());
                    }
                    push(Event::Kind::kReport, 500 * kMs, event.hand);
                }
                break;
            case Event::Kind::kTrouble:
                trouble();
                push(Event::Kind::kTrouble, between(20, 200) * kMs);
                break;
            case Event::Kind::kWake:
                if (worker != nullptr) {
                    worker->isSilent = false;
                }
                break;
            case Event::Kind::kJoin:
                join();
                break;
            case Event::Kind::kHere:
                computedHere_.insert(event.hand.number);
                break;
        }
    }

    void compute(const Event& event, Worker& worker) {
        const Hand& hand = event.hand;
        const auto mine = worker.hands.find(hand.number);
        const bool isMine = mine != worker.hands.end() && mine->second == hand.generation;
        if (!isMine) {
            // A withdrawal crossed the answer, so the answer does not count.
            EXPECT_FALSE(master_.done(hand, clockNs()));
            ++refused_;
            return;
        }
        if (worker.isSilent) {
            push(event.kind, 300 * kMs, hand);
            return;
        }
        if (event.kind == Event::Kind::kBegin) {
            worker.begun.insert(hand.number);
            EXPECT_TRUE(master_.started(hand));
            // Sometimes a segment hangs while its worker reports as usual.
            push(Event::Kind::kDone,
                 chance(0.002) ? between(1, 20) * 1000 * kMs : between(40, 160) * kMs, hand);
        } else if (chance(0.001)) {
            EXPECT_TRUE(master_.unable(hand));
            worker.hands.erase(mine);
            worker.begun.erase(hand.number);
        } else {
            answer(hand, worker);
        }
    }

    void answer(const Hand& hand, Worker& worker) {
        for (const auto& [id, other] : workers_) {
            EXPECT_FALSE(id != hand.worker && other.isAlive && other.held.contains(hand.number))
                << "two generations of " << hand.number << " at once";
        }
        EXPECT_TRUE(master_.done(hand, clockNs()));
        EXPECT_FALSE(master_.done(hand, clockNs())) << "the same answer twice";
        EXPECT_TRUE(master_.holds(hand));
        worker.begun.erase(hand.number);
        worker.held.insert(hand.number);
    }

    WorkerId anyWorker() {
        auto place = workers_.begin();
        std::advance(place, between(0, std::ssize(workers_) - 1));
        return place->first;
    }

    void trouble() {
        if (workers_.empty()) {
            return;
        }
        const WorkerId id = anyWorker();
        Worker& worker = workers_.at(id);
        const double kind = std::uniform_real_distribution<>(0, 1)(random_);
        if (kind < 0.15) {
            for (const std::int64_t number : worker.begun) {
                ++deaths_[number];
            }
            lose(id, StreamMaster::Loss::kDied);
        } else if (kind < 0.25) {
            lose(id, StreamMaster::Loss::kBroken);
        } else if (kind < 0.4) {
            worker.isSilent = true;
            push(Event::Kind::kWake, between(100, 6000) * kMs, {id});
        } else if (kind < 0.5 && !worker.isLeaving) {
            worker.isLeaving = true;
            master_.leave(id);
        } else if (kind < 0.6 && !worker.hands.empty()) {
            const auto [number, generation] = *worker.hands.rbegin();
            if (worker.held.contains(number)) {
                EXPECT_TRUE(master_.gaveBack({id, number, generation}));
                drop(worker, number);
            }
        }
    }

    void lose(WorkerId id, StreamMaster::Loss loss) {
        master_.lose(id, loss);
        replace(id);
    }

    void replace(WorkerId id) {
        workers_.erase(id);
        push(Event::Kind::kJoin, between(100, 3000) * kMs);
    }

    static void drop(Worker& worker, std::int64_t number) {
        worker.hands.erase(number);
        worker.begun.erase(number);
        worker.held.erase(number);
    }

    void deliver() {
        for (;;) {
            if (computedHere_.erase(delivered_) > 0) {
                deliverOne();
                continue;
            }
            const auto holder = std::find_if(workers_.begin(), workers_.end(), [&](const auto& w) {
                return w.second.held.contains(delivered_);
            });
            if (holder == workers_.end() || holder->second.isSilent) {
                return;
            }
            const std::uint32_t generation = holder->second.hands.at(delivered_);
            ASSERT_TRUE(master_.holds({holder->first, delivered_, generation}));
            drop(holder->second, delivered_);
            deliverOne();
        }
    }

    void deliverOne() {
        master_.delivered(delivered_);
        deaths_.erase(delivered_);
        ++delivered_;
    }

    void refill() {
        while (added_ < kSegments && added_ < delivered_ + kAhead && master_.room() > 0) {
            const std::uint32_t files[] = {static_cast<std::uint32_t>(added_ % 97),
                                           static_cast<std::uint32_t>(added_ % 89)};
            master_.add(added_++, files);
        }
    }

    void act(const StreamMaster::Decisions& decisions) {
        for (const WorkerId id : decisions.silent) {
            replace(id);
        }
        for (const WorkerId id : decisions.unfit) {
            replace(id);
        }
        for (const Hand& hand : decisions.withdrawn) {
            if (const auto worker = workers_.find(hand.worker); worker != workers_.end()) {
                drop(worker->second, hand.number);
            }
        }
        for (const WorkerId id : decisions.farewell) {
            EXPECT_TRUE(workers_.at(id).hands.empty()) << "it holds what is wanted";
            replace(id);
        }
        for (const Hand& hand : decisions.orders) {
            order(hand);
        }
        for (const std::int64_t number : decisions.here) {
            EXPECT_EQ(deaths_[number], 0) << "what killed a worker came into the feed";
            ++here_;
            push(Event::Kind::kHere, 100 * kMs, {0, number, 0});
        }
        for (const StreamMaster::PoisonSegment& deadly : decisions.deadly) {
            EXPECT_GE(deaths_[deadly.number], 2);
            ++deadly_;
            push(Event::Kind::kHere, 0, {0, deadly.number, 0});  // the model continues nevertheless
        }
    }

    void order(const Hand& hand) {
        ++orders_;
        Worker& worker = workers_.at(hand.worker);
        EXPECT_FALSE(worker.isLeaving);
        EXPECT_GE(hand.number, delivered_);
        EXPECT_TRUE(worker.hands.emplace(hand.number, hand.generation).second);
        EXPECT_LE(worker.hands.size(), static_cast<std::size_t>(kPlaces) + 1);
        EXPECT_TRUE(generations_[hand.number].insert(hand.generation).second) << "used twice";
        generations_.erase(generations_.begin(), generations_.lower_bound(delivered_));
        const std::int64_t behind = std::ssize(worker.hands) / kThreads;
        push(Event::Kind::kBegin, behind * 100 * kMs, hand);
    }

    std::mt19937_64 random_;
    StreamMaster master_{StreamMaster::Options{}};
    std::int64_t nowNs_ = 0, skewNs_ = 0, numEvents_ = 0;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::map<WorkerId, Worker> workers_;
    std::map<std::int64_t, std::set<std::uint32_t>> generations_;
    std::map<std::int64_t, int> deaths_;
    std::set<std::int64_t> computedHere_;
    std::int64_t added_ = 0, delivered_ = 0, orders_ = 0, refused_ = 0, here_ = 0, deadly_ = 0;
};

TEST(Master32, EverySegmentIsDeliveredOnceFromOneGeneration) {
    Simulation simulation(20'240'518);
    simulation.run();
    const double twice = static_cast<double>(simulation.master().numTwice());
    EXPECT_LE(twice, 0.1 * static_cast<double>(simulation.numOrders()));
    // The model proves something only if all of this has happened.
    EXPECT_GT(twice, 10);
    EXPECT_GT(simulation.numOrders(), kSegments + 1000);
    EXPECT_GT(simulation.numRefused(), 100);
    EXPECT_GT(simulation.numHere(), 10);
}

}  // namespace
}  // namespace millrace::stream

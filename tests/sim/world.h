#pragma once
// World: virtual time and its queue of events. A whole cluster lives on one queue; a seed draws
// everything that is left open, so that a seed is one course.
//
// Life: a process of the world. Its events wait while it is paused and are dropped when it dies.
// Threads: one.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "backend/core/clock.h"

namespace millrace::sim {

inline constexpr std::int64_t kMs = 1'000'000, kSecond = 1'000 * kMs;

class World {
 public:
    using Event = std::function<void()>;

    /// There is one world at a time.
    explicit World(std::uint64_t seed);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    std::int64_t nowNs() const { return nowNs_; }
    void at(std::int64_t ns, Event event) {
        queue_.push({std::max(ns, nowNs_), random_(), std::move(event)});
    }
    void after(std::int64_t ns, Event event) { at(nowNs_ + ns, std::move(event)); }
    /// Runs events until that time.
    void runUntil(std::int64_t ns, const Event& afterEach) {
        while (!queue_.empty() && queue_.top().ns <= ns) {
            const Entry next = queue_.top();
            queue_.pop();
            nowNs_ = next.ns;
            next.event();
            ++numEvents_;
            afterEach();
        }
        nowNs_ = std::max(nowNs_, ns);
    }
    /// A random number from 0 to `most`.
    std::int64_t draw(std::int64_t most) {
        return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most + 1));
    }
    std::int64_t draw(std::int64_t least, std::int64_t most) { return least + draw(most - least); }
    bool chance(int percent) { return draw(99) < percent; }
    /// Fills bytes that the product requests from the kernel's generator; run ids come from them.
    void fillRandom(unsigned char* bytes, std::size_t count) {
        std::generate_n(bytes, count, [this] { return static_cast<unsigned char>(ids_()); });
    }

    /// Adds a line to the trace, for people.
    void tell(const std::string& what);
    const std::vector<std::string>& trace() const { return trace_; }
    std::int64_t numEvents() const { return numEvents_; }

 private:
    struct Entry {
        std::int64_t ns = 0;
        std::uint64_t tie = 0;
        Event event;
        bool operator<(const Entry& other) const {
            return ns != other.ns ? ns > other.ns : tie > other.tie;
        }
    };
    std::mt19937_64 random_, ids_;
    std::priority_queue<Entry> queue_;
    std::int64_t nowNs_ = 0, numEvents_ = 0;
    std::vector<std::string> trace_;
};

/// A machine's wall clock and steady clock; each begins at another time than those of other
/// machines.
class MachineClock final : public Clock {
 public:
    MachineClock(const World& world, std::int64_t wallMs, std::int64_t steadyNs)
        : world_(world), wallMs_(wallMs), steadyNs_(steadyNs) {}
    std::int64_t wallMs() const override { return wallMs_ + world_.nowNs() / kMs; }
    /// The clock is set by an operator.
    void jump(std::int64_t ms) { wallMs_ += ms; }
    std::int64_t steadyNs() const override { return steadyNs_ + world_.nowNs(); }

 private:
    const World& world_;
    std::int64_t wallMs_;
    const std::int64_t steadyNs_;
};

/// The life of a process.
class Life {
 public:
    explicit Life(World& world) : world_(world) {}
    Life(const Life&) = delete;
    Life& operator=(const Life&) = delete;

    std::int64_t nowNs() const { return world_.nowNs(); }
    bool isAlive() const { return *isAlive_; }
    bool isPaused() const { return world_.nowNs() < pausedUntilNs_; }
    /// The process is stopped, not just busy.
    bool isStopped() const { return world_.nowNs() < stoppedUntilNs_; }
    /// Starts a new life; drops the events of the earlier one.
    void begin() {
        end();
        isAlive_ = std::make_shared<bool>(true);
        pausedUntilNs_ = stoppedUntilNs_ = 0;
    }
    void end() {
        *isAlive_ = false;
        waiting_.clear();
    }
    void pause(std::int64_t ns) {
        stoppedUntilNs_ = std::max(stoppedUntilNs_, world_.nowNs() + ns);
        busy(ns);
    }
    /// Events during the pause wait and run in order afterwards.
    void busy(std::int64_t ns) {
        if (ns == 0) {
            return;
        }
        pausedUntilNs_ = std::max(pausedUntilNs_, world_.nowNs() + ns);
        world_.at(pausedUntilNs_, [this, isAlive = isAlive_] {
            if (!*isAlive || isPaused()) {
                return;  // an event of another life, or paused again
            }
            std::deque<World::Event> waiting;
            waiting.swap(waiting_);
            for (std::size_t i = 0; i < waiting.size() && *isAlive; ++i) {
                waiting[i]();
            }
        });
    }

    void after(std::int64_t ns, World::Event event) {
        world_.after(
            ns, [this, isAlive = isAlive_, event = std::move(event)] { happen(isAlive, event); });
    }
    /// Repeats the event every `ns`.
    void every(std::int64_t ns, World::Event event) {
        after(ns, [this, ns, event] {
            event();
            every(ns, event);
        });
    }

 private:
    void happen(const std::shared_ptr<bool>& isAlive, const World::Event& event) {
        if (!*isAlive) {
            return;
        }
        if (isPaused()) {
            waiting_.push_back(event);
        } else {
            event();
        }
    }
    World& world_;
    std::shared_ptr<bool> isAlive_ = std::make_shared<bool>(false);
    std::int64_t pausedUntilNs_ = 0, stoppedUntilNs_ = 0;
    std::deque<World::Event> waiting_;
};

}  // namespace millrace::sim

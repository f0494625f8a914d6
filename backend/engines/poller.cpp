#include "backend/engines/poller.h"

#include <iterator>
#include <utility>

#include "backend/core/thread.h"

namespace millrace::engines {
namespace {

using Milliseconds = std::chrono::milliseconds;

bool isSame(State before, const State& now) {
    before.asOfMs = now.asOfMs;
    return before == now;
}

}  // namespace

Poller::Poller(Engine& engine, PollerOptions options) : engine_(engine), options_(options) {}

Poller::~Poller() {
    if (thread_.joinable()) {
        thread_.request_stop();
        poke();
        thread_.join();
    }
}

std::map<std::string, State> Poller::pollOnce() {
    std::map<std::string, State> changed;
    auto all = engine_.list();
    if (!all.ok()) {
        return changed;
    }
    std::map<std::string, State> seen(std::make_move_iterator(all->begin()),
                                      std::make_move_iterator(all->end()));
    // A gang missing in the list need not have ended: asks the engine about the gang itself.
    for (const auto& [key, before] : known_) {
        if (!seen.contains(key)) {
            const Result<State> state = engine_.state(key);
            seen.emplace(key, state.ok() ? *state : before);
        }
    }
    for (auto& [key, state] : seen) {
        const auto before = known_.find(key);
        if (before == known_.end() || !isSame(before->second, state)) {
            changed.emplace(key, state);
        }
    }
    std::erase_if(seen, [](const auto& one) { return !isLiving(one.second); });
    known_ = std::move(seen);
    return changed;
}

void Poller::run(Sink sink) {
    INVARIANT(!thread_.joinable(), "a poller runs once");
    thread_ = startThread(
        "engine-poll", [this, sink = std::move(sink)](std::stop_token stop) { loop(stop, sink); });
}

void Poller::loop(std::stop_token stop, const Sink& sink) {
    while (!stop.stop_requested()) {
        for (const auto& [key, state] : pollOnce()) {
            sink(key, state);
        }
        const Milliseconds pause = known_.empty() ? options_.quiet : options_.busy;
        const auto until = std::chrono::steady_clock::now() + pause;
        MutexLock lock(mutex_);
        while (!isPoked_ && !stop.stop_requested()) {
            const auto left =
                std::chrono::duration_cast<Milliseconds>(until - std::chrono::steady_clock::now());
            if (left.count() <= 0) {
                break;
            }
            wake_.waitFor(mutex_, left);
        }
        isPoked_ = false;
    }
}

void Poller::poke() {
    MutexLock lock(mutex_);
    isPoked_ = true;
    wake_.notifyAll();
}

}  // namespace millrace::engines

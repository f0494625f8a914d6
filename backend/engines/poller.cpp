#include "backend/engines/poller.h"

#include <algorithm>

#include "backend/core/thread.h"

namespace millrace::engines {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kBackoffFirst{1000};

bool hasStarted(const State& state) {
    return !state.workers.empty() &&
           std::all_of(state.workers.begin(), state.workers.end(),
                       [](const WorkerState& worker) { return worker.isStarted; });
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

void Poller::diff(const JobId& id, const State& now, std::vector<Event>& events) {
    const auto [it, isNew] = known_.try_emplace(id.native, id, State{});
    const State& before = it->second.second;
    const auto tell = [&](Event::Kind kind) {
        Event event;
        event.kind = kind;
        event.job = id;
        event.state = now;
        events.push_back(std::move(event));
    };
    if (now.phase == Phase::kMissing) {
        if (before.phase != Phase::kMissing || isNew) {
            tell(Event::Kind::kMissing);
        }
        known_.erase(it);
        return;
    }
    if (isNew) {
        tell(Event::Kind::kPlaced);
    }
    if (hasStarted(now) && !hasStarted(before)) {
        tell(Event::Kind::kStarted);
    }
    const auto isOver = [](Phase phase) {
        return phase == Phase::kStopping || phase == Phase::kEnded;
    };
    for (std::size_t i = 0; i < now.workers.size(); ++i) {
        const bool wasGone = i < before.workers.size() && before.workers[i].exitCode.has_value();
        if (now.workers[i].exitCode && !wasGone) {
            tell(Event::Kind::kWorkerExit);
            events.back().worker = now.workers[i];
        }
        // Between two looks it may have been started again and have failed again.
        if (i < before.workers.size() &&
            now.workers[i].numReplaced > before.workers[i].numReplaced) {
            tell(Event::Kind::kWorkerVacant);
            events.back().worker = now.workers[i];
        }
        const bool wasSilent = i < before.workers.size() && before.workers[i].isSilent;
        if (now.workers[i].isSilent != wasSilent && !now.workers[i].exitCode) {
            tell(wasSilent ? Event::Kind::kWorkerAnswers : Event::Kind::kWorkerSilent);
            events.back().worker = now.workers[i];
        }
    }
    if (isOver(now.phase) && !isOver(before.phase)) {
        tell(Event::Kind::kStopping);
    }
    if (now.phase == Phase::kEnded) {
        tell(Event::Kind::kEnded);
        known_.erase(it);
        return;
    }
    it->second.second = now;
}

std::vector<Event> Poller::pollOnce() {
    std::vector<Event> events;
    Result<std::vector<std::pair<JobId, State>>> all = engine_.list();
    if (!all.ok()) {
        ++numFailures_;
        if (!isUnreachable_) {
            isUnreachable_ = true;
            Event event;
            event.kind = Event::Kind::kUnreachable;
            event.reason = messageOf(all.status());
            events.push_back(std::move(event));
        }
        return events;
    }
    numFailures_ = 0;
    if (isUnreachable_) {
        isUnreachable_ = false;
        Event event;
        event.kind = Event::Kind::kReachable;
        events.push_back(std::move(event));
    }
    std::vector<JobId> unlisted;
    for (const auto& [native, known] : known_) {
        const bool isListed = std::any_of(all->begin(), all->end(), [&](const auto& listed) {
            return listed.first.native == native;
        });
        if (!isListed) {
            unlisted.push_back(known.first);
        }
    }
    for (const auto& [id, state] : *all) {
        diff(id, state, events);
    }
    // Not in the list is not yet an end: only the engine's word about the job itself is.
    for (const JobId& id : unlisted) {
        if (const Result<State> state = engine_.state(id); state.ok()) {
            diff(id, *state, events);
        }
    }
    return events;
}

void Poller::run(Sink sink) {
    INVARIANT(!thread_.joinable(), "a poller runs once");
    thread_ = startThread(
        "engine-poll", [this, sink = std::move(sink)](std::stop_token stop) { loop(stop, sink); });
}

void Poller::loop(std::stop_token stop, const Sink& sink) {
    while (!stop.stop_requested()) {
        for (const Event& event : pollOnce()) {
            sink(event);
        }
        Milliseconds pause = known_.empty() ? options_.quiet : options_.busy;
        if (numFailures_ > 0) {
            const int doublings = std::min(numFailures_ - 1, 5);
            pause = std::min(kBackoffFirst * (1 << doublings), options_.backoffMax);
        }
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

#pragma once
// Poller: asks an engine for all of its jobs again and again and tells what changed as events.
//
// Threads: pollOnce() by one thread at a time; run() starts one of its own ("engine-poll") that
// calls the sink. The sink is called without a lock and may call the engine.
// Owns: the memory of what was told. A new Poller tells the present state of every living job from
// the start, so events come at least once.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/engines/engine.h"

namespace millrace::engines {

struct PollerOptions {
    std::chrono::milliseconds busy{100};           ///< between polls while a job lives
    std::chrono::milliseconds quiet{2000};         ///< otherwise; poke() ends the wait
    std::chrono::milliseconds backoffMax{30'000};  ///< while the engine is unreachable
};

class Poller {
 public:
    using Sink = std::function<void(const Event&)>;

    /// `engine` outlives the poller.
    Poller(Engine& engine, PollerOptions options = {});
    ~Poller();  ///< stops and joins the thread

    /// One poll; the events since the one before, in order per job.
    std::vector<Event> pollOnce();
    /// Polls on a thread until destruction.
    void run(Sink sink);
    /// Polls now: after a submit or a cancel.
    void poke();

 private:
    void diff(const JobId& id, const State& now, std::vector<Event>& events);
    void loop(std::stop_token stop, const Sink& sink);

    Engine& engine_;
    const PollerOptions options_;
    std::map<std::string, std::pair<JobId, State>> known_;  // by native id
    bool isUnreachable_ = false;
    int numFailures_ = 0;
    Mutex mutex_;
    CondVar wake_;
    bool isPoked_ MR_GUARDED_BY(mutex_) = false;
    std::jthread thread_;
};

}  // namespace millrace::engines

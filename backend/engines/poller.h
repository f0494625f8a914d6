#pragma once
// Poller: polls an engine's gangs and reports those that have changed.
//
// Threads: pollOnce() by one thread at a time; run() starts one of its own ("engine-poll") that
// calls the sink. The sink is called without a lock and may call the engine.
// Owns: the reported states. A new Poller reports every gang from the start.
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "backend/core/mutex.h"
#include "backend/engines/engine.h"

namespace millrace::engines {

struct PollerOptions {
    std::chrono::milliseconds busy{100};    ///< between polls while a gang is alive
    std::chrono::milliseconds quiet{2000};  ///< otherwise; poke() ends the wait
};

class Poller {
 public:
    using Sink = std::function<void(const std::string& key, const State& state)>;

    /// `engine` outlives the poller.
    Poller(Engine& engine, PollerOptions options = {});
    ~Poller();  ///< stops and joins the thread

    /// Polls once: returns the gangs that have changed since the previous poll, by key.
    std::map<std::string, State> pollOnce();
    /// Polls on a thread until destruction.
    void run(Sink sink);
    /// Polls now: call it after a submit or a cancel.
    void poke();

 private:
    void loop(std::stop_token stop, const Sink& sink);

    Engine& engine_;
    const PollerOptions options_;
    std::map<std::string, State> known_;  // gangs that are alive, by key
    Mutex mutex_;
    CondVar wake_;
    bool isPoked_ MR_GUARDED_BY(mutex_) = false;
    std::jthread thread_;
};

}  // namespace millrace::engines

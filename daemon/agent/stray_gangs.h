#pragma once
// StrayGangs: finds gangs that live in the state directory although no active run follows them, and
// ends them. Used by RunController.
//
// The engine keeps every gang alive that it knows. Without this, a gang of a run that is over would
// train forever, beside the run's next attempt. A gang of a run that could not be read yet is left
// alone: the run may resume with it. Threads: one owner (the controller's). Failure: a gang that
// cannot be asked or ended is retried at the next look.
#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "backend/engines/engine.h"

namespace millrace::agent {

class StrayGangs {
 public:
    enum class Run { kFollowed, kUnread, kNone };

    /// `engine` outlives it. `poke`: called after each request to the engine. `standing`: returns
    /// what is known of a run.
    StrayGangs(engines::Engine& engine, std::function<void()> poke,
               std::function<Run(const std::string& run)> standing)
        : engine_(engine), poke_(std::move(poke)), standing_(std::move(standing)) {}

    /// Takes the state of a gang.
    void note(const std::string& key, const engines::State& state);
    /// Ends gangs of runs that are known to be over; forgets gangs that have ended.
    void look();
    /// Whether no such gang lives.
    bool isEmpty() const { return strays_.empty(); }
    /// Ends the gang of a run that cannot be used because of `why`. OK: it does not exist or is
    /// over. kUnavailable: it is being ended. Another error: that is not known.
    Status end(const std::string& key, const Status& why);
    /// Ends all gangs of the state directory that no active run follows, including those of unread
    /// runs. Returns how many workers live in them.
    int endAll(std::chrono::milliseconds grace);

 private:
    Run standingOf(const std::string& key) const;

    engines::Engine& engine_;
    const std::function<void()> poke_;
    const std::function<Run(const std::string& run)> standing_;
    std::set<std::string> strays_;  // by key
};

}  // namespace millrace::agent

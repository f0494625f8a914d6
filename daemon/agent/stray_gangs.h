#pragma once
// StrayGangs: gangs that live in the state directory and that no active run follows; they are
// ended.
//
// The engine keeps every gang alive that it is asked for, so one whose run is over would train on
// for ever, beside the run's next attempt. A gang of a run that could not be read yet is left
// alone: it may be the one that the run goes on with. Threads: one owner (the controller's).
// Failure: what cannot be asked or ended is tried again with the next look.
#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "backend/engines/engine.h"

namespace millrace::agent {

class StrayGangs {
 public:
    enum class Run { kFollowed, kUnread, kNone };

    /// `engine` outlives it. `poke`: something was asked of it. `standing`: how a run stands.
    StrayGangs(engines::Engine& engine, std::function<void()> poke,
               std::function<Run(const std::string& run)> standing)
        : engine_(engine), poke_(std::move(poke)), standing_(std::move(standing)) {}

    /// How a gang stands.
    void note(const std::string& key, const engines::State& state);
    /// Ends those whose run is known and over; forgets those that have ended.
    void look();
    /// None lives that nobody follows.
    bool isEmpty() const { return strays_.empty(); }
    /// Ends the gang of a run that cannot be used because of `why`. OK: it is not there or is over.
    /// kUnavailable: it is being ended. Another error: that is not known.
    Status end(const std::string& key, const Status& why);
    /// Ends all gangs of the state directory that no active run follows, also of unread runs. How
    /// many workers live in them.
    int endAll(std::chrono::milliseconds grace);

 private:
    Run standingOf(const std::string& key) const;

    engines::Engine& engine_;
    const std::function<void()> poke_;
    const std::function<Run(const std::string& run)> standing_;
    std::set<std::string> strays_;  // by key
};

}  // namespace millrace::agent

#include "daemon/agent/stray_gangs.h"

#include <algorithm>

#include "backend/core/log.h"
#include "backend/job/attempt_paths.h"

namespace millrace::agent {
namespace {

constexpr std::chrono::milliseconds kStrayGrace{15'000};

}  // namespace

StrayGangs::Run StrayGangs::standingOf(const std::string& key) const {
    const auto owner = job::ownerOf(key);
    return owner.has_value() ? standing_(owner->run) : Run::kNone;
}

void StrayGangs::note(const std::string& key, const engines::State& state) {
    if (!engines::isLiving(state)) {
        strays_.erase(key);
    } else if (standingOf(key) != Run::kFollowed) {
        strays_.insert(key);
    }
}

void StrayGangs::look() {
    std::erase_if(strays_, [this](const std::string& key) {
        const Run run = standingOf(key);
        const auto state = engine_.state(key);
        if (run == Run::kFollowed || (state.ok() && !engines::isLiving(*state))) {
            return true;
        }
        if (run == Run::kNone && state.ok() && state->phase != engines::Phase::kStopping) {
            logWarn("engine: a gang that no run follows is ended", {{"gang", key}});
            (void)engine_.cancel(key, kStrayGrace, "no run follows it");
            poke_();
        }
        return false;
    });
}

Status StrayGangs::end(const std::string& key, const Status& why) {
    ASSIGN_OR_RETURN(const bool isKnown, engine_.has(key));
    if (!isKnown) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const engines::State state, engine_.state(key));
    if (!engines::isLiving(state)) {
        return okStatus();
    }
    RETURN_IF_ERROR(engine_.cancel(key, kStrayGrace, messageOf(why)));
    poke_();
    return unavailable("its workers are being ended: ", messageOf(why));
}

int StrayGangs::endAll(std::chrono::milliseconds grace) {
    const auto all = engine_.list();
    int workers = 0;
    for (std::size_t i = 0; all.ok() && i < all->size(); ++i) {
        const auto& [key, state] = (*all)[i];
        if (!engines::isLiving(state) || standingOf(key) == Run::kFollowed) {
            continue;
        }
        strays_.insert(key);
        workers += static_cast<int>(std::count_if(
            state.workers.begin(), state.workers.end(),
            [](const auto& worker) { return worker.isStarted && !worker.exitCode.has_value(); }));
        (void)engine_.cancel(key, grace, "millrace down");
    }
    poke_();
    return workers;
}

}  // namespace millrace::agent

// ActiveRun, the part that ends the run: its receipt, and its end in the store.
#include <utility>

#include "backend/core/log.h"
#include "daemon/agent/run/active_run.h"

namespace millrace::agent {
namespace {

constexpr std::int64_t kStoreAgainNs = 1'000'000'000;

}  // namespace

void ActiveRun::end(values::RunState state, const std::string& reason) {
    preparation_.reset();
    (void)parts_.end({.why = "the run is over"});
    ending_.emplace(state, reason);
    move(Move::kVerdict);
    askReceipt();
}

// Of very many files a receipt is many megabytes: it is made and stored beside the agent's thread.
void ActiveRun::askReceipt() {
    move(Move::kAsked);
    ReceiptInputs inputs{.stepNames = facts_.stepNames};
    done_.fill(facts_.ranks, inputs);
    const auto store = [&place = place_, id = id(), inputs = std::move(inputs),
                        then = answer(&ActiveRun::storeEnd)](const auto&) -> SideThread::Then {
        const Status status = storeReceipt(place.store, id, inputs);
        if (!status.ok()) {
            logWarn("run: no receipt", {{"run", id}, {"why", messageOf(status)}});
        }
        return then;
    };
    if (!place_.documents.run(store) && stage() == Stage::kReceiptMaking) {
        move(Move::kNotNow);
    }
}

// The receipt is there, or cannot be had.
void ActiveRun::storeEnd() {
    if (!state_.may(Move::kStored)) {
        return;
    }
    const auto& [state, reason] = *ending_;
    journal_.tellEnd(state, reason);
    const std::int64_t settled = state == values::RunState::kFinished ? done_.stepOfAll() : 0;
    if (!journal_.setState(state, reason, settled)) {
        move(Move::kNotStored);
        return state_.setRetry(place_.clock.steadyNs() + kStoreAgainNs);
    }
    logInfo("run: ended", {{"run", id()},
                           {"state", values::nameOf(state)},
                           {"attempt", attempt()},
                           {"reason", reason}});
    door_.close();
    move(Move::kStored);
    journal_.erase();
}

}  // namespace millrace::agent

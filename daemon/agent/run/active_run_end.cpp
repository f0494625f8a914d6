// ActiveRun, the part that ends the run: its receipt, and its end in the store.
#include <utility>

#include "backend/core/log.h"
#include "backend/core/transient.h"
#include "daemon/agent/run/active_run.h"

namespace millrace::agent {
namespace {

constexpr std::int64_t kStoreAgainNs = 1'000'000'000;
// A disk may fail for good at what a receipt is made of, and take the run's end all the same.
constexpr int kReceiptTriesMost = 60;

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
                        then = answer(&ActiveRun::receiptMade)](const auto&) -> SideThread::Then {
        return [then, status = storeReceipt(place.store, id, inputs)] { then(status); };
    };
    if (!place_.documents.run(store) && stage() == Stage::kReceiptMaking) {
        move(Move::kNotNow);
    }
}

// It is there, waits for room as the run's end would, or cannot be had.
void ActiveRun::receiptMade(const Status& status) {
    if (stage() != Stage::kReceiptMaking) {
        return;
    }
    const bool isFull = absl::IsResourceExhausted(status);
    if (isFull || (mayPass(status) && numReceiptTries_ < kReceiptTriesMost)) {
        journal_.live().queuedReason =
            strCat("its receipt cannot be stored: ", messageOf(status), "; trying again");
        journal_.waits(numReceiptTries_++ == 0, "run: receipt not stored yet");
        move(Move::kNotNow);
        return state_.setRetry(place_.clock.steadyNs() + kStoreAgainNs);
    }
    if (!status.ok()) {
        logWarn("run: no receipt", {{"run", id()}, {"why", messageOf(status)}});
        journal_.addEvent(strCat("it has no receipt: ", messageOf(status)));
    }
    storeEnd();
}

void ActiveRun::storeEnd() {
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

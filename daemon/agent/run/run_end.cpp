#include "daemon/agent/run/run_end.h"

#include <utility>

#include "backend/core/log.h"
#include "backend/core/transient.h"
#include "daemon/agent/run/done_words.h"

namespace millrace::agent {
namespace {

// A disk may fail permanently at the data of a receipt, yet be able to store the run's end.
constexpr int kReceiptTriesMost = 60;

}  // namespace

bool RunEnd::askReceipt(ReceiptInputs inputs, std::function<void(const Status&)> then) {
    return place_.documents.run([&place = place_, id = journal_.id(), inputs = std::move(inputs),
                                 then = std::move(then)](const auto&) -> SideThread::Then {
        return [then, status = storeReceipt(place.store, id, inputs)] { then(status); };
    });
}

bool RunEnd::mayEnd(const Status& receipt) {
    const bool isFull = absl::IsResourceExhausted(receipt);
    if (isFull || (mayPass(receipt) && numTries_ < kReceiptTriesMost)) {
        journal_.live().queuedReason =
            strCat("its receipt cannot be stored: ", messageOf(receipt), "; trying again");
        journal_.waits(!std::exchange(isWaiting_, true), "run: receipt not stored yet");
        numTries_ += isFull ? 0 : 1;
        return false;
    }
    if (!receipt.ok()) {
        logWarn("run: no receipt", {{"run", journal_.id()}, {"why", messageOf(receipt)}});
        journal_.addEvent(strCat("it has no receipt: ", messageOf(receipt)));
    }
    return true;
}

bool RunEnd::store(std::int64_t settledStep) {
    journal_.tellEnd(state_, reason_);
    if (!journal_.setState(state_, reason_,
                           state_ == values::RunState::kFinished ? settledStep : 0)) {
        return false;
    }
    logInfo("run: ended", {{"run", journal_.id()},
                           {"state", values::nameOf(state_)},
                           {"attempt", journal_.attempt()},
                           {"reason", reason_}});
    return true;
}

}  // namespace millrace::agent

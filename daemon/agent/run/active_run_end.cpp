// The part of ActiveRun that ends the run: makes its receipt and stores its end.
#include <utility>

#include "daemon/agent/run/active_run.h"

namespace millrace::agent {

void ActiveRun::end(values::RunState state, const std::string& reason) {
    preparation_.reset();
    (void)parts_.end({.why = "the run is over"});
    end_.decide(state, reason);
    move(Move::kVerdict);
    askReceipt();
}

void ActiveRun::askReceipt() {
    move(Move::kAsked);
    ReceiptInputs inputs{.stepNames = stepNames(*spec_), .hasStream = spec_->hasDataset()};
    done_.fill(spec_->train.ranks, inputs);
    if (!end_.askReceipt(std::move(inputs), answer(&ActiveRun::receiptMade)) &&
        stage() == Stage::kReceiptMaking) {
        move(Move::kNotNow);
    }
}

void ActiveRun::receiptMade(const Status& status) {
    if (stage() != Stage::kReceiptMaking) {
        return;
    }
    end_.mayEnd(status) ? storeEnd() : tryAgain(Move::kNotNow);
}

void ActiveRun::storeEnd() {
    if (!end_.store(done_.stepOfAll())) {
        return tryAgain(Move::kNotStored);
    }
    listener_.close();
    move(Move::kStored);
    journal_.erase();
}

void ActiveRun::tryAgain(Move how) {
    move(how);
    state_.setRetry(place_.clock.steadyNs() + RunEnd::kAgainNs);
}

}  // namespace millrace::agent

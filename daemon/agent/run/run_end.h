#pragma once
// RunEnd: stores the end of a run, and before it its receipt. Used by ActiveRun.
//
// A receipt of very many files has many megabytes, so it is made and stored outside the agent's
// thread. Threads: the controller's only. Failure: retries while the store has no room or fails for
// the moment; a run with a receipt that cannot be made ends without one.
#include <functional>
#include <string>

#include "backend/values/run_state.h"
#include "daemon/agent/run/receipts.h"
#include "daemon/agent/run/run_journal.h"
#include "daemon/agent/run/workplace.h"

namespace millrace::agent {

class RunEnd {
 public:
    /// Pause between two tries.
    static constexpr std::int64_t kAgainNs = 1'000'000'000;

    RunEnd(Workplace& place, RunJournal& journal) : place_(place), journal_(journal) {}

    /// Sets the verdict.
    void decide(values::RunState state, const std::string& reason) {
        state_ = state;
        reason_ = reason;
    }
    /// `then`: receives the result, on the controller's thread. False: too many receipts are
    /// queued.
    bool askReceipt(ReceiptInputs inputs, std::function<void(const Status&)> then);
    /// Returns whether the run may end, given the result of its receipt. False: ask for the receipt
    /// again.
    bool mayEnd(const Status& receipt);
    /// `settledStep`: runs::StateChange, for a run that is finished. False: try again.
    bool store(std::int64_t settledStep);

 private:
    Workplace& place_;
    RunJournal& journal_;
    values::RunState state_ = values::RunState::kFailed;
    std::string reason_;
    bool isWaiting_ = false;  // for its receipt
    int numTries_ = 0;        // for it, except those that found a full disk
};

}  // namespace millrace::agent

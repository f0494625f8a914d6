#pragma once
// RunEnd: the end of a run in the store, its receipt first.
//
// A receipt of very many files is many megabytes: it is made and stored beside the agent's thread.
// Threads: the controller's only. Failure: where the store has no room, or fails for the moment, it
// is asked again; a run whose receipt cannot be made ends without one.
#include <functional>
#include <string>

#include "backend/values/run_state.h"
#include "daemon/agent/run/receipts.h"
#include "daemon/agent/run/run_journal.h"
#include "daemon/agent/run/workplace.h"

namespace millrace::agent {

class RunEnd {
 public:
    /// Between two tries.
    static constexpr std::int64_t kAgainNs = 1'000'000'000;

    RunEnd(Workplace& place, RunJournal& journal) : place_(place), journal_(journal) {}

    /// The verdict.
    void decide(values::RunState state, const std::string& reason) {
        state_ = state;
        reason_ = reason;
    }
    /// `then`: how it went, on the controller's thread. False: too many wait for theirs.
    bool askReceipt(ReceiptInputs inputs, std::function<void(const Status&)> then);
    /// Whether the run may end, by how its receipt went. False: the receipt is to be asked for
    /// again.
    bool mayEnd(const Status& receipt);
    /// `settledStep`: runs::StateChange, of a run that is finished. False: try again.
    bool store(std::int64_t settledStep);

 private:
    Workplace& place_;
    RunJournal& journal_;
    values::RunState state_ = values::RunState::kFailed;
    std::string reason_;
    bool isWaiting_ = false;  // for its receipt
    int numTries_ = 0;        // of it, but those that found a full disk
};

}  // namespace millrace::agent

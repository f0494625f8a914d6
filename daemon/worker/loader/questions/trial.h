#pragma once
// A few steps of a spec and its evaluation, by the programs of a run and without a daemon: whether
// what is offered trains indeed.
//
// A feed and a trainer as children in a directory of their own, which goes with them. Threads: one
// owner. Failure: what a worker says of the spec or the data, in its words; kCancelled when asked
// to stop; kDeadlineExceeded when no step came in time.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <stop_token>
#include <string>

#include "backend/core/status.h"
#include "daemon/worker/loader/resolve.h"

namespace millrace::loader {

struct TrialOptions {
    std::int64_t steps = 10;
    /// Of everything: large evaluation sets are left where it ends.
    std::chrono::milliseconds limit{120'000};
};

/// What to show meanwhile.
struct TrialProgress {
    std::atomic<std::int64_t> step{0};
    std::atomic<bool> isEvaluating{false};
};

struct Trial {
    std::int64_t steps = 0, rows = 0;  ///< trained
    double firstLoss = 0, lastLoss = 0;
    bool isEvaluated = false;                  ///< to the end
    std::map<std::string, double> evaluation;  ///< "eval.auc", ...
};

/// False in a Python wheel, which has no trainer.
bool canTrain();

Result<Trial> runTrial(const ResolvedRun& run, const TrialOptions& options, TrialProgress& progress,
                       const std::stop_token& stop);

}  // namespace millrace::loader

#pragma once
// Runs a few steps of a spec and its evaluation with the programs of a run, without a daemon: tests
// that a proposed spec really trains. Used by `init`.
//
// A feed and a trainer are children in a directory of their own, which is removed with them.
// Threads: one owner. Failure: a worker's error about the spec or the data, in its words;
// kCancelled if stopped; kDeadlineExceeded if no step was taken in time.
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
    /// For everything: a large evaluation ends here.
    std::chrono::milliseconds limit{120'000};
};

/// The progress of a trial, to show meanwhile.
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

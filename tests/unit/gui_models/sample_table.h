#pragma once
// Runs for tests of the run models.
#include <random>
#include <string>
#include <vector>

#include "backend/values/run_summary.h"

namespace millrace::gui {

inline values::RunSummary sampleRun(const std::string& id, double loss = 0.5,
                                    const std::string& base = "",
                                    const std::string& variation = "") {
    values::RunSummary run;
    run.id = run.uid = id;
    run.name = "movielens";
    run.variation = variation;
    run.variationOf = base;
    run.state = values::RunState::kFinished;
    run.createdMs = 1'700'000'000'000;
    run.startedMs = run.createdMs + 1'000;
    run.endedMs = run.startedMs + 10'000;
    run.latestMetrics = {{"eval.auc", 1 - loss, 100, run.endedMs, 0},
                         {"loss", loss, 100, run.endedMs, 0}};
    run.evalOrderHash = "aaaa";
    return run;
}

/// One of `numIds` runs, each a base or a variation of an earlier one, with random facts.
inline values::RunSummary randomRun(std::mt19937& random, int numIds) {
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const int number = pick(numIds);
    const std::string base = number % 4 == 0 ? "" : "r-" + std::to_string(number - number % 4);
    values::RunSummary run = sampleRun("r-" + std::to_string(number), pick(50) / 10.0, base,
                                       number % 4 == 0 ? "" : "v" + std::to_string(number % 4));
    run.name = std::string(1, static_cast<char>('a' + pick(6)));
    run.state = static_cast<values::RunState>(1 + pick(7));
    run.createdMs += number * 1'000;
    if (pick(5) == 0) {
        run.latestMetrics.clear();
    }
    return run;
}

}  // namespace millrace::gui

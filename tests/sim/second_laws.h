#pragma once
// SecondLaws: the laws that hold at each second and at each start: nodes are not given twice, runs
// start in turn and get on, a stop's grace is kept, data workers are there.
//
// Threads: one.
#include <string>
#include <vector>

#include "backend/runs/run_store.h"
#include "tests/sim/evidence.h"

namespace millrace::sim {

class SecondLaws {
 public:
    explicit SecondLaws(Evidence& seen) : seen_(seen), leftNs_(seen.machines.size(), 0) {}

    /// Each second; null: there is no head.
    void check(const runs::RunStore* store);
    /// No more of a machine's cores are given than it has.
    void checkTaken(const Machine& machine);
    /// A run does not start before one that asks for no more and waits for longer.
    void checkTurn(const std::string& run);

 private:
    void countDataWorkers(const std::string& run, Course& course);
    void checkBegun(const runs::RunStore& store, const std::string& run);
    bool isAnyBetween(const runs::RunStore& store) const;
    void checkResumed(const runs::RunStore& store, const std::string& run, int attempt);
    void checkMoves(const runs::RunStore& store, const std::string& run, Course& course);
    void checkOver(const runs::RunStore& store, const std::string& run, Course& course);
    void checkPlace(const runs::RunRecord& record, Course& course);
    void checkLeft();
    void checkFiles(const runs::RunStore& store, const std::string& run);
    void checkStop(const runs::RunStore& store, const std::string& run, Course& course);

    Evidence& seen_;
    std::vector<std::int64_t> leftNs_;  ///< by machine: since when it is to be empty and can be
};

}  // namespace millrace::sim

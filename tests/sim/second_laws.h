#pragma once
// SecondLaws: the laws that are checked each second and at each start: cores are not given twice,
// runs start in turn and make progress, a stop's grace period is kept, data workers are there.
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

    /// Called each second; `store` is null while there is no head.
    void check(const runs::RunStore* store);
    /// The cores that are given on a machine never exceed its own.
    void checkTaken(const Machine& machine);
    /// A run must not start before another that asks for no more and has waited longer.
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
    std::vector<std::int64_t> leftNs_;  ///< times since which each machine must be empty, and can
};

}  // namespace millrace::sim

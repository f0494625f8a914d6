#pragma once
// RestLaws: the laws that hold at rest: the store describes what each run's ranks did.
//
// Threads: one.
#include <string>

#include "backend/runs/run_store.h"
#include "tests/sim/evidence.h"

namespace millrace::sim {

class RestLaws {
 public:
    RestLaws(Evidence& seen, runs::RunStore& store) : seen_(seen), store_(store) {}
    void check(const std::string& headRoot);

 private:
    void checkMetrics(const std::string& run);
    void checkRecord(const runs::RunRecord& run);
    void checkAttempts(const std::string& run);
    void checkCheckpoints(const std::string& run, const std::string& root);

    Evidence& seen_;
    runs::RunStore& store_;
};

}  // namespace millrace::sim

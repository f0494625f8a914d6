#include "backend/dataset/column_cost.h"

#include <time.h>

namespace millrace::dataset {

namespace {

std::int64_t nowOf(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

bool CostClock::areStopped_ = false;

void CostClock::stopAll() {
    areStopped_ = true;
}

std::int64_t CostClock::wallNs() {
    return areStopped_ ? 0 : nowOf(CLOCK_MONOTONIC);
}

std::int64_t CostClock::threadNs() {
    return areStopped_ ? 0 : nowOf(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace millrace::dataset

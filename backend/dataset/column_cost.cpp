#include "backend/dataset/column_cost.h"

#include <algorithm>

#include <time.h>

namespace millrace::dataset {

namespace {

bool areStopped = false;

std::int64_t nowOf(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

void CostClock::stopAll() {
    areStopped = true;
}

std::int64_t CostClock::wallNs() {
    return areStopped ? 0 : nowOf(CLOCK_MONOTONIC);
}

std::int64_t CostClock::threadNs() {
    if (areStopped) {
        return 0;
    }
    struct Asked {
        std::int64_t wall = INT64_MIN / 2, busy = 0, told = 0;
    };
    thread_local Asked asked;
    const std::int64_t now = wallNs();
    if (now - asked.wall >= kTrustNs) {
        asked.busy = nowOf(CLOCK_THREAD_CPUTIME_ID);
        asked.wall = now;
    }
    asked.told = std::max(asked.told, asked.busy + (now - asked.wall));
    return asked.told;
}

}  // namespace millrace::dataset

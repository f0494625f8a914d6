#pragma once
// What the store's benches share: times, rows of a report, and the end when something is missing.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <time.h>

#include "backend/core/status.h"

namespace millrace::bench {

inline double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

inline double cpuSeconds(clockid_t of) {
    timespec now{};
    ::clock_gettime(of, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline void require(bool isTrue, const char* what) {
    if (!isTrue) {
        std::fprintf(stderr, "bench: %s\n", what);
        std::exit(1);
    }
}

template <class T>
T must(Result<T> result) {
    require(result.ok(), result.ok() ? "" : result.status().ToString().c_str());
    return std::move(*result);
}

inline void row(const char* what, double value, const char* unit) {
    std::printf("%-60s %10.3f %s\n", what, value, unit);
    std::fflush(stdout);
}

/// The median of `times` calls, in ms of this thread's processor time: the time on an idle machine.
inline double timedMs(const char* what, int times, const std::function<void()>& call) {
    std::vector<double> busy;
    for (int i = 0; i < times + 1; ++i) {
        const double cpu = cpuSeconds(CLOCK_THREAD_CPUTIME_ID);
        call();
        if (i > 0) {
            busy.push_back((cpuSeconds(CLOCK_THREAD_CPUTIME_ID) - cpu) * 1e3);
        }
    }
    std::sort(busy.begin(), busy.end());
    row(what, busy[busy.size() / 2], "ms of a processor");
    return busy[busy.size() / 2];
}

}  // namespace millrace::bench

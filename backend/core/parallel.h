#pragma once
// A loop whose iterations run on several threads.
//
// Threads: starts its own, named, and joins them before it returns. Failure: that of the lowest
// failing index, for any number of threads; after a failure no more iterations begin.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "backend/core/status.h"
#include "backend/core/thread.h"

namespace millrace {

/// Calls `Status body(i)` once for each i < count, on up to `threads` threads, including the
/// caller's.
template <class Body>
Status parallelFor(std::size_t count, int threads, const std::string& name, const Body& body) {
    std::vector<Status> results(count);
    std::atomic<std::size_t> next{0};
    std::atomic<bool> hasFailed{false};
    const auto work = [&] {
        while (!hasFailed) {  // checked before an index is taken: a taken index always runs
            const std::size_t i = next++;
            if (i >= count) {
                break;
            }
            results[i] = body(i);
            if (!results[i].ok()) {
                hasFailed = true;
            }
        }
    };
    {
        std::vector<std::jthread> helpers;
        const auto wanted = std::min(static_cast<std::size_t>(std::max(threads, 1)), count);
        for (std::size_t i = 1; i < wanted; ++i) {
            helpers.push_back(startThread(name, [&](std::stop_token) { work(); }));
        }
        work();
    }
    for (const Status& result : results) {
        RETURN_IF_ERROR(result);
    }
    return okStatus();
}

}  // namespace millrace

#pragma once
// A loop whose turns run on several threads.
//
// Threads: starts its own, named, and joins them before it returns. Failure: that of the lowest
// index that fails, however many threads there are; after one, no more are begun.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "backend/core/status.h"
#include "backend/core/thread.h"

namespace millrace {

/// Calls `Status body(i)` once for each i < count, on up to `threads` threads, the caller's among
/// them.
template <class Body>
Status parallelFor(std::size_t count, int threads, const std::string& name, const Body& body) {
    std::vector<Status> results(count);
    std::atomic<std::size_t> next{0};
    std::atomic<bool> hasFailed{false};
    const auto work = [&] {
        while (!hasFailed) {  // asked before an index is taken: what is taken runs
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

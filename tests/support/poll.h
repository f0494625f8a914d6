#pragma once
// Polling of other processes: the only place where C++ tests pause, always until a condition holds.
#include <chrono>
#include <thread>

namespace millrace::test {

/// Pauses between two looks at another process.
inline void pausePolling(std::chrono::milliseconds pause = std::chrono::milliseconds(5)) {
    std::this_thread::sleep_for(pause);
}

/// For a bench with a fixed pace: pauses until its next moment.
inline void pauseUntil(std::chrono::steady_clock::time_point moment) {
    std::this_thread::sleep_until(moment);
}

/// Polls until `condition` holds; returns false after `limit`.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        pausePolling();
    }
    return true;
}

}  // namespace millrace::test

#pragma once
// Waiting for what other processes do: the one place where tests pause, always towards a condition.
#include <chrono>
#include <thread>

namespace millrace::test {

/// Between two looks at another process.
inline void pausePolling(std::chrono::milliseconds pause = std::chrono::milliseconds(5)) {
    std::this_thread::sleep_for(pause);
}

/// Asks again and again until `condition` holds; false after `limit`.
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

#pragma once
// A sleep that a stop token ends: for threads that only look from time to time.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace millrace {

/// Waits for `time`, but only until `stop`; returns true if a stop was requested.
inline bool waitForStop(const std::stop_token& stop, std::chrono::nanoseconds time) {
    std::mutex mutex;
    std::condition_variable_any requested;
    std::unique_lock lock(mutex);
    return requested.wait_for(lock, stop, time, [&stop] { return stop.stop_requested(); });
}

}  // namespace millrace

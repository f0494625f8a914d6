#pragma once
// Adds its own lifetime to a sum, ns. Threads: one owner.
#include <chrono>
#include <cstdint>

namespace millrace::train {

class PartTimer {
 public:
    explicit PartTimer(std::int64_t& sum) : sum_(sum) {}
    ~PartTimer() {
        sum_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begun_).count();
    }
    PartTimer(const PartTimer&) = delete;
    PartTimer& operator=(const PartTimer&) = delete;

 private:
    std::int64_t& sum_;
    const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace millrace::train

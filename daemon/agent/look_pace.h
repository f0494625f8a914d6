#pragma once
// LookPace: how often the controller looks at all runs. A look costs time for each worker, so looks
// at many workers are less frequent, no matter how many messages arrive.
//
// Threads: one owner. Failure: none.
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace millrace::agent {

class LookPace {
 public:
    /// `mostNs`: longest pause between two looks.
    explicit LookPace(std::int64_t mostNs) : mostNs_(mostNs) {}

    /// Returns whether to look now; if so, a look begins. `nowNs`: steady.
    bool begin(std::int64_t nowNs) {
        const std::int64_t pause =
            workers_ < kFew ? 0
                            : std::min(static_cast<std::int64_t>(workers_) * kNsPerWorker, mostNs_);
        if (nowNs < lookedNs_ + pause) {
            return false;
        }
        lookedNs_ = nowNs;
        workers_ = 0;
        return true;
    }
    /// Adds the number of workers that this look covers.
    void add(std::size_t workers) { workers_ += workers; }

 private:
    static constexpr std::size_t kFew = 64;
    static constexpr std::int64_t kNsPerWorker = 50'000;  // ten times the cost of a look at one

    const std::int64_t mostNs_;
    std::int64_t lookedNs_ = 0;
    std::size_t workers_ = 0;
};

}  // namespace millrace::agent

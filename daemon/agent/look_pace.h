#pragma once
// LookPace: how often all runs are looked at. A look costs time for each worker, so those at many
// workers come less often, whatever comes in meanwhile.
//
// Threads: one owner. Failure: none.
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace millrace::agent {

class LookPace {
 public:
    /// `mostNs`: between two looks, where nothing comes in.
    explicit LookPace(std::int64_t mostNs) : mostNs_(mostNs) {}

    /// Whether to look now; yes is the beginning of a look. `nowNs`: steady.
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
    /// This look is at so many more workers.
    void add(std::size_t workers) { workers_ += workers; }

 private:
    static constexpr std::size_t kFew = 64;
    static constexpr std::int64_t kNsPerWorker = 50'000;  // ten times what a look at one takes

    const std::int64_t mostNs_;
    std::int64_t lookedNs_ = 0;
    std::size_t workers_ = 0;
};

}  // namespace millrace::agent

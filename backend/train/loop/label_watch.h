#pragma once
// Which labels the first epoch had: at its end they must be of two classes. Threads: one owner.
#include <limits>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/train/batch.h"

namespace millrace::train {

/// Watches nothing before begin(), as after a resume, and nothing behind the first endEpoch().
class LabelWatch {
 public:
    void begin(std::size_t numHeads) { seen_.assign(numHeads, Seen()); }
    void watch(const BatchView& batch);
    /// kInvalidArgument naming a head of which nothing can be learnt. Of one rank alone: a head may
    /// be of one class in the share of one of several.
    Status endEpoch(const std::vector<std::string>& heads);

 private:
    struct Seen {
        float least = std::numeric_limits<float>::infinity();
        float most = -std::numeric_limits<float>::infinity();
        bool isFine() const { return least < most; }
    };
    std::vector<Seen> seen_;  ///< by head
};

}  // namespace millrace::train

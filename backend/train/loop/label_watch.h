#pragma once
// Checks the labels of the first epoch: at its end each head must have seen two classes. The
// trainer uses it. Threads: one owner.
#include <limits>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/train/batch.h"

namespace millrace::train {

/// Inactive before begin(), as after a resume, and after the first endEpoch().
class LabelWatch {
 public:
    void begin(std::size_t numHeads) { seen_.assign(numHeads, Seen()); }
    void watch(const BatchView& batch);
    /// kInvalidArgument names a head whose labels are all alike. For runs of one rank only: with
    /// several ranks, one rank's share may hold a single class.
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

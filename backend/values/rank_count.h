#pragma once
// The number of ranks and nodes with which a run should continue.

namespace millrace::values {

/// 0: unchanged.
struct RankCount {
    int ranks = 0;
    int nodes = 0;  ///< training nodes, including the head's own
    bool operator==(const RankCount&) const = default;
};

}  // namespace millrace::values

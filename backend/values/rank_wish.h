#pragma once
// How many ranks a run is to go on with, and on how many nodes.

namespace millrace::values {

/// 0: as before.
struct RankWish {
    int ranks = 0;
    int nodes = 0;  ///< that train, the head's own among them
    bool operator==(const RankWish&) const = default;
};

}  // namespace millrace::values

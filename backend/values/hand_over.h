#pragma once
// HandOver: a checkpoint, or an evaluation's scores, in transfer from the node that wrote it to the
// head.
#include <cstdint>
#include <optional>
#include <string>

namespace millrace::values {

struct HandOver {
    std::int64_t step = 0;     ///< the step of the file
    std::uint64_t bytes = 0;   ///< the file's size
    std::uint64_t sent = 0;    ///< of these, arrived at the head
    int numWaiting = 0;        ///< checkpoints queued behind it
    std::string trouble = {};  ///< why the transfer is stuck, a sentence; "": it is not
    bool areScores = false;    ///< scores of an evaluation; false: a checkpoint
    bool operator==(const HandOver&) const = default;
};

inline std::string troubleOf(const std::optional<HandOver>& handOver) {
    return handOver.has_value() ? handOver->trouble : "";
}

}  // namespace millrace::values

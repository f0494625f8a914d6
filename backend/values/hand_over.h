#pragma once
// HandOver: a checkpoint, or scores, on the way from the node that wrote them to the head.
#include <cstdint>
#include <optional>
#include <string>

namespace millrace::values {

struct HandOver {
    std::int64_t step = 0;     ///< of the file
    std::uint64_t bytes = 0;   ///< of it
    std::uint64_t sent = 0;    ///< of these, at the head
    int numWaiting = 0;        ///< checkpoints that follow it
    std::string trouble = {};  ///< why it does not move, a sentence; "": it moves
    bool areScores = false;    ///< of an evaluation; false: a checkpoint
    bool operator==(const HandOver&) const = default;
};

inline std::string troubleOf(const std::optional<HandOver>& handOver) {
    return handOver.has_value() ? handOver->trouble : "";
}

}  // namespace millrace::values

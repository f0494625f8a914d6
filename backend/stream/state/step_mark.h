#pragma once
// What stands in every ring behind a step's last record: where all ranks end it alike, and what the
// whole sequence was up to there (docs/formats/frame.md, "Ring").
//
// Threads: values. Failure: a static sentence. The reader's bytes are in memory that the writer may
// still change: each value is copied, then checked.
#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/core/hash.h"
#include "backend/stream/state/order_hash.h"

namespace millrace::stream {

struct StepMark {
    /// Of one ring's micro-batches of the step.
    struct Share {
        std::int64_t batches = 0, rows = 0;
        Sum128 hash;
        bool operator==(const Share&) const = default;
    };

    std::uint32_t epoch = 0;
    std::int64_t number = 0;   ///< of the first micro-batch behind the step
    std::int64_t batches = 0;  ///< of the step, over all ranks; 0: only the epoch's end stands here
    std::int64_t rows = 0;     ///< in them
    bool isLast = false;       ///< of its epoch: `number` is the epoch's total
    OrderHash orderHash;       ///< of the whole sequence up to here, over all ranks and epochs
    std::int64_t rowsDelivered = 0;  ///< likewise
    Share own;                       ///< of the ring that the mark stands in

    /// Whether both say the same of the sequence; the share is a ring's own.
    bool isSameStep(const StepMark& other) const;
    bool operator==(const StepMark&) const = default;
};

inline constexpr std::size_t kStepMarkBytes = 96;

/// All but epoch and number, which stand in the ring's entry.
std::array<std::byte, kStepMarkBytes> markBytes(const StepMark& mark);

/// Fills all but epoch and number. Null, or what is wrong.
const char* readMark(const unsigned char* bytes, std::uint64_t size, StepMark& mark);

}  // namespace millrace::stream

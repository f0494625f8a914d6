#pragma once
// What stands in every ring behind a step's last record: where all ranks end it alike, and what the
// whole sequence was up to there (docs/formats/ring.md).
//
// Threads: values. Failure: a static sentence. The reader's bytes are in memory that the writer may
// still change: each value is copied, then checked.
#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/core/hash.h"
#include "backend/stream/state/order_hash.h"

namespace millrace::stream {

/// What becomes of an epoch's last step that is not whole.
enum class LastStep {
    kKeep,
    kDrop,  ///< it is delivered to nobody: neither order hash nor rows delivered have it
};

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
    bool isLeftOut = false;    ///< the epoch's last step, not whole, where such are dropped
    OrderHash orderHash;       ///< of the whole sequence up to here, over all ranks and epochs
    std::int64_t rowsDelivered = 0;  ///< likewise
    std::int64_t rowsLeftOut = 0;    ///< likewise: rows of steps that were left out of the two
    Share own;                       ///< of the ring that the mark stands in

    /// Whether nothing is missing up to its number: that is where a step of so many micro-batches
    /// ends, and all in it have so many rows. Only an epoch's last step may not be whole, and that
    /// one is what LastStep is about.
    bool isWhole(std::int64_t stepBatches, std::int64_t microRows) const {
        return number % stepBatches == 0 && rows == batches * microRows;
    }
    /// Whether both say the same of the sequence; the share is a ring's own.
    bool isSameStep(const StepMark& other) const;
    bool operator==(const StepMark&) const = default;
};

inline constexpr std::size_t kStepMarkBytes = 128;

/// All but epoch and number, which stand in the ring's entry.
std::array<std::byte, kStepMarkBytes> markBytes(const StepMark& mark);

/// Fills all but epoch and number. Null, or what is wrong.
const char* readMark(const unsigned char* bytes, std::uint64_t size, StepMark& mark);

}  // namespace millrace::stream

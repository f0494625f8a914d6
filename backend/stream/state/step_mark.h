#pragma once
// The mark behind a step's last record in every ring: where all ranks end the step, and the totals
// of the whole sequence up to there (docs/formats/ring.md).
//
// Threads: values. Failure: a static message. The reader's bytes are in memory that the writer may
// still change: each value is copied, then checked.
#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/core/hash.h"
#include "backend/stream/state/order_hash.h"

namespace millrace::stream {

/// Treatment of an epoch's last step that is not whole.
enum class LastStep {
    kKeep,
    kDrop,  ///< not delivered: neither order hash nor rows delivered include it
};

struct StepMark {
    /// One ring's micro-batches of the step.
    struct Share {
        std::int64_t batches = 0, rows = 0;
        Sum128 hash;
        bool operator==(const Share&) const = default;
    };

    std::uint32_t epoch = 0;
    std::int64_t number = 0;   ///< of the first micro-batch behind the step
    std::int64_t batches = 0;  ///< of the step, over all ranks; 0: marks only the epoch's end
    std::int64_t rows = 0;     ///< in these micro-batches
    bool isLast = false;       ///< of its epoch: `number` is the epoch's total
    bool isLeftOut = false;    ///< the epoch's last step, not whole, and dropped
    OrderHash orderHash;       ///< of the whole sequence up to here, over all ranks and epochs
    std::int64_t rowsDelivered = 0;  ///< likewise
    std::int64_t rowsLeftOut = 0;    ///< likewise: rows of steps excluded from the two above
    Share own;                       ///< of the ring that the mark is in

    /// Whether a step of `stepBatches` micro-batches ends at its number, and each of its
    /// micro-batches has `microRows` rows. Only an epoch's last step may not be whole; LastStep is
    /// about that step.
    bool isWhole(std::int64_t stepBatches, std::int64_t microRows) const {
        return number % stepBatches == 0 && rows == batches * microRows;
    }
    /// Whether both describe the sequence equally; the share differs by ring.
    bool isSameStep(const StepMark& other) const;
    bool operator==(const StepMark&) const = default;
};

inline constexpr std::size_t kStepMarkBytes = 128;

/// All but epoch and number, which are in the ring's entry.
std::array<std::byte, kStepMarkBytes> markBytes(const StepMark& mark);

/// Fills all but epoch and number. Returns null or the error.
const char* readMark(const unsigned char* bytes, std::uint64_t size, StepMark& mark);

}  // namespace millrace::stream

#pragma once
// Measures how well micro-batches are mixed: how many requests a micro-batch has rows of, and how
// many rows its largest user has.
//
// The meter counts the keys of a frame's rows in a hash table. It reuses the table for every frame
// and neither allocates nor clears per frame. Only whole micro-batches count: the epoch's last,
// shorter one would be the worst of all. Threads: one meter per thread; sums go to StageCounters.
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::segment {

/// Sums over whole micro-batches; equal for any number of threads.
struct BatchMix {
    std::int64_t batches = 0;
    std::int64_t rows = 0;      ///< of all batches
    std::int64_t requests = 0;  ///< distinct requests per micro-batch, summed; 0: no request column
    std::int64_t fewestRequests = 0;
    std::int64_t userRows = 0;  ///< rows of the largest user, summed; 0: no user column
    double mostUserShare = 0;   ///< largest share of a micro-batch's rows that one user has, 0 to 1

    double meanRequests() const { return perBatch(requests); }
    double meanUserShare() const {
        return rows == 0 ? 0 : static_cast<double>(userRows) / static_cast<double>(rows);
    }
    void add(const BatchMix& other);

 private:
    double perBatch(std::int64_t sum) const {
        return batches == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(batches);
    }
};

class BatchMeter {
 public:
    struct Count {
        std::int64_t different = 0;
        std::int64_t most = 0;  ///< rows of the most frequent key
    };
    /// `keys` may have at most 2^31 elements.
    Count count(std::span<const std::uint64_t> keys);
    /// The mix of one micro-batch. Pass an empty span for keys that the spec does not name.
    BatchMix mixOf(std::span<const std::uint64_t> requests, std::span<const std::uint64_t> users);

 private:
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t turn = 0;  ///< count() call that wrote this slot; others are free
        std::uint32_t rows = 0;
    };
    std::vector<Slot> slots_;  ///< size is a power of two, at least twice the number of keys
    std::uint32_t turn_ = 0;
};

}  // namespace millrace::segment

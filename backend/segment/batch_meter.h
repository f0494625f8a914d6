#pragma once
// How well micro-batches are mixed: how many requests one has rows of, and how many rows its
// largest user has.
//
// The keys of a frame's rows are counted in a table that is made once and used again for every
// frame: nothing is allocated or cleared a frame. Only whole micro-batches count: the epoch's last,
// shorter one would be the worst of all. Threads: one meter a thread; sums go to StageCounters.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::segment {

/// Sums over whole micro-batches; equal for any number of threads.
struct BatchMix {
    std::int64_t batches = 0;
    std::int64_t rows = 0;      ///< of all of them
    std::int64_t requests = 0;  ///< different ones a micro-batch; 0: no request column
    std::int64_t fewestRequests = 0;
    std::int64_t userRows = 0;  ///< of each micro-batch's largest user; 0: no user column
    double mostUserShare = 0;   ///< of a micro-batch's rows, 0 to 1

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
    /// At most 2^31 keys at once.
    Count count(std::span<const std::uint64_t> keys);
    /// Of one micro-batch; keys that are absent are empty.
    BatchMix mixOf(std::span<const std::uint64_t> requests, std::span<const std::uint64_t> users);

 private:
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t turn = 0;  ///< of the count() that it belongs to
        std::uint32_t rows = 0;
    };
    std::vector<Slot> slots_;  ///< a power of two, at least twice the keys
    std::uint32_t turn_ = 0;
};

}  // namespace millrace::segment

#pragma once
// The figure that shows that two streams are the same, rows and order (SEMANTICS 4).
//
// order_hash = sum over micro-batches, mod 2^128, of XXH3-128(epoch u32, number u64, then file u32
// and row u64 of each row; little-endian). It adds up over ranks and resumes.
#include <cstdint>
#include <span>
#include <string>

#include "backend/core/hash.h"
#include "backend/core/status.h"

namespace millrace::stream {

/// The share of one micro-batch. `files` and `rows` have equal length.
Sum128 batchHash(std::uint32_t epoch, std::uint64_t number, std::span<const std::uint32_t> files,
                 std::span<const std::uint64_t> rows);

class OrderHash {
 public:
    OrderHash() = default;
    explicit OrderHash(Sum128 sum) : sum_(sum) {}
    void add(std::uint32_t epoch, std::uint64_t number, std::span<const std::uint32_t> files,
             std::span<const std::uint64_t> rows) {
        sum_ += batchHash(epoch, number, files, rows);
    }
    void add(const OrderHash& other) { sum_ += other.sum_; }
    const Sum128& sum() const { return sum_; }
    std::string hex() const { return sum_.hex(); }
    /// 32 lower-case hex digits; kInvalidArgument otherwise.
    static Result<OrderHash> fromHex(std::string_view hex);
    bool operator==(const OrderHash&) const = default;

 private:
    Sum128 sum_;
};

}  // namespace millrace::stream

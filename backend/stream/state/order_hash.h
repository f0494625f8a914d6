#pragma once
// The figure that shows that two streams are the same, rows and order (SEMANTICS 4).
//
// order_hash = sum over micro-batches, mod 2^128, of XXH3-128(epoch u32, number u64, then file u32
// and row u64 of each row; little-endian). It adds up over ranks and resumes. A mistake here would
// be the same on both sides of the ring, so tests hold it against the bytes written out by hand.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backend/core/hash.h"

namespace millrace::stream {

/// The share of one micro-batch. `files` and `rows` have equal length; rows are read once, front to
/// back, so they may lie in memory that another process wrote.
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
    /// 32 lower-case hex digits; nothing otherwise.
    static std::optional<OrderHash> fromHex(std::string_view hex);
    bool operator==(const OrderHash&) const = default;

 private:
    Sum128 sum_;
};

}  // namespace millrace::stream

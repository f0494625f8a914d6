#pragma once
// A hash that shows whether two streams are equal, in rows and order (docs/formats/cursor.md).
//
// order_hash, versions 2 and 3 = sum over micro-batches, mod 2^128, of XXH3-128(epoch u32, number
// u64, hash of the row ids), where the latter = XXH3-128(file u32 and row u64 of each row). All is
// little-endian, the low word of a hash first. The hash adds up over ranks and resumes, and 16
// bytes per micro-batch suffice to add one that is never seen. A mistake here would be the same on
// both sides of the ring, so tests compare it with bytes that are written out by hand. Threads:
// values.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backend/core/hash.h"

namespace millrace::stream {

/// The version written today. Hashes of different versions cannot be compared. Version 3: as 2, but
/// the hash of a run's evaluation is a RowsHash (backend/core/row_hash.h).
inline constexpr int kOrderHashVersion = 3;

/// The hash of a micro-batch's rows, wherever it is in the sequence. `files` and `rows` have equal
/// length. Rows are read once, front to back, so they may be in memory that another process writes.
Sum128 rowIdsHash(std::span<const std::uint32_t> files, std::span<const std::uint64_t> rows);
/// The share of the micro-batch with these rows in the order hash.
Sum128 batchHash(std::uint32_t epoch, std::uint64_t number, const Sum128& rowIds);

class OrderHash {
 public:
    OrderHash() = default;
    explicit OrderHash(Sum128 sum) : sum_(sum) {}
    void add(std::uint32_t epoch, std::uint64_t number, std::span<const std::uint32_t> files,
             std::span<const std::uint64_t> rows) {
        sum_ += batchHash(epoch, number, rowIdsHash(files, rows));
    }
    void add(const OrderHash& other) { sum_ += other.sum_; }
    const Sum128& sum() const { return sum_; }
    std::string hex() const { return sum_.hex(); }
    /// Requires 32 lower-case hex digits; returns nothing otherwise.
    static std::optional<OrderHash> fromHex(std::string_view hex);
    bool operator==(const OrderHash&) const = default;

 private:
    Sum128 sum_;
};

}  // namespace millrace::stream

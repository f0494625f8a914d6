#pragma once
// The figure that shows that two streams are the same, rows and order (docs/formats/cursor.md).
//
// order_hash, versions 2 and 3 = sum over micro-batches, mod 2^128, of XXH3-128(epoch u32, number
// u64, hash of the row ids), that one = XXH3-128(file u32 and row u64 of each row); little-endian,
// the low word of a hash first. It adds up over ranks and resumes, and 16 bytes a micro-batch are
// enough to add what one never sees. A mistake here would be the same on both sides of the ring, so
// tests hold it against the bytes written out by hand. Threads: values.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backend/core/hash.h"

namespace millrace::stream {

/// Of what is written today. Hashes of two versions are neither equal nor different. Version 3: as
/// 2, and what runs say beside it of their evaluation is a RowsHash (backend/core/row_hash.h).
inline constexpr int kOrderHashVersion = 3;

/// Of a micro-batch's rows, wherever it stands. `files` and `rows` have equal length; rows are read
/// once, front to back, so they may lie in memory that another process wrote.
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
    /// 32 lower-case hex digits; nothing otherwise.
    static std::optional<OrderHash> fromHex(std::string_view hex);
    bool operator==(const OrderHash&) const = default;

 private:
    Sum128 sum_;
};

}  // namespace millrace::stream

#pragma once
// Hashes of a row and of an unordered set of rows, for evaluations (docs/formats/evaluation.md).
// Python computes the same over whole columns, so this uses only 64-bit sums, products and shifts.
// Threads: values.
#include <cstdint>

#include "backend/core/hash.h"

namespace millrace {

/// The last step of SplitMix64: a bijection; every bit of the result depends on every bit of `x`.
constexpr std::uint64_t mixed64(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

/// Key of a row by its number in a file of the plan. Rows of one file have distinct keys.
constexpr std::uint64_t rowKey(std::uint32_t file, std::uint64_t row) {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;
    return mixed64(mixed64(row + kGolden) + kGolden * file);
}

/// Hash of a multiset of rows: the sum mod 2^128 of two words per row. Independent of order,
/// micro-batches and ranks; sums of parts add up.
class RowsHash {
 public:
    void add(std::uint32_t file, std::uint64_t row) {
        constexpr std::uint64_t kOther = 0xd6e8feb86659fd93U;
        const std::uint64_t key = rowKey(file, row);
        sum_ += Sum128{key, mixed64(key ^ kOther)};
    }
    std::string hex() const { return sum_.hex(); }  ///< 32 lower-case hex digits

 private:
    Sum128 sum_;
};

}  // namespace millrace

#pragma once
// A number for a row, and one for a set of rows whatever their order: of evaluations
// (docs/formats/evaluation.md). Python computes the same over whole columns, so there is nothing
// here but 64-bit sums, products and shifts. Threads: values.
#include <cstdint>

#include "backend/core/hash.h"

namespace millrace {

/// The last step of SplitMix64: one to one, every bit of the result hangs on every bit of `x`.
constexpr std::uint64_t mixed64(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

/// Of the row with this number in this file of the plan. Rows of one file never share one.
constexpr std::uint64_t rowKey(std::uint32_t file, std::uint64_t row) {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;
    return mixed64(mixed64(row + kGolden) + kGolden * file);
}

/// Which rows there were, and how often each: the sum mod 2^128 of two words a row. Equal for any
/// order, micro-batches and ranks; sums of parts add up.
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

#pragma once
// Validity of a page's values as bits in words of 64, and the spreading of dense values to their
// rows. Private to pages. Threads: pure.
#include <algorithm>
#include <bit>
#include <cstdint>

#include <arrow/util/bitmap_ops.h>

#include "backend/arrays/pool_vector.h"

namespace millrace::pages {

/// Number of values of four or eight bytes that must be readable after the last one.
inline constexpr std::size_t kSpreadAhead = 8;

/// Spreads dense values to their rows, eight or four at a time, for whole words of `valid` only.
/// Returns the number of rows filled and advances `dense`. The machine must have AVX2.
std::int64_t spreadWide(const std::uint64_t* valid, std::int64_t count, const std::uint32_t*& dense,
                        std::uint32_t none, std::uint32_t* out);
std::int64_t spreadWide(const std::uint64_t* valid, std::int64_t count, const std::uint64_t*& dense,
                        std::uint64_t none, std::uint64_t* out);
/// Whether the machine has AVX2.
bool canSpreadWide();

/// Spreads dense values to their rows; rows without a value get `none`. Reads up to kSpreadAhead
/// values past the last one used. `isWide`: uses spreadWide(), with the same result.
template <class T>
void spread(const arrays::PoolVector<std::uint64_t>& valid, std::int64_t count, const T* dense,
            T none, T* out, bool isWide = canSpreadWide()) {
    std::int64_t i = isWide ? spreadWide(valid.data(), count, dense, none, out) : 0;
    for (; i < count; i += 64) {
        const std::uint64_t word = valid[static_cast<std::size_t>(i >> 6)];
        const std::int64_t n = std::min<std::int64_t>(64, count - i);
        if (word == ~std::uint64_t{0} && n == 64) {
            std::copy_n(dense, 64, out + i);
            dense += 64;
            continue;
        }
        for (std::int64_t k = 0; k < n; ++k) {
            const std::uint64_t isValid = (word >> k) & 1;
            out[i + k] = isValid != 0 ? *dense : none;
            dense += isValid;
        }
    }
}

/// Copies the first `count` bits to the bits from `first` on.
inline void copyBits(const arrays::PoolVector<std::uint64_t>& from, std::int64_t count,
                     std::int64_t first, std::uint8_t* to) {
    arrow::internal::CopyBitmap(reinterpret_cast<const std::uint8_t*>(from.data()), 0, count, to,
                                first);
}

/// Counts set bits before bit `at`; `at` must not decrease between calls.
class Rank {
 public:
    explicit Rank(const arrays::PoolVector<std::uint64_t>& bits) : bits_(bits) {}
    std::int64_t before(std::int64_t at) {
        for (; word_ < at / 64; ++word_) {
            ones_ += std::popcount(bits_[static_cast<std::size_t>(word_)]);
        }
        const std::uint64_t mask = (std::uint64_t{1} << (at & 63)) - 1;
        return ones_ + std::popcount(bits_[static_cast<std::size_t>(word_)] & mask);
    }

 private:
    const arrays::PoolVector<std::uint64_t>& bits_;
    std::int64_t word_ = 0, ones_ = 0;
};

inline bool isSet(const arrays::PoolVector<std::uint64_t>& bits, std::int64_t at) {
    return ((bits[static_cast<std::size_t>(at >> 6)] >> (at & 63)) & 1) != 0;
}

}  // namespace millrace::pages

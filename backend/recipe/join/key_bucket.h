#pragma once
// A cache line of keys with their rows: five 64-bit keys, or four of up to twelve bytes. Private to
// recipe.
//
// Threads: one that adds, or any that search.
#include <array>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "backend/recipe/row_keys.h"

namespace millrace::recipe {

/// A key of up to twelve bytes.
struct ShortKey {
    std::uint64_t head = 0;
    std::uint32_t tail = 0;
};

inline constexpr std::size_t kKeyBlock = 64;  ///< keys that are looked up together

/// Keys of up to kKeyBlock rows.
template <class Key = std::uint64_t>
struct KeyBlock {
    std::array<Key, kKeyBlock> keys;
    std::array<bool, kKeyBlock> isKey;  ///< false if a part of the key is null
};

inline std::uint64_t spread(std::uint64_t key) {
    return mixed(key);
}
inline std::uint64_t spread(const ShortKey& key) {
    return mixed(key.head ^ key.tail * 0x9E3779B97F4A7C15);
}

/// A bucket for integers or hashes. Empty if all bytes are zero.
template <class Key>
struct alignas(64) KeyBucket {
    static constexpr std::size_t kKeys = 5;
    std::array<std::uint64_t, kKeys> keys;
    std::array<std::uint32_t, kKeys> rows;
    std::uint32_t count;

    bool isFull() const { return count == kKeys; }
    std::size_t size() const { return count; }
    std::uint32_t row(std::size_t place) const { return rows[place]; }
    /// Bit mask of the slots with the key.
    unsigned places(std::uint64_t key) const {
        unsigned equal = 0;
#pragma GCC unroll 5
        for (unsigned i = 0; i < kKeys; ++i) {
            equal |= static_cast<unsigned>(keys[i] == key) << i;
        }
        return equal & ((1U << count) - 1);
    }
    void add(std::uint64_t key, std::uint32_t newRow) {
        keys[count] = key;
        rows[count++] = newRow;
    }
};

template <>
struct alignas(64) KeyBucket<ShortKey> {
    static constexpr std::size_t kKeys = 4;
    std::array<std::uint64_t, kKeys> heads;
    std::array<std::uint32_t, kKeys> tails;
    std::array<std::uint32_t, kKeys> ends;  ///< row + 1; 0: free

    bool isFull() const { return ends[kKeys - 1] != 0; }
    std::size_t size() const {
        std::size_t taken = 0;  // branchless, as the outcome is random
        for (const std::uint32_t end : ends) {
            taken += end != 0 ? 1 : 0;
        }
        return taken;
    }
    std::uint32_t row(std::size_t place) const { return ends[place] - 1; }
    unsigned places(const ShortKey& key) const {
#ifdef __SSE2__
        // Few instructions, so that the processor looks far enough ahead to wait for several
        // buckets at once: 13 ns per bucket outside the cache, 29 ns with the loop below.
        const auto* lines = reinterpret_cast<const __m128i*>(this);
        const __m128i head = _mm_set1_epi64x(static_cast<long long>(key.head));
        const __m128 first = _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_load_si128(lines), head));
        const __m128 second = _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_load_si128(lines + 1), head));
        const __m128i tail =
            _mm_cmpeq_epi32(_mm_load_si128(lines + 2), _mm_set1_epi32(static_cast<int>(key.tail)));
        const __m128i empty = _mm_cmpeq_epi32(_mm_load_si128(lines + 3), _mm_setzero_si128());
        const __m128 heads =  // the lower halves of the four, and the upper
            _mm_and_ps(_mm_shuffle_ps(first, second, 0x88), _mm_shuffle_ps(first, second, 0xDD));
        return static_cast<unsigned>(
            _mm_movemask_ps(_mm_and_ps(heads, _mm_castsi128_ps(_mm_andnot_si128(empty, tail)))));
#else
        unsigned equal = 0;
        for (unsigned i = 0; i < kKeys; ++i) {
            equal |=
                (static_cast<unsigned>(heads[i] == key.head) &
                 static_cast<unsigned>(tails[i] == key.tail) & static_cast<unsigned>(ends[i] != 0))
                << i;
        }
        return equal;
#endif
    }
    void add(const ShortKey& key, std::uint32_t newRow) {
        const std::size_t place = size();
        heads[place] = key.head;
        tails[place] = key.tail;
        ends[place] = newRow + 1;
    }
};

}  // namespace millrace::recipe

#pragma once
// A cache line of keys with their rows: five 64-bit keys, or four of up to twelve bytes. Private to
// the room.
//
// Threads: one that adds, or any that look.
#include <algorithm>
#include <array>
#include <cstdint>

#include "backend/recipe/row_keys.h"

namespace millrace::recipe {

/// Up to twelve bytes.
struct ShortKey {
    std::uint64_t head = 0;
    std::uint32_t tail = 0;
};

inline std::uint64_t spread(std::uint64_t key) {
    return mixed(key);
}
inline std::uint64_t spread(const ShortKey& key) {
    return mixed(key.head ^ key.tail * 0x9E3779B97F4A7C15);
}

/// Of integers or hashes. All zero: empty.
template <class Key>
struct alignas(64) KeyBucket {
    static constexpr std::size_t kKeys = 5;
    std::array<std::uint64_t, kKeys> keys;
    std::array<std::uint32_t, kKeys> rows;
    std::uint32_t count;

    bool isFull() const { return count == kKeys; }
    std::size_t size() const { return count; }
    std::uint32_t row(std::size_t place) const { return rows[place]; }
    /// The places that have the key, as bits.
    unsigned places(std::uint64_t key) const {
        unsigned equal = 0;
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
    std::array<std::uint32_t, kKeys> ends;  ///< row + 1; 0: nothing there

    bool isFull() const { return ends[kKeys - 1] != 0; }
    std::size_t size() const {
        return static_cast<std::size_t>(std::find(ends.begin(), ends.end(), 0U) - ends.begin());
    }
    std::uint32_t row(std::size_t place) const { return ends[place] - 1; }
    unsigned places(const ShortKey& key) const {
        unsigned equal = 0;
        for (unsigned i = 0; i < kKeys; ++i) {
            equal |=
                (static_cast<unsigned>(heads[i] == key.head) &
                 static_cast<unsigned>(tails[i] == key.tail) & static_cast<unsigned>(ends[i] != 0))
                << i;
        }
        return equal;
    }
    void add(const ShortKey& key, std::uint32_t newRow) {
        const std::size_t place = size();
        heads[place] = key.head;
        tails[place] = key.tail;
        ends[place] = newRow + 1;
    }
};

}  // namespace millrace::recipe

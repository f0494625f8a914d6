#pragma once
// Short texts as numbers, so that most comparisons need a word and no call. Private to table.
//
// Threads: pure.
#include <cstdint>
#include <cstring>
#include <string_view>

#include "backend/text/first_bytes.h"

namespace millrace::table {

/// The bytes at `at`, in memory order.
template <class Word>
Word wordAt(const void* at) {
    Word word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
}

/// The first eight bytes of a text, the first byte highest; zeros after its end.
inline std::uint64_t firstWord(std::string_view text) {
    return __builtin_bswap64(firstBytes(text));
}

/// memcpy, but without a call for short texts.
inline void copyText(std::uint8_t* to, std::string_view text) {
    const char* const from = text.data();
    const std::size_t size = text.size();
    if (size > 16) {
        std::memcpy(to, from, size);
    } else if (size >= 8) {
        std::memcpy(to, from, 8);
        std::memcpy(to + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
        std::memcpy(to, from, 4);
        std::memcpy(to + size - 4, from + size - 4, 4);
    } else {
        for (std::size_t i = 0; i < size; ++i) {
            to[i] = static_cast<std::uint8_t>(from[i]);
        }
    }
}

/// For in-memory tables only.
inline std::uint64_t hashOf(std::string_view text) {
    constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15U;
    std::uint64_t hash = text.size() * kFactor;
    while (text.size() > 8) {
        hash = (hash ^ wordAt<std::uint64_t>(text.data())) * kFactor;
        hash ^= hash >> 32;
        text.remove_prefix(8);
    }
    hash = (hash ^ firstWord(text)) * kFactor;
    return hash ^ hash >> 32;
}

}  // namespace millrace::table

#pragma once
// The first eight bytes of a text as a word: decides most comparisons of short texts without a
// call. Reads no byte outside the text.
//
// Threads: pure. Failure: none.
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace millrace {

/// The first byte is the lowest; zeros follow the end of a shorter text.
inline std::uint64_t firstBytes(std::string_view text) {
    static_assert(std::endian::native == std::endian::little);
    const char* const at = text.data();
    const std::size_t size = text.size();
    std::uint64_t word = 0;
    if (size >= sizeof word) {
        std::memcpy(&word, at, sizeof word);
        return word;
    }
    std::uint32_t low = 0, high = 0;
    if (size >= sizeof low) {  // the two halves overlap
        std::memcpy(&low, at, sizeof low);
        std::memcpy(&high, at + size - sizeof high, sizeof high);
        return low | std::uint64_t{high} << (8 * (size - sizeof high));
    }
    for (std::size_t i = 0; i < size; ++i) {
        word |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
    }
    return word;
}

}  // namespace millrace

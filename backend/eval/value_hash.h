#pragma once
// XXH3-64 of one value's canonical bytes (backend/core/philox.h) without writing them to memory: an
// integer is tag 1 and eight bytes; a text is tag 3, its length in eight bytes, and itself.
//
// Implements the specification (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md,
// XXH3: inputs of 9 to 16 and of 17 to 128 bytes); longer texts use the library. Tests compare
// both. Threads: a value; for texts one thread. Failure: none.
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "backend/text/first_bytes.h"

namespace millrace::eval {

static_assert(std::endian::native == std::endian::little);

class ValueHash {
 public:
    explicit ValueHash(std::uint64_t seed)
        : seed_(seed),
          flipLow_((kSecret[3] ^ kSecret[4]) + seed),
          flipHigh_((kSecret[5] ^ kSecret[6]) - seed) {
        for (std::size_t i = 0; i < secret_.size(); ++i) {
            secret_[i] = kSecret[i] + (i % 2 == 0 ? seed : std::uint64_t{0} - seed);
        }
    }

    /// `tag`: below 256.
    std::uint64_t word(std::uint64_t tag, std::uint64_t value) const {
        return shortHash(kBefore, tag | value << 8, value);
    }
    std::uint64_t integer(std::uint64_t value) const { return word(1, value); }
    /// `left`: number of readable bytes from `text` on, at least `length`.
    std::uint64_t text(const std::uint8_t* text, std::uint64_t length, std::uint64_t left) {
        if (length < 8) {
            return shortText(
                length,
                left >= 8 ? load(text) : firstBytes({reinterpret_cast<const char*>(text), length}));
        }
        return length <= kLongest ? midText(text, length) : longText(text, length);
    }

    static constexpr std::uint64_t kBefore = 9;  ///< bytes before a text
    static constexpr std::uint64_t kLongest = 128 - kBefore;

 private:
    // The first 128 bytes of the specification's secret.
    static constexpr std::array<std::uint64_t, 16> kSecret = {
        0xbe4ba423396cfeb8, 0x1cad21f72c81017c, 0xdb979083e96dd4de, 0x1f67b3b7a4a44072,
        0x78e5c0cc4ee679cb, 0x2172ffcc7dd05a82, 0x8e2443f7744608b8, 0x4c263a81e69035e0,
        0xcb00c391bb52283c, 0xa32e531b8b65d088, 0x4ef90da297486471, 0xd8acdea946ef1938,
        0x3f349ce33f76faa8, 0x1d4f0bc7c7bbdcf9, 0x3159b4cd4be0518a, 0x647378d9c97e9fc8};
    static constexpr std::uint64_t kPrime = 0x9e3779b185ebca87;

    static std::uint64_t load(const std::uint8_t* at) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, 8);
        return word;
    }
    static std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
        const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }
    static std::uint64_t avalanche(std::uint64_t h) {
        h ^= h >> 37;
        h *= 0x165667919e3779f9;
        return h ^ h >> 32;
    }

    /// For 9 to 16 bytes: their first eight, and their last eight.
    std::uint64_t shortHash(std::uint64_t size, std::uint64_t first, std::uint64_t last) const {
        const std::uint64_t low = first ^ flipLow_, high = last ^ flipHigh_;
        return avalanche(size + __builtin_bswap64(low) + high + fold(low, high));
    }
    /// `word` begins with the text; its other bytes may be anything.
    std::uint64_t shortText(std::uint64_t length, std::uint64_t word) const {
        const std::uint64_t last = length == 0 ? 0 : word << (64 - 8 * length);
        return shortHash(kBefore + length, 3 | length << 8, last);
    }

    /// Mixes sixteen bytes, with the secret from word `at` on.
    std::uint64_t mix(std::uint64_t low, std::uint64_t high, std::size_t at) const {
        return fold(low ^ secret_[at], high ^ secret_[at + 1]);
    }
    std::uint64_t mix(const std::uint8_t* from, std::size_t at) const {
        return mix(load(from), load(from + 8), at);
    }
    /// For 8 to kLongest bytes.
    std::uint64_t midText(const std::uint8_t* text, std::uint64_t length) const {
        const std::uint64_t size = kBefore + length, begin = load(text);
        std::uint64_t sum = size * kPrime + mix(3 | length << 8, begin << 8, 0);
        sum += mixAt(size - 16, text, length, 2);
        if (size > 32) {
            sum += mix(text + 16 - kBefore, 4) + mixAt(size - 32, text, length, 6);
            if (size > 64) {
                sum += mix(text + 32 - kBefore, 8) + mix(text + length - 48, 10);
                if (size > 96) {
                    sum += mix(text + 48 - kBefore, 12) + mix(text + length - 64, 14);
                }
            }
        }
        return avalanche(sum);
    }
    /// Mixes the sixteen bytes at `place` of the whole hashed input. They may begin in the length,
    /// of which only the first byte is not 0.
    std::uint64_t mixAt(std::uint64_t place, const std::uint8_t* text, std::uint64_t length,
                        std::size_t at) const {
        if (place >= kBefore) {
            return mix(text + place - kBefore, at);
        }
        const std::uint64_t low = place == 1 ? length : load(text) << 8 * (kBefore - place);
        return mix(low, load(text + place - 1), at);
    }
    std::uint64_t longText(const std::uint8_t* text, std::uint64_t length);

    std::uint64_t seed_, flipLow_, flipHigh_;
    std::array<std::uint64_t, 16> secret_;
    std::vector<unsigned char> bytes_;  ///< of a long text; reused
};

}  // namespace millrace::eval

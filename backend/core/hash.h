#pragma once
// Content hashes as hex text (XXH3-128), for receipts, spec hashes and identities.
//
// Sum128 and hex64 are header-only, so that the C library can use them without linking core.
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

/// XXH3-128 as 32 lower-case hex digits, high word first.
std::string hashHex(std::string_view bytes);

/// 16 lower-case hex digits.
inline std::string hex64(std::uint64_t value) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text(16, '0');
    for (std::size_t i = 16; i-- > 0; value >>= 4) {
        text[i] = kDigits[value & 15];
    }
    return text;
}

/// An unsigned 128-bit sum mod 2^128, used by order hashes.
struct Sum128 {
    std::uint64_t low = 0, high = 0;
    Sum128& operator+=(const Sum128& other) {
        low += other.low;
        high += other.high + (low < other.low ? 1 : 0);
        return *this;
    }
    bool operator==(const Sum128&) const = default;
    std::string hex() const { return hex64(high) + hex64(low); }  ///< 32 lower-case hex digits
    static Sum128 ofBytes(std::string_view bytes);                ///< XXH3-128
};

}  // namespace millrace

#pragma once
// Content hashes as hex text (XXH3-128), for receipts, spec hashes and identities.
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

/// XXH3-128 as 32 lower-case hex digits, high word first.
std::string hashHex(std::string_view bytes);

/// An unsigned 128-bit sum mod 2^128: what order hashes add up in.
struct Sum128 {
    std::uint64_t low = 0, high = 0;
    Sum128& operator+=(const Sum128& other) {
        low += other.low;
        high += other.high + (low < other.low ? 1 : 0);
        return *this;
    }
    bool operator==(const Sum128&) const = default;
    std::string hex() const;                        ///< 32 lower-case hex digits
    static Sum128 ofBytes(std::string_view bytes);  ///< XXH3-128
};

std::string hex64(std::uint64_t value);  ///< 16 lower-case hex digits

}  // namespace millrace

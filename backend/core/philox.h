#pragma once
// Counter-based random draws, and the canonical bytes for them and for hash01.
//
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (Philox4x32-10), by
// Random123.
#include <cstdint>
#include <string_view>
#include <vector>

namespace millrace {

/// Philox4x32-10: key = seed, counter = (low, high); the first 64 output bits.
std::uint64_t philox64(std::uint64_t seed, std::uint64_t low, std::uint64_t high);

/// Maps 64 bits to [0, 1): (bits >> 11) * 2^-53.
inline double unitInterval(std::uint64_t bits) {
    return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

/// Collects values as canonical bytes: a tag byte and a fixed form per type, so that equal values
/// have equal bytes whatever type they came in. tag 0 null; 1 integer (int64, 8 bytes
/// little-endian); 2 float (double, -0 = 0, one NaN, 8 bytes); 3 string (length u64, bytes); 4 bool
/// (1 byte).
class CanonicalBytes {
 public:
    CanonicalBytes& null();
    CanonicalBytes& integer(std::int64_t value);
    CanonicalBytes& real(double value);
    CanonicalBytes& text(std::string_view value);
    CanonicalBytes& boolean(bool value);
    void clear() { bytes_.clear(); }
    const std::vector<unsigned char>& bytes() const { return bytes_; }
    /// XXH3-64 of the bytes.
    std::uint64_t hash() const;
    /// XXH3-64 of the bytes with a seed.
    std::uint64_t hash(std::uint64_t seed) const;

 private:
    void word(unsigned char tag, std::uint64_t value);
    std::vector<unsigned char> bytes_;
};

/// hash01 of one canonical value list.
inline double hash01(const CanonicalBytes& bytes) {
    return unitInterval(bytes.hash());
}

/// The purpose of a draw: part of the counter, so that draws for different purposes never collide.
enum class DrawPurpose { kDraw, kRow, kSplit };

/// The first half of a Philox counter: XXH3-64 of (purpose, salt, epoch or null, relative path or
/// the `by` values). Computed once per file (or once per row with `by`).
class DrawKey {
 public:
    DrawKey(DrawPurpose purpose, std::string_view salt);
    DrawKey& epoch(std::uint32_t epoch);
    DrawKey& noEpoch();
    CanonicalBytes& rest() { return bytes_; }  ///< append the path, or the `by` values
    std::uint64_t counter() const { return bytes_.hash(); }

 private:
    CanonicalBytes bytes_;
};

}  // namespace millrace

#include "backend/core/philox.h"

#include <cmath>
#include <cstring>

#include <Random123/philox.h>
#include <xxhash.h>

namespace millrace {

std::uint64_t philox64(std::uint64_t seed, std::uint64_t low, std::uint64_t high) {
    const auto lo = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
    const auto hi = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
    const r123::Philox4x32::ctr_type counter = {{lo(low), hi(low), lo(high), hi(high)}};
    const r123::Philox4x32::key_type key = {{lo(seed), hi(seed)}};
    const auto out = r123::Philox4x32()(counter, key);
    return static_cast<std::uint64_t>(out[0]) | static_cast<std::uint64_t>(out[1]) << 32;
}

void CanonicalBytes::word(unsigned char tag, std::uint64_t value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + 9);
    bytes_[at] = tag;
    std::memcpy(bytes_.data() + at + 1, &value, 8);
}

CanonicalBytes& CanonicalBytes::null() {
    bytes_.push_back(0);
    return *this;
}

CanonicalBytes& CanonicalBytes::integer(std::int64_t value) {
    word(1, static_cast<std::uint64_t>(value));
    return *this;
}

CanonicalBytes& CanonicalBytes::real(double value) {
    std::uint64_t bits = 0;
    if (std::isnan(value)) {
        bits = 0x7ff8000000000000ULL;
    } else if (value != 0) {
        std::memcpy(&bits, &value, 8);
    }
    word(2, bits);
    return *this;
}

CanonicalBytes& CanonicalBytes::text(std::string_view value) {
    word(3, value.size());
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
}

CanonicalBytes& CanonicalBytes::boolean(bool value) {
    bytes_.push_back(4);
    bytes_.push_back(value ? 1 : 0);
    return *this;
}

std::uint64_t CanonicalBytes::hash() const {
    return XXH3_64bits(bytes_.data(), bytes_.size());
}

std::uint64_t CanonicalBytes::hash(std::uint64_t seed) const {
    return XXH3_64bits_withSeed(bytes_.data(), bytes_.size(), seed);
}

namespace {
const char* purposeName(DrawPurpose purpose) {
    switch (purpose) {
        case DrawPurpose::kDraw:
            return "draw";
        case DrawPurpose::kRow:
            return "row";
        case DrawPurpose::kSplit:
            return "split";
    }
    return "";
}
}  // namespace

DrawKey::DrawKey(DrawPurpose purpose, std::string_view salt) {
    bytes_.text(purposeName(purpose)).text(salt);
}

DrawKey& DrawKey::epoch(std::uint32_t epoch) {
    bytes_.integer(epoch);
    return *this;
}

DrawKey& DrawKey::noEpoch() {
    bytes_.null();
    return *this;
}

}  // namespace millrace

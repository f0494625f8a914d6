#include "backend/core/hash.h"

#include <cstdio>

#include <xxhash.h>

namespace millrace {

std::string hex64(std::uint64_t value) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
    return text;
}

Sum128 Sum128::ofBytes(std::string_view bytes) {
    const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
    return Sum128{h.low64, h.high64};
}

std::string Sum128::hex() const {
    return hex64(high) + hex64(low);
}

std::string hashHex(std::string_view bytes) {
    return Sum128::ofBytes(bytes).hex();
}

}  // namespace millrace

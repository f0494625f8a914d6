#include "backend/core/hash.h"

#include <xxhash.h>

namespace millrace {

Sum128 Sum128::ofBytes(std::string_view bytes) {
    const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
    return Sum128{h.low64, h.high64};
}

std::string hashHex(std::string_view bytes) {
    return Sum128::ofBytes(bytes).hex();
}

}  // namespace millrace

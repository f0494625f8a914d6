#include "backend/stream/state/order_hash.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace millrace::stream {

Sum128 rowIdsHash(std::span<const std::uint32_t> files, std::span<const std::uint64_t> rows) {
    if (files.size() != rows.size()) {
        std::abort();  // a row id is a file and a row
    }
    // The ids are two columns and are hashed as pairs, packed 512 at a time. So the block (6 KiB)
    // stays in the first-level cache, and each update is large enough to be worth its set-up.
    // Packed, not a struct: a struct of u32 and u64 would put 4 bytes of padding into the hash.
    constexpr std::size_t kRowBytes = 12, kBlockRows = 512;
    std::array<unsigned char, kRowBytes * kBlockRows> block;
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    for (std::size_t from = 0; from < rows.size(); from += kBlockRows) {
        const std::size_t count = std::min(kBlockRows, rows.size() - from);
        for (std::size_t i = 0; i < count; ++i) {
            std::memcpy(block.data() + i * kRowBytes, &files[from + i], 4);
            std::memcpy(block.data() + i * kRowBytes + 4, &rows[from + i], 8);
        }
        XXH3_128bits_update(&state, block.data(), count * kRowBytes);
    }
    const XXH128_hash_t h = XXH3_128bits_digest(&state);
    return Sum128{h.low64, h.high64};
}

Sum128 batchHash(std::uint32_t epoch, std::uint64_t number, const Sum128& rowIds) {
    std::array<unsigned char, 28> bytes;
    std::memcpy(bytes.data(), &epoch, 4);
    std::memcpy(bytes.data() + 4, &number, 8);
    std::memcpy(bytes.data() + 12, &rowIds.low, 8);
    std::memcpy(bytes.data() + 20, &rowIds.high, 8);
    const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
    return Sum128{h.low64, h.high64};
}

std::optional<OrderHash> OrderHash::fromHex(std::string_view hex) {
    if (hex.size() != 32) {
        return std::nullopt;
    }
    std::uint64_t words[2] = {0, 0};
    for (std::size_t i = 0; i < 32; ++i) {
        const char c = hex[i];
        const bool letter = c >= 'a' && c <= 'f';
        if (!letter && (c < '0' || c > '9')) {
            return std::nullopt;
        }
        words[i / 16] =
            words[i / 16] << 4 | static_cast<std::uint64_t>(letter ? c - 'a' + 10 : c - '0');
    }
    return OrderHash(Sum128{words[1], words[0]});
}

}  // namespace millrace::stream

#include "backend/feed/link/checkpoint_format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace millrace::ring {

struct CheckpointHash::State {
    XXH3_state_t xxh;
};

CheckpointHash::CheckpointHash() : state_(std::make_unique<State>()) {
    XXH3_128bits_reset(&state_->xxh);
}

CheckpointHash::~CheckpointHash() = default;

void CheckpointHash::add(const void* data, std::size_t bytes) {
    XXH3_128bits_update(&state_->xxh, data, bytes);
}

std::string CheckpointHash::hex() const {
    const XXH128_hash_t sum = XXH3_128bits_digest(&state_->xxh);
    std::string hex(kChecksumDigits, '0');
    for (std::size_t i = 0; i < hex.size(); ++i) {
        const std::uint64_t word = i < 16 ? sum.high64 : sum.low64;
        hex[i] = "0123456789abcdef"[word >> (60 - 4 * (i % 16)) & 15];
    }
    return hex;
}

std::string headerChecksum(std::string_view header) {
    const std::uint64_t length = header.size();
    const std::string_view rest = header.substr(kCheckpointBeginning.size() + kChecksumDigits);
    CheckpointHash hash;
    hash.add(&length, sizeof length);
    hash.add(header.data(), kCheckpointBeginning.size());
    hash.add(std::string(kChecksumDigits, '0').data(), kChecksumDigits);
    hash.add(rest.data(), rest.size());
    return hash.hex();
}

}  // namespace millrace::ring

#include "backend/feed/mapped_rings.h"

#include <algorithm>

namespace millrace::ring {

void MappedRings::call(const Ring& ring, bool isMapped) {
    if (callback_ != nullptr) {
        callback_(context_, ring.address, ring.bytes, isMapped ? 1 : 0);
    }
}

void MappedRings::add(void* address, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    rings_.push_back({address, bytes});
    call({address, bytes}, true);
}

void MappedRings::remove(void* address) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::ranges::find_if(rings_, [&](const Ring& ring) { return ring.address == address; });
    if (found != rings_.end()) {
        const Ring ring = *found;
        rings_.erase(found);
        call(ring, false);
    }
}

void MappedRings::callAll(bool isMapped) {
    const std::vector<Ring> now = rings_;
    for (const Ring& ring : now) {
        // The callback may have released a later ring, which was then already reported.
        const bool isThere = std::ranges::any_of(
            rings_, [&](const Ring& other) { return other.address == ring.address; });
        if (isThere) {
            call(ring, isMapped);
        }
    }
}

void MappedRings::tell(millrace_ring_callback callback, void* context) {
    const std::lock_guard lock(mutex_);
    callAll(false);
    callback_ = callback;
    context_ = context;
    callAll(true);
}

}  // namespace millrace::ring

#pragma once
// The rings that a feed's reader has mapped, and the callback for them (millrace_feed_on_ring).
//
// Threads: any. The callback runs under the lock, in the caller's thread, and may call back into
// this object (a batch that it releases may be a ring's last). Owns: nothing. Rings keep it by
// shared_ptr, so that rings that outlive their feed still report that they are unmapped. No
// dependencies.
#include <cstdint>
#include <mutex>
#include <vector>

#include "backend/feed/feed_reader.h"

namespace millrace::ring {

class MappedRings {
 public:
    void add(void* address, std::uint64_t bytes);
    /// Call before it is unmapped.
    void remove(void* address);
    /// Reports all rings as unmapped to the previous callback and the mapped ones to the new one.
    void tell(millrace_ring_callback callback, void* context);

 private:
    struct Ring {
        void* address = nullptr;
        std::uint64_t bytes = 0;
    };
    void call(const Ring& ring, bool isMapped);
    void callAll(bool isMapped);

    std::recursive_mutex mutex_;
    std::vector<Ring> rings_;
    millrace_ring_callback callback_ = nullptr;
    void* context_ = nullptr;
};

}  // namespace millrace::ring

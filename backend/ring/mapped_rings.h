#pragma once
// Which rings a feed's reader has mapped, and who wants to know (millrace_feed_on_ring).
//
// Threads: any; the callback runs under the lock, in the caller's thread, and may come back here
// from within (a batch that it releases may be a ring's last). Owns: nothing; rings keep it by
// shared_ptr, so that those that outlive their feed still tell of their end. No dependencies.
#include <cstdint>
#include <mutex>
#include <vector>

#include "backend/ring/feed_reader.h"

namespace millrace::ring {

class MappedRings {
 public:
    void add(void* address, std::uint64_t bytes);
    /// Before it is unmapped.
    void remove(void* address);
    /// The one before is told that all are unmapped, this one of those that are mapped.
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

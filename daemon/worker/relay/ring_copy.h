#pragma once
// What comes of a ring of the leading feed, written into the ring of the rank that it is for.
//
// Threads: one owner. Owns: nothing; the ring outlives it. Failure: kDataLoss for what the leading
// feed does not send, also for a changed byte; what the ring says else (a reader that is gone, no
// memory for a frame).
#include <cstdint>
#include <optional>
#include <stop_token>

#include <grpcpp/grpcpp.h>

#include "backend/ring/ring_writer.h"
#include "millrace/v1/data.pb.h"

namespace millrace::relay {

class RingCopy {
 public:
    explicit RingCopy(ring::RingWriter& to) : to_(to) {}
    /// Blocks while the ring is full.
    Status take(const grpc::ByteBuffer& message, const std::stop_token& stop);
    /// Something was asked of the ring: the rank cannot begin with another one in its place.
    bool hasBegun() const { return hasBegun_; }
    /// The last entry is in the ring.
    bool hasEnd() const { return hasEnd_; }

 private:
    struct Open {
        ring::RingEntry entry{};
        ring::FrameSlot slot;
        std::uint64_t come = 0;
    };
    Status begin(const v1::RingEntry& entry, const std::stop_token& stop);

    ring::RingWriter& to_;
    std::optional<Open> open_;  ///< an entry whose payload has not come whole
    bool hasBegun_ = false, hasEnd_ = false;
};

}  // namespace millrace::relay

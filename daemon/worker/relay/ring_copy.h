#pragma once
// RingCopy: writes what arrives from a ring of the leading feed into the local ring of the same
// rank. Frames that come as references are left to a PartsFiller. Used by RelayRing.
//
// Threads: one owner. Owns: nothing; the ring outlives it. Failure: kDataLoss for input that the
// leading feed does not send, also for a changed byte; else the ring's errors (a reader that is
// gone, no memory for a frame).
#include <cstdint>
#include <optional>
#include <stop_token>

#include <grpcpp/grpcpp.h>

#include "backend/ring/ring_writer.h"
#include "daemon/worker/relay/parts_filler.h"
#include "millrace/v1/data.pb.h"

namespace millrace::relay {

class RingCopy {
 public:
    explicit RingCopy(ring::RingWriter& to) : to_(to) {}
    /// Blocks while the ring is full. `filler`: of this connection to the leading feed.
    Status take(const grpc::ByteBuffer& message, PartsFiller& filler, const std::stop_token& stop);
    /// Something was requested from the ring: the rank cannot start over with another one.
    bool hasBegun() const { return hasBegun_; }
    /// The last entry is in the ring.
    bool hasEnd() const { return hasEnd_; }

 private:
    struct Open {
        ring::RingEntry entry{};
        ring::FrameSlot slot;  ///< in the ring; of kParts: in `payload`
        frame::FrameBuffer payload;
        std::uint64_t come = 0;
    };
    Status begin(const v1::RingEntry& entry, const std::stop_token& stop);
    Status end(PartsFiller& filler, const std::stop_token& stop);

    ring::RingWriter& to_;
    std::optional<Open> open_;  ///< an entry with an incomplete payload
    bool hasBegun_ = false, hasEnd_ = false;
};

}  // namespace millrace::relay

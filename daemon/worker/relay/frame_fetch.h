#pragma once
// FrameFetch: one frame that was requested from a data worker. FrameSource: requests frames; in a
// relay it is the FrameFetcher. Used by PartsFiller.
//
// Threads: any. Failure: take() returns the reason.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "backend/core/status.h"
#include "backend/segment/sequence/remote_frames.h"
#include "backend/stream/frame_part.h"

namespace millrace::relay {

/// Destroying it drops the frame when it arrives.
class FrameFetch {
 public:
    virtual ~FrameFetch() = default;
    /// Nothing: it has not arrived.
    virtual std::optional<Result<segment::CodedFrame>> take() = 0;
    /// The number of the worker from which it comes.
    virtual std::uint64_t worker() const = 0;
};

class FrameSource {
 public:
    struct Handlers {
        std::function<void()> onDone;  ///< take() has something; once
        /// The worker is not connected; `connection` was its last one, 0: it had none. The frame
        /// comes once the worker has connected again, or another one has the frame.
        std::function<void(std::uint64_t worker, std::uint32_t connection)> onLost;
    };
    virtual ~FrameSource() = default;
    /// Requests the frame. Handlers are called on any thread, also from inside this call; the fetch
    /// must end before the source.
    virtual std::shared_ptr<FrameFetch> fetch(const stream::FramePart& part, Handlers handlers) = 0;
};

}  // namespace millrace::relay

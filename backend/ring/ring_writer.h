#pragma once
// The writing end of one rank's ring: reserve, fill in place, commit.
//
// Threads: as FrameSink; peerGone() from any thread. Owns: the memfds and their mappings. The
// writer switches to another ring if a frame does not fit or the reader holds the current ring's
// frames; an old ring is freed once its last frame is released. Failure: kUnavailable when the
// reader is gone, kFailedPrecondition when it holds everything for too long, kResourceExhausted
// when the memory budget refuses a larger ring, kDataLoss when the reader's control words are
// wrong.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "backend/core/memory_budget.h"
#include "backend/core/unique_fd.h"
#include "backend/feed/ring_layout.h"
#include "backend/ring/frame_sink.h"
#include "backend/stream/state/step_mark.h"

namespace millrace::ring {

struct RingWriterOptions {
    std::uint64_t ringBytes = std::uint64_t{8} << 20;  ///< bytes for frames at the start
    std::uint64_t maxRingBytes = std::uint64_t{16} << 30;
    MemoryBudget* budget = nullptr;  ///< both rings count while switching to a larger one
    /// Counts rings that are wider than they must be, so that they take nothing from what others
    /// must have; null: they count in `budget`.
    MemoryBudget* spare = nullptr;
    int numaNode = -1;  ///< node for the rings' memory; -1: any
    /// If the reader holds a full ring, the writer switches to another one while the budget and
    /// maxRingBytes (over all rings) allow it; otherwise it warns, and finally fails.
    std::chrono::milliseconds heldReplace{1'000};
    std::chrono::milliseconds heldWarning{10'000};
    std::chrono::milliseconds heldError{600'000};
    std::function<void(std::string_view)> warn;  ///< default: a log line
    std::function<void()> hangUp;                ///< ends the reader's connection
};

struct RingWriterStats {
    std::uint64_t releasedFrames = 0;  ///< released without a gap, from the first on
    std::uint64_t rings = 0;           ///< made so far
};

/// The micro-batches of one frame: first, first + stride, ... With one, it is an ordinary frame.
struct FrameNumbers {
    std::uint32_t epoch = 0;
    std::int64_t first = 0, stride = 1, count = 1;
};

/// A rank's ring: a sink with slots for the marks of steps, and for frames of several
/// micro-batches.
class StepSink : public FrameSink {
 public:
    /// Call before everything else. `frame`: one without rows, which has the columns of all.
    virtual Status columns(std::span<const std::byte> frame, std::stop_token stop) = 0;
    /// Call instead of commit(), with the frame's bytes: at most those that were reserved.
    virtual Status commitJoined(const FrameSlot& slot, const FrameNumbers& of,
                                std::uint64_t bytes) = 0;
    /// Likewise, for a frame as writeParts() lists it.
    virtual Status commitParts(const FrameSlot& slot, const FrameNumbers& of, std::uint64_t bytes) {
        (void)slot, (void)of, (void)bytes;
        return internalError("a ring that takes no references");
    }
    /// Call instead of commit(): the slot's content is discarded.
    virtual Status commitNothing(const FrameSlot& slot) = 0;
    /// Call when the commit depends on slots still to be reserved, here or in other rings. While
    /// the writer waits for those, the reader and not the feed counts as keeping a full ring full.
    virtual Status park(const FrameSlot& slot) = 0;
    /// Reserves a mark's slot, behind all earlier reservations; blocks as reserve() does.
    virtual Result<FrameSlot> reserveStep(std::stop_token stop) = 0;
    /// From any thread. Later slots become visible only after it.
    virtual Status commitStep(const FrameSlot& slot, const stream::StepMark& mark) = 0;
};

class RingWriter : public StepSink {
 public:
    /// Passes a new ring's memfd to the reader (over the socket).
    using PassRing = std::function<Status(int fd, std::uint64_t bytes)>;

    /// Makes the first ring and passes it.
    static Result<std::unique_ptr<RingWriter>> open(RingWriterOptions options, PassRing pass);

    /// Call instead of commit(): the slot holds the payload of `as`, an entry of another ring of
    /// the same stream and rank. If that entry ends its ring, it ends this one.
    virtual Status commitAs(const FrameSlot& slot, const RingEntry& as) = 0;

    /// Blocks until the reader has taken everything that was committed (it may still hold it).
    virtual Status drain(std::stop_token stop) = 0;

    /// The reader's connection ended: every blocked and later call is kUnavailable.
    virtual void peerGone() = 0;
    virtual bool isPeerGone() const = 0;
    /// Whether the reader has taken the end of the stream, or the error instead: it then has no
    /// reason to reconnect.
    virtual bool hasTakenEnd() = 0;
    /// Makes the reader reconnect: it sees the feed as gone once it has taken what it can.
    virtual void hangUp() = 0;
    virtual RingWriterStats stats() = 0;
};

}  // namespace millrace::ring

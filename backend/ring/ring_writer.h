#pragma once
// The writing end of one rank's ring: reserve, fill in place, commit.
//
// Threads: as FrameSink says; peerGone() from any thread. Owns: the memfds and their mappings; an
// old ring goes when its last frame was given back, and the writer goes over to another one where a
// frame does not fit or the reader keeps what is in it. Failure: kUnavailable when the reader is
// gone, kFailedPrecondition when it keeps everything for too long, kResourceExhausted when the
// memory budget refuses a larger ring, kDataLoss when the reader's control words are wrong.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "backend/core/memory_budget.h"
#include "backend/core/unique_fd.h"
#include "backend/ring/frame_sink.h"
#include "backend/ring/ring_layout.h"
#include "backend/stream/state/step_mark.h"

namespace millrace::ring {

struct RingWriterOptions {
    std::uint64_t ringBytes = std::uint64_t{8} << 20;  ///< room for frames at the start
    std::uint64_t maxRingBytes = std::uint64_t{16} << 30;
    MemoryBudget* budget = nullptr;  ///< both rings count while a larger one takes over
    int numaNode = -1;               ///< where the rings' memory is to lie; -1: anywhere
    /// A full ring that the reader holds: the writer goes over to another one as long as the budget
    /// and maxRingBytes (of all of them together) allow it; else a warning, then an error.
    std::chrono::milliseconds heldReplace{1'000};
    std::chrono::milliseconds heldWarning{10'000};
    std::chrono::milliseconds heldError{600'000};
    std::function<void(std::string_view)> warn;  ///< default: a log line
    std::function<void()> hangUp;                ///< ends the reader's connection
};

struct RingWriterStats {
    std::uint64_t blockedNs = 0;  ///< time in reserve and records without room
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
    std::uint64_t takenFrames = 0;     ///< handed to the reader
    std::uint64_t releasedFrames = 0;  ///< given back (dropped prefix)
    std::uint64_t ringBytes = 0;
    std::uint64_t rings = 0;  ///< made so far
};

/// The micro-batches of one frame: first, first + stride, ... One that is alone is as any other.
struct FrameNumbers {
    std::uint32_t epoch = 0;
    std::int64_t first = 0, stride = 1, count = 1;
};

/// A sink with places for the marks of steps, and for frames of several micro-batches: a rank's
/// ring.
class StepSink : public FrameSink {
 public:
    /// Before everything else. `frame`: one without rows, which has the columns of all.
    virtual Status columns(std::span<const std::byte> frame, std::stop_token stop) = 0;
    /// In the place of commit(), with the frame's bytes: at most those that were reserved.
    virtual Status commitJoined(const FrameSlot& slot, const FrameNumbers& of,
                                std::uint64_t bytes) = 0;
    /// In the place of commit(): what is in the slot is not wanted.
    virtual Status commitNothing(const FrameSlot& slot) = 0;
    /// Before a commit that hangs on what is still to be reserved, here or in other rings: while
    /// that is waited for it is the reader, not the feed, that keeps a full ring full.
    virtual Status park(const FrameSlot& slot) = 0;
    /// The place of a mark, behind everything that was asked for before; blocks as reserve() does.
    virtual Result<FrameSlot> reserveStep(std::stop_token stop) = 0;
    /// From any thread. What was asked for behind the place is seen after it.
    virtual Status commitStep(const FrameSlot& slot, const stream::StepMark& mark) = 0;
};

class RingWriter final : public StepSink {
 public:
    /// Passes a new ring's memfd to the reader (over the socket).
    using PassRing = std::function<Status(int fd, std::uint64_t bytes)>;

    /// Makes the first ring and passes it.
    static Result<std::unique_ptr<RingWriter>> open(RingWriterOptions options, PassRing pass);
    ~RingWriter() override;

    Result<FrameSlot> reserve(std::uint64_t bytes, std::uint32_t epoch, std::int64_t number,
                              std::stop_token stop) override;
    Status commit(const FrameSlot& slot, std::uint32_t epoch, std::int64_t number) override;
    Status columns(std::span<const std::byte> frame, std::stop_token stop) override;
    Status commitJoined(const FrameSlot& slot, const FrameNumbers& of,
                        std::uint64_t bytes) override;
    Status commitNothing(const FrameSlot& slot) override;
    Status park(const FrameSlot& slot) override;
    Result<FrameSlot> reserveStep(std::stop_token stop) override;
    Status commitStep(const FrameSlot& slot, const stream::StepMark& mark) override;
    Status segment(const stream::SegmentRecord& record, std::stop_token stop) override;
    Status endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) override;
    Status endOfStream(std::stop_token stop) override;
    /// The last thing a reader sees: the status's sentence, cut at 4096 bytes, and its exit code
    /// (core/exit_codes.h), so that a rank can tell bad input from a full disk.
    Status error(const Status& why, std::stop_token stop) override;
    /// In the place of commit(): the slot is filled with the payload of `as`, an entry of another
    /// ring of the same stream and rank. Its last one is this ring's.
    Status commitAs(const FrameSlot& slot, const RingEntry& as);

    /// Blocks until the reader has taken everything that was committed (it may still hold it).
    Status drain(std::stop_token stop);

    /// The reader's connection ended: every blocked and later call is kUnavailable.
    void peerGone();
    bool isPeerGone() const;
    /// The reader has taken the end of the stream, or the error in its place: there is nothing that
    /// it could come back for.
    bool hasTakenEnd() const;
    /// The reader is to come again: it sees that the feed is gone once it has taken what it can.
    void hangUp();
    RingWriterStats stats() const;

 private:
    class Impl;
    explicit RingWriter(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::ring

#pragma once
// The writing end of one rank's ring: reserve, fill in place, commit.
//
// Threads: as FrameSink says; peerGone() from any thread. Owns: the memfds and their mappings; an
// old ring goes when its last frame was given back. Failure: kUnavailable when the reader is gone,
// kFailedPrecondition when it keeps everything for too long, kResourceExhausted when the memory
// budget refuses a larger ring, kDataLoss when the reader's control words are wrong.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "backend/core/memory_budget.h"
#include "backend/core/unique_fd.h"
#include "backend/ring/frame_sink.h"
#include "backend/stream/state/step_mark.h"

namespace millrace::ring {

struct RingWriterOptions {
    std::uint64_t ringBytes = std::uint64_t{8} << 20;  ///< room for frames at the start
    std::uint64_t maxRingBytes = std::uint64_t{16} << 30;
    MemoryBudget* budget = nullptr;  ///< both rings count while a larger one takes over
    /// A full ring that the reader holds: a warning, then an error.
    std::chrono::milliseconds heldWarning{10'000};
    std::chrono::milliseconds heldError{600'000};
    std::function<void(std::string_view)> warn;  ///< default: a log line
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

/// A sink with places for the marks of steps: a rank's ring.
class StepSink : public FrameSink {
 public:
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
    Result<FrameSlot> reserveStep(std::stop_token stop) override;
    Status commitStep(const FrameSlot& slot, const stream::StepMark& mark) override;
    Status segment(const stream::SegmentRecord& record, std::stop_token stop) override;
    Status endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) override;
    Status endOfStream(std::stop_token stop) override;
    /// The last thing a reader sees: the status's sentence, cut at 4096 bytes, and its exit code
    /// (core/exit_codes.h), so that a rank can tell bad input from a full disk.
    Status error(const Status& why, std::stop_token stop) override;

    /// Blocks until the reader has taken everything that was committed (it may still hold it).
    Status drain(std::stop_token stop);

    /// The reader's connection ended: every blocked and later call is kUnavailable.
    void peerGone();
    bool isPeerGone() const;
    RingWriterStats stats() const;

 private:
    class Impl;
    explicit RingWriter(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::ring

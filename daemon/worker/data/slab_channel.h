#pragma once
// How slabs of frames get from a worker to the feed of its machine: over a unix socket beside that
// of the calls, because gRPC passes no descriptors. Used by WorkerSession, Lead and WorkerLink.
//
// The worker sends its session, and the feed confirms it. Then the worker sends a record with each
// slab's descriptor, and names no frame of a slab before that. Threads: SlabSender: show() from
// any. SlabReader: one at a time. Owns: each its end. Failure: a sentence; a worker without the
// channel sends its frames.
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "backend/segment/sequence/frame_arena.h"

namespace millrace::data {

/// The path of the channel's socket, for a feed with its calls at `unixPath`.
std::string slabSocket(const std::string& unixPath);

/// The worker's side.
class SlabSender {
 public:
    /// Waits for the feed's confirmation.
    static Result<std::unique_ptr<SlabSender>> connect(const std::string& unixPath,
                                                       const std::string& session);
    Status show(const segment::FrameSlab& slab);

 private:
    explicit SlabSender(UniqueFd fd) : fd_(std::move(fd)) {}
    Mutex mutex_;
    UniqueFd fd_ MR_GUARDED_BY(mutex_);
};

/// The feed's side.
class SlabReader {
 public:
    /// Reads the session from a connection that the gate accepted; waits a moment for it. "": the
    /// worker sent none.
    static std::string sessionOf(int fd);

    /// `fd`: non-blocking.
    explicit SlabReader(UniqueFd fd) : fd_(std::move(fd)) {}
    /// Confirms the session to the worker.
    Status accept();
    /// kDataLoss if the worker did not send its record.
    Result<std::shared_ptr<const segment::FrameSlab>> find(std::uint32_t id);

 private:
    Result<bool> readNext();
    const UniqueFd fd_;
    std::map<std::uint32_t, std::shared_ptr<const segment::FrameSlab>> slabs_;
};

}  // namespace millrace::data

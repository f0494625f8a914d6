#pragma once
// How slabs of frames come from a worker to the feed of its machine: over a unix socket beside that
// of the calls, as gRPC passes no descriptors.
//
// The worker says which session it is, the feed says that it knows it; from then on the worker
// sends a record with each slab's descriptor, and names no frame of a slab before that. Threads:
// SlabSender: show() from any. SlabReader: one at a time. Owns: each its end. Failure: a sentence;
// a worker without the channel sends its frames.
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "backend/segment/sequence/frame_arena.h"

namespace millrace::data {

/// Where the channel's socket is, of a feed whose calls go to `unixPath`.
std::string slabSocket(const std::string& unixPath);

/// The worker's end.
class SlabSender {
 public:
    /// Waits for the feed's word.
    static Result<std::unique_ptr<SlabSender>> connect(const std::string& unixPath,
                                                       const std::string& session);
    Status show(const segment::FrameSlab& slab);

 private:
    explicit SlabSender(UniqueFd fd) : fd_(std::move(fd)) {}
    Mutex mutex_;
    UniqueFd fd_ MR_GUARDED_BY(mutex_);
};

/// The feed's end.
class SlabReader {
 public:
    /// Of a connection that the gate let in; waits a moment for the worker's word. "": it said
    /// none.
    static std::string sessionOf(int fd);

    /// `fd`: non-blocking.
    explicit SlabReader(UniqueFd fd) : fd_(std::move(fd)) {}
    /// Tells the worker that its session is known.
    Status accept();
    /// kDataLoss when the worker did not show it.
    Result<std::shared_ptr<const segment::FrameSlab>> find(std::uint32_t id);

 private:
    Result<bool> readNext();
    const UniqueFd fd_;
    std::map<std::uint32_t, std::shared_ptr<const segment::FrameSlab>> slabs_;
};

}  // namespace millrace::data

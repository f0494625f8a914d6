#pragma once
// The events that wake a feed: ranks that connect and leave, producers that end, signals, the
// daemon's stop.
#include <optional>
#include <string>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "backend/ring/feed_server.h"

namespace millrace::loader {

struct FeedEvent {
    enum class Kind { kOpened, kClosed, kEnded, kWake };  ///< kWake: no data
    Kind kind = Kind::kOpened;
    ring::FeedHello hello;                     ///< kEnded: stream and rank only
    std::shared_ptr<ring::RingWriter> writer;  ///< kOpened
    Status status;                             ///< kEnded
    int generation = 0;                        ///< kEnded: of the producer
    bool isReaderGone = false;                 ///< kEnded: because a reader has ended
};

/// Threads: push() from any; wait() and signals belong to the owner, which blocks SIGTERM and
/// SIGINT for the process's later threads when it is made.
class FeedEvents {
 public:
    FeedEvents();
    void push(FeedEvent event);
    /// Returns all events, after at most `timeoutMs`; `otherFd` (-1: none) ends the wait too.
    std::vector<FeedEvent> wait(int timeoutMs, int otherFd);
    /// Whether SIGTERM or SIGINT arrived.
    bool isSignalled() const { return isSignalled_; }

 private:
    UniqueFd wake_, signals_;
    bool isSignalled_ = false;
    Mutex mutex_;
    std::vector<FeedEvent> events_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::loader

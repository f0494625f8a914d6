#pragma once
// millrace_feed inside this library.
//
// Threads: as in feed_reader.h. Owns: the link with its thread, the known position.
// Failure: a result and `error`. No dependencies.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "backend/core/mutex.h"
#include "backend/feed/c_wall.h"
#include "backend/feed/feed_batch.h"
#include "backend/feed/feed_link.h"
#include "backend/feed/feed_progress.h"
#include "backend/feed/feed_reader.h"
#include "backend/feed/mapped_rings.h"

struct millrace_feed {
    millrace_feed() = default;
    millrace_feed(const millrace_feed&) = delete;
    millrace_feed& operator=(const millrace_feed&) = delete;
    ~millrace_feed() {
        link.reset();  // its thread polls the event
        if (abortEvent >= 0) {
            ::close(abortEvent);
        }
    }

    const pid_t owner = ::getpid();
    std::string path, stream, error;
    std::int64_t attempt = 0;
    std::uint64_t rank = 0, worldSize = 1;
    bool isJoined = false, isLastDropped = false;
    int numaNode = -1;
    int abortFd = -1;
    /// Set by abort(), which touches nothing else: the reader's thread replaces links. Stays
    /// readable once it was called.
    const int abortEvent = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    std::atomic<bool> isAborted{false};
    std::shared_ptr<millrace::ring::MappedRings> rings =
        std::make_shared<millrace::ring::MappedRings>();
    std::unique_ptr<millrace::ring::FeedLink> link;
    /// Guards what the reader shares with the link's thread, which reconnects with its position.
    millrace::Mutex position;
    millrace::ring::FeedProgress progress MR_GUARDED_BY(position);
    /// The position was sent in a later hello: take nothing more from the ring.
    bool isPositionSaid MR_GUARDED_BY(position) = false;
    bool isOver MR_GUARDED_BY(position) = false;  ///< the reader needs nothing more
    std::int64_t microRows = 0, stepBatches = 0;
    std::string streamHash, planHash;
    std::string inputs;                      ///< from the feed's answer to the first hello
    millrace::ring::FrameDirectory columns;  ///< of a frame without rows; empty: not received yet
    bool isAtEpochEnd = false;               ///< and the caller has no event for it yet
    std::uint32_t endedEpoch = 0;
    std::uint64_t endedTotal = 0;
    int finished = MILLRACE_FEED_BATCH;  ///< result of every later next(); BATCH: not finished
    std::uint64_t failedWith = 0;        ///< the feed's exit code, once it FAILED
    bool isOutOfResources = false;       ///< if true, `error` could not be written
    millrace_feed_stats stats{};
    std::shared_ptr<std::atomic<std::uint64_t>> held =
        std::make_shared<std::atomic<std::uint64_t>>(0);

    /// False in a forked child: it lacks the threads, and descriptors and memory are the parent's.
    bool isOwn() const { return ::getpid() == owner; }
    int fail(int result, std::string why) {
        error = std::move(why);
        if (result == MILLRACE_FEED_ABORTED) {
            isAborted.store(true, std::memory_order_seq_cst);  // once aborted, always
        }
        return result;
    }
    int finish(int result, std::string why) {
        finished = result;
        return fail(result, std::move(why));
    }
};

namespace millrace::ring {

/// Internal result: no event for the caller; take the next entry.
inline constexpr int kGoOn = -100;
/// A continue record was taken; event.number is its number.
inline constexpr int kNextRing = -101;
inline constexpr std::uint64_t kExitResources =
    6;  // copied from core/exit_codes.h, which this library lacks

/// The steady time in `ms` milliseconds; INT64_MAX ("never") if that overflows.
inline std::int64_t steadyAfter(std::int64_t ms) {
    constexpr std::int64_t kMsMax = INT64_MAX / 1'000'000 / 2;
    return ms > kMsMax ? INT64_MAX : steadyNs() + ms * 1'000'000;
}

/// Result after an exception: memory ran out, or a thread could not be started.
inline int outOfResources(millrace_feed& feed) noexcept {
    feed.failedWith = kExitResources;
    feed.finished = MILLRACE_FEED_FAILED;
    feed.isOutOfResources = true;
    return MILLRACE_FEED_FAILED;
}

/// If the link is lost and its thread has reconnected by `endNs`, switches to that connection.
/// Returns 0 or the error; LOST: not reconnected yet.
int follow(millrace_feed& feed, std::int64_t endNs);
/// The next event, for a reader that is neither at the end nor aborted.
int nextEvent(millrace_feed& feed, std::int64_t timeoutMs, millrace_feed_event& event);
/// Takes the feed's columns if they are the next entry. Returns 0 once they are known, otherwise
/// TIMEOUT or the error.
int takeColumns(millrace_feed& feed);

}  // namespace millrace::ring

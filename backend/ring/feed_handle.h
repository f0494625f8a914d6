#pragma once
// millrace_feed as this library sees it.
//
// Threads: as feed_reader.h says. Owns: the link with its thread, what is known of the position.
// Failure: a result and `error`. No dependencies.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "backend/core/mutex.h"
#include "backend/ring/c_wall.h"
#include "backend/ring/feed_batch.h"
#include "backend/ring/feed_link.h"
#include "backend/ring/feed_progress.h"
#include "backend/ring/feed_reader.h"
#include "backend/ring/mapped_rings.h"

struct millrace_feed {
    millrace_feed() = default;
    millrace_feed(const millrace_feed&) = delete;
    millrace_feed& operator=(const millrace_feed&) = delete;
    ~millrace_feed() {
        link.reset();  // its thread listens on the event
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
    /// Of abort(), which touches nothing else: links come and go in the reader's thread. Readable
    /// for good once it was called.
    const int abortEvent = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    std::atomic<bool> isAborted{false};
    std::shared_ptr<millrace::ring::MappedRings> rings =
        std::make_shared<millrace::ring::MappedRings>();
    std::unique_ptr<millrace::ring::FeedLink> link;
    /// Between the reader and the link's thread, which connects again with the reader's position.
    millrace::Mutex position;
    millrace::ring::FeedProgress progress MR_GUARDED_BY(position);
    /// Said in a hello that follows: the ring gives no more.
    bool isPositionSaid MR_GUARDED_BY(position) = false;
    bool isOver MR_GUARDED_BY(position) = false;  ///< nothing more is wanted
    std::int64_t microRows = 0, stepBatches = 0;
    std::string streamHash, planHash;
    std::string inputs;                      ///< as the feed told them at the first hello
    millrace::ring::FrameDirectory columns;  ///< of a frame without rows; empty: not told yet
    bool isAtEpochEnd = false;               ///< and the caller has not heard of it yet
    std::uint32_t endedEpoch = 0;
    std::uint64_t endedTotal = 0;
    int finished = MILLRACE_FEED_BATCH;  ///< what every later next() returns; BATCH: goes on
    std::uint64_t failedWith = 0;        ///< the feed's exit code, once it FAILED
    bool isOutOfResources = false;       ///< then `error` could not be written
    millrace_feed_stats stats{};
    std::shared_ptr<std::atomic<std::uint64_t>> held =
        std::make_shared<std::atomic<std::uint64_t>>(0);

    /// Not in a forked child: its threads are not there, its descriptors and memory the parent's.
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

/// Nothing for the caller: what comes next is to be looked at.
inline constexpr int kGoOn = -100;
/// A continue record was taken; event.number is its number.
inline constexpr int kNextRing = -101;
inline constexpr std::uint64_t kExitResources =
    6;  // of core/exit_codes.h, which this library lacks

/// The steady time after so many milliseconds; "never" where that does not fit.
inline std::int64_t steadyAfter(std::int64_t ms) {
    constexpr std::int64_t kMsMax = INT64_MAX / 1'000'000 / 2;
    return ms > kMsMax ? INT64_MAX : steadyNs() + ms * 1'000'000;
}

/// What an exception inside becomes: memory, or a thread that could not be started.
inline int outOfResources(millrace_feed& feed) noexcept {
    feed.failedWith = kExitResources;
    feed.finished = MILLRACE_FEED_FAILED;
    feed.isOutOfResources = true;
    return MILLRACE_FEED_FAILED;
}

/// Where the link is lost and its thread has connected again by `endNs`: goes over to that
/// connection. 0, or what is wrong; LOST: it is not there yet.
int follow(millrace_feed& feed, std::int64_t endNs);
/// The next event, for who has not come to an end and is not aborted.
int nextEvent(millrace_feed& feed, std::int64_t timeoutMs, millrace_feed_event& event);
/// Takes the feed's columns where they are what comes next: 0 once they are known, else TIMEOUT or
/// what is wrong.
int takeColumns(millrace_feed& feed);

}  // namespace millrace::ring

#pragma once
// A reader's connection to its feed: hello, the rings that come, the peer's end, an abort.
//
// Threads: one of its own ("feed-watch") that listens on the socket and the abort fds and takes no
// signals; the rest belongs to the reader's thread. Owns: the socket and rings not yet taken.
// No dependencies.
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "backend/core/mutex.h"
#include "backend/ring/reader_ring.h"
#include "backend/stream/state/tiny_json.h"

namespace millrace::ring {

class FeedLink {
 public:
    ~FeedLink();
    FeedLink(const FeedLink&) = delete;
    FeedLink& operator=(const FeedLink&) = delete;

    struct Target {
        std::string path;
        std::string hello;    ///< one line with its end
        int abortFd = -1;     ///< the caller's; readable: abort
        int abortEvent = -1;  ///< the reader's own, likewise; stays readable
        std::int64_t deadlineNs = 0;
        std::shared_ptr<MappedRings> rings;  ///< hears of each ring
    };
    enum class Failure { kLost, kRefused, kAborted };
    /// Connects (waiting for the socket to appear), says hello and reads the answer with the first
    /// ring. Null with `error` and `failure` set: refused is a sentence of the feed's own. The
    /// abort descriptor and the deadline bound every wait.
    static std::unique_ptr<FeedLink> open(const Target& target, stream::TinyJson& answer,
                                          std::string& error, Failure& failure);

    ReaderRing& ring() { return *ring_; }
    const std::shared_ptr<ReaderRing>& sharedRing() const { return ring_; }
    /// After a continue record: goes over to the next ring. Empty, or what is wrong.
    std::string nextRing();
    enum class Wait { kEntry, kLost, kAborted, kTimeout };
    /// Until an entry can be taken, at most to `endNs` of the steady clock. What is there comes
    /// before the feed's end, an abort before both.
    Wait waitForEntry(std::int64_t endNs);
    bool isLost() const { return lost_.load(std::memory_order_seq_cst); }
    bool isAborted() const { return aborted_.load(std::memory_order_seq_cst); }

 private:
    FeedLink() = default;
    bool sendHello(const Target& target) const;
    bool readAnswer(std::string& line, int& fd, const Target& target);
    void watch();
    void abort();
    void receiveRing();
    void wake();

    int socket_ = -1;
    int stopEvent_ = -1;
    int abortFd_ = -1, abortEvent_ = -1;
    std::thread thread_;
    std::atomic<bool> lost_{false}, aborted_{false};
    std::shared_ptr<MappedRings> rings_;
    Mutex mutex_;  ///< guards ring_ (as a pointer, against wake()) and fds_
    CondVar came_;
    std::shared_ptr<ReaderRing> ring_;
    std::deque<int> fds_;
};

}  // namespace millrace::ring

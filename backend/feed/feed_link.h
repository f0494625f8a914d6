#pragma once
// A reader's connection to its feed: hello, the rings that the feed passes, the end of the
// connection, an abort, and the next connection once this one is lost.
//
// A feed that hangs up needs its readers back: it serves none until all have reconnected. A rank
// may then be busy in a collective with a rank that waits for data, so it does not notice the loss
// at its ring. Therefore the link's thread reconnects at once, while the ring may still hold
// entries.
// Threads: one of its own ("feed-watch") that polls the socket and the abort fds, reconnects, and
// takes no signals; all else belongs to the reader's thread. Owns: the socket, rings not yet taken,
// the next connection until it is taken. No dependencies.
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "backend/core/mutex.h"
#include "backend/feed/reader_ring.h"
#include "backend/stream/state/tiny_json.h"

namespace millrace::ring {

class FeedLink {
 public:
    ~FeedLink();
    FeedLink(const FeedLink&) = delete;
    FeedLink& operator=(const FeedLink&) = delete;

    struct Target {
        std::string path;
        std::string hello;    ///< one line with its line end
        int abortFd = -1;     ///< the caller's; readable: abort
        int abortEvent = -1;  ///< the reader's own, likewise; stays readable
        std::int64_t deadlineNs = 0;
        std::shared_ptr<MappedRings> rings;  ///< is notified of each ring
        /// Makes the hello of the next connection. The link's thread calls it once it has
        /// connected; from then on the reader takes nothing more from this link's ring. "": the
        /// reader needs nothing more. Null: the link does not reconnect by itself.
        std::function<std::string()> again = nullptr;
    };
    enum class Failure { kLost, kRefused, kAborted };
    /// Result of a hello. Without a link, `error` and `failure` are set; if the feed refused the
    /// hello, `error` is the feed's message.
    struct Opened {
        std::unique_ptr<FeedLink> link;
        stream::TinyJson answer;
        std::string error;
        Failure failure = Failure::kLost;
    };
    /// Connects (waiting for the socket to appear), sends hello and reads the answer with the first
    /// ring. The abort descriptor and the deadline bound every wait.
    static Opened open(const Target& target) { return connect(target, -1); }
    /// Maps the first ring and starts the thread, which may then call `again`. Call once, before
    /// anything else. Returns "" or the error.
    std::string begin();

    ReaderRing& ring() { return *ring_; }
    const std::shared_ptr<ReaderRing>& sharedRing() const { return ring_; }
    /// After a continue record: switches to the next ring. Returns "" or the error.
    std::string nextRing();
    enum class Wait { kEntry, kLost, kAborted, kTimeout };
    /// Waits until an entry can be taken, at most until `endNs` of the steady clock. An entry takes
    /// precedence over the feed's end, and an abort over both.
    Wait waitForEntry(std::int64_t endNs);
    bool isLost() const { return lost_.load(std::memory_order_seq_cst); }
    bool isAborted() const { return aborted_.load(std::memory_order_seq_cst); }

    /// Once lost: whether its thread is reconnecting, or has reconnected.
    bool comesAgain();
    /// Once lost: returns the next connection, within the time, for begin(); kLost: there is none
    /// yet. The caller drops this link when it has the next one.
    Opened takeNext(std::int64_t endNs);

 private:
    enum class Heard { kLost, kEnd };

    explicit FeedLink(Target target)
        : target_(std::move(target)), comesAgain_(target_.again != nullptr) {}
    static Opened connect(Target target, int stopEvent);
    bool reachSocket(int stopEvent, Opened& opened);
    bool sendHello(int stopEvent) const;
    bool readAnswer(std::string& line, int& fd, int stopEvent) const;
    bool waitFor(short events, int stopEvent) const;
    bool rest(std::int64_t ms, int stopEvent) const;
    bool isAskedToEnd(int stopEvent) const { return !rest(0, stopEvent); }
    void stopThread();
    void watch();
    Heard listenTo(FeedLink* link);
    void comeAgain();
    void giveUp();
    void abort();
    void receiveRing();
    void wake();

    Target target_;
    int socket_ = -1;
    int stopEvent_ = -1;
    std::thread thread_;
    std::atomic<bool> lost_{false}, aborted_{false};
    Mutex mutex_;  ///< guards ring_ (as a pointer, against wake()) and the members below
    CondVar came_;
    std::shared_ptr<ReaderRing> ring_;  ///< null: not begun
    std::deque<int> fds_;
    std::string said_;      ///< the end of the feed's lines
    bool comesAgain_;       ///< its thread reconnects, or has and the reader did not take it
    bool isTaken_ = false;  ///< the reader is switching to next_
    Opened next_;           ///< the next connection, or why the feed refused it
};

}  // namespace millrace::ring

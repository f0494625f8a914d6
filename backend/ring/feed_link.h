#pragma once
// A reader's connection to its feed: hello, the rings that come, the peer's end, an abort; and the
// next connection, once this one is lost.
//
// A feed that hangs up wants its readers back: it serves nobody until all have come. A rank may
// then be busy in a collective with a rank that waits for data, so it does not ask its ring whether
// the feed is there: the link's thread connects again at once, while the ring may still hold
// entries. Threads: one of its own ("feed-watch") that listens on the socket and the abort fds,
// connects again, and takes no signals; the rest belongs to the reader's thread. Owns: the socket,
// rings not yet taken, the connection that follows until it is taken. No dependencies.
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

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
        /// The hello of a next connection. Called by the link's thread once it has connected: from
        /// then on the reader takes nothing more from this link's ring. "": it wants nothing more.
        /// Null: it does not connect again by itself.
        std::function<std::string()> again = nullptr;
    };
    enum class Failure { kLost, kRefused, kAborted };
    /// Result of a hello. Without a link, `error` and `failure` are set; if the feed refused it,
    /// `error` is the feed's sentence.
    struct Opened {
        std::unique_ptr<FeedLink> link;
        stream::TinyJson answer;
        std::string error;
        Failure failure = Failure::kLost;
    };
    /// Connects (waiting for the socket to appear), says hello and reads the answer with the first
    /// ring. The abort descriptor and the deadline bound every wait.
    static Opened open(const Target& target);
    /// Maps the first ring and listens: from then on `again` may be called. Once, before anything
    /// else. Empty, or what is wrong.
    std::string begin();

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

    /// Once lost: whether its thread still connects again, or has.
    bool comesAgain();
    /// Once lost: the connection that follows, within the time, for begin(); kLost: it is not there
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
    bool isAskedToEnd(int stopEvent) const;
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
    Mutex mutex_;  ///< guards ring_ (as a pointer, against wake()) and what follows
    CondVar came_;
    std::shared_ptr<ReaderRing> ring_;  ///< null: not begun
    std::deque<int> fds_;
    std::string said_;      ///< the end of the feed's lines
    bool comesAgain_;       ///< its thread connects again, or has and the reader did not take it
    bool isTaken_ = false;  ///< the reader goes over to next_
    Opened next_;           ///< the connection that follows, or why the feed refused it
};

}  // namespace millrace::ring

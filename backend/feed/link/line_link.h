#pragma once
// LineLink: a worker's only connection to the rank socket (docs/formats/rank-protocol.md). It is
// part of the C library, so it has no dependencies. In C++, rank::RankClient turns values into
// lines.
//
// Lines are kept until they are acknowledged, in memory and then in a file, and are sent again
// after a reconnect. Once a second the link's thread reports that the process lives, and its
// current problems.
// Threads: one of its own ("run-link") that takes no signals; all methods from any. Only
// waitEmpty() waits for the daemon. Owns: the socket, the file.
// Failure: an absent daemon is not an error; send() reports a line that cannot be kept.
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>

#include "backend/core/mutex.h"
#include "backend/feed/link/line_spool.h"
#include "backend/stream/state/tiny_json.h"

namespace millrace::ring {

struct LineLinkOptions {
    std::string socketPath, run;
    std::string role = "rank";  ///< or "feed"
    std::int64_t attempt = 1, rank = 0;
    std::int64_t pid = 0;          ///< 0: this process
    std::int64_t aliveMs = 1'000;  ///< between two signs of life
    std::uint64_t memoryBytes = std::uint64_t{16} << 20;
    std::string spillPath;  ///< file for lines that do not fit in memory; "": none
    std::uint64_t spillBytes = LineSpool::kFileBytes;
    std::uint64_t firstSeq = 1;  ///< of a worker that replaces another: above all of that worker's
    /// Delay before a reconnect: it grows until the daemon answers. Each delay is drawn from the
    /// upper half of its range, so that ranks that lost one daemon do not reconnect at once.
    std::int64_t backoffFirstMs = 20, backoffMostMs = 1'000;
    std::function<std::int64_t()> ended;  ///< the last step that the rank has ended; 0: none
    // Called on the link's thread; must be quick.
    std::function<void()> onStop;
    std::function<std::int64_t()> onHold;  ///< freezes the furthest step begun and returns it
    std::function<void(std::int64_t step)> onStopBehind;
};

class LineLink {
 public:
    static constexpr std::size_t kLineBytesMax = std::size_t{1} << 20;

    explicit LineLink(LineLinkOptions options);
    ~LineLink();

    /// Queues a line that an earlier attempt has not had acknowledged, from a checkpoint; call
    /// before start(). Returns false, with a message, if it is not a line of unacked(), or cannot
    /// be kept.
    bool preload(std::string line, std::string& why);
    /// Starts the thread. Returns false if it gets no descriptor.
    bool start();
    /// `object`: JSON without seq, attempt and ended, which are inserted at the front. Returns its
    /// seq, or 0 with the message in `why` if it cannot be kept.
    std::uint64_t send(const std::string& object, std::string& why);
    /// Waits until everything is acknowledged. Returns false if the time is up.
    bool waitEmpty(std::int64_t timeoutMs);
    /// Number of lines that are not acknowledged.
    std::size_t size();
    /// Returns these lines for a checkpoint, oldest first, each with its attempt and seq. Returns
    /// false, with a message, if the file cannot be read: missing lines would be lost.
    bool unacked(std::vector<std::string>& lines, std::string& why);
    /// Everything of this attempt up to this seq is stored; 0: nothing yet.
    std::uint64_t acked();
    /// Reports a problem with `what` ("checkpoint"), in one sentence; "": it is solved. The daemon
    /// is notified at once and as long as it lasts, also a daemon that connects later.
    void setTrouble(const std::string& what, std::string sentence);
    /// For the leading feed: later alive lines report this rank as the one it waits for; -1: none.
    void setAwaited(std::int64_t rank) { awaited_.store(rank); }
    bool isConnected() const { return isConnected_.load(); }

 private:
    void loop();
    /// Serves one connection; returns whether the daemon sent a byte over it. A tunnel accepts
    /// connections even if the daemon is away.
    bool talk(int socket);
    void fill(std::string& out);
    int addAlive(std::string& out);
    void reportEnded();
    void rest(std::int64_t ms);
    bool read(int socket, std::string& in, bool& hasHeard);
    bool obey(const std::string& line);
    void stop(const stream::TinyJson& how);
    void acknowledge(std::int64_t attempt, std::uint64_t seq);
    void wake() const;
    bool isEnding();

    const LineLinkOptions options_;
    int wake_ = -1;
    std::thread thread_;
    // Used by the thread only.
    std::int64_t nextAliveNs_ = 0;
    std::string answers_;  ///< lines that are not kept
    std::atomic<bool> isConnected_{false};
    std::atomic<std::int64_t> awaited_{-1};
    Mutex mutex_;
    CondVar emptied_;
    LineSpool lines_ MR_GUARDED_BY(mutex_);
    std::uint64_t nextSeq_ MR_GUARDED_BY(mutex_), acked_ MR_GUARDED_BY(mutex_) = 0;
    std::int64_t toldEnded_ MR_GUARDED_BY(mutex_) = 0;
    std::map<std::string, std::string> troubles_ MR_GUARDED_BY(mutex_);  ///< by subject
    bool isAliveDue_ MR_GUARDED_BY(mutex_) = false, isEnding_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::ring

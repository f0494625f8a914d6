#pragma once
// LineLink: a worker's side of the rank socket (docs/formats/rank-protocol.md), the only one; part
// of the C library, so it has no dependencies. For C++ rank::RankClient makes lines of values.
//
// Lines are kept until they are acknowledged, in memory and then in a file, and are sent again
// after a reconnect. Once a second the link's thread says that the process lives, and what is wrong
// with it. Threads: one of its own ("run-link") that takes no signals; all methods from any, none
// waits for the daemon but waitEmpty(). Owns: the socket, the file. Failure: a daemon that is away
// is none; a line that cannot be kept is told at send().
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>

#include "backend/core/mutex.h"
#include "backend/ring/link/line_spool.h"
#include "backend/stream/state/tiny_json.h"

namespace millrace::ring {

struct LineLinkOptions {
    std::string socketPath, run;
    std::string role = "rank";  ///< or "feed"
    std::int64_t attempt = 1, rank = 0;
    std::int64_t pid = 0;          ///< 0: this process
    std::int64_t aliveMs = 1'000;  ///< between two signs of life
    std::uint64_t memoryBytes = std::uint64_t{16} << 20;
    std::string spillPath;  ///< the file of lines that memory has no room for; "": none
    std::uint64_t spillBytes = LineSpool::kFileBytes;
    std::uint64_t firstSeq = 1;  ///< of a worker that takes another's place: behind all of that one
    /// Between two connections: it grows until the daemon is heard. Each wait is drawn from its
    /// upper half, so that ranks that lost one daemon do not come back at once.
    std::int64_t backoffFirstMs = 20, backoffMostMs = 1'000;
    std::function<std::int64_t()> ended;  ///< the last step that the rank has ended; 0: none
    // Of the link's thread; quick.
    std::function<void()> onStop;
    std::function<std::int64_t()> onHold;  ///< a stop is to be agreed on; the furthest step begun
    std::function<void(std::int64_t step)> onStopBehind;
};

class LineLink {
 public:
    static constexpr std::size_t kLineBytesMax = std::size_t{1} << 20;

    explicit LineLink(LineLinkOptions options);
    ~LineLink();
    LineLink(const LineLink&) = delete;
    LineLink& operator=(const LineLink&) = delete;

    /// A line that an attempt before has not had acknowledged, from a checkpoint; before start().
    /// False, with a sentence: it is none of unacked(), or cannot be kept.
    bool preload(std::string line, std::string& why);
    /// Starts the thread. False: there is no descriptor for it.
    bool start();
    /// `object`: JSON without seq, attempt and ended, which are put in front. Its seq; 0: it cannot
    /// be kept, `why` is the sentence.
    std::uint64_t send(const std::string& object, std::string& why);
    /// Whether everything is acknowledged, within that time.
    bool waitEmpty(std::int64_t timeoutMs);
    /// Lines that are not acknowledged.
    std::size_t size();
    /// Those lines, oldest first, each with its attempt and seq: for a checkpoint. False, with a
    /// sentence: the file cannot be read, and fewer lines than there are would be lost ones.
    bool unacked(std::vector<std::string>& lines, std::string& why);
    /// Everything of this attempt up to it is stored; 0: nothing yet.
    std::uint64_t acked();
    /// What is wrong with `what` now ("checkpoint"), one sentence; "": it is well again. The daemon
    /// is told at once and as long as it lasts, also a daemon that comes later.
    void setTrouble(const std::string& what, std::string sentence);
    /// For the leading feed: later alive lines report this rank as the one it waits for; -1: none.
    void setAwaited(std::int64_t rank) { awaited_.store(rank); }
    bool isConnected() const { return isConnected_.load(); }

 private:
    void loop();
    /// One connection; whether a byte of the daemon came over it. A tunnel to a daemon that is away
    /// takes connections too.
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
    // The thread's own.
    std::int64_t nextAliveNs_ = 0;
    std::string answers_;  ///< lines that are not kept
    std::atomic<bool> isConnected_{false};
    std::atomic<std::int64_t> awaited_{-1};
    Mutex mutex_;
    CondVar emptied_;
    LineSpool lines_ MR_GUARDED_BY(mutex_);
    std::uint64_t nextSeq_ MR_GUARDED_BY(mutex_), acked_ MR_GUARDED_BY(mutex_) = 0;
    std::int64_t toldEnded_ MR_GUARDED_BY(mutex_) = 0;
    std::map<std::string, std::string> troubles_ MR_GUARDED_BY(mutex_);  ///< by what they are of
    bool isAliveDue_ MR_GUARDED_BY(mutex_) = false, isEnding_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::ring

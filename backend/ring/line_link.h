#pragma once
// LineLink: lines of the rank protocol from a program that is not ours to its daemon; the small
// sister of rank::RankClient for the C library, which has no dependencies.
//
// Lines are kept until they are acknowledged and sent again after a reconnect. Once a second the
// link's thread says that the process lives. Threads: one of its own ("run-link") that takes no
// signals; all methods from any. Owns: the socket. Failure: a daemon that is away is none; send()
// is 0 when no more lines fit.
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include <pthread.h>

#include "backend/core/mutex.h"
#include "backend/stream/state/tiny_json.h"

namespace millrace::ring {

struct LineLinkOptions {
    std::string socketPath, run;
    std::int64_t attempt = 1, rank = 0, aliveMs = 1'000;
    std::uint64_t memoryBytes = std::uint64_t{64} << 20;
    std::function<std::int64_t()> ended;  ///< the last step that the rank has ended; 0: none
    // Of the link's thread; quick.
    std::function<void()> onStop, onCheckpoint;
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

    /// Starts the thread. False: there is no descriptor for it.
    bool start();
    void preload(std::int64_t attempt, std::uint64_t seq, std::string text);
    /// `object`: JSON without seq. Its seq; 0: no room.
    std::uint64_t send(const std::string& object);
    bool waitEmpty(std::int64_t timeoutMs);
    /// The lines that wait, each with its end.
    std::string unacked();
    std::uint64_t acked();

 private:
    struct Line {
        std::int64_t attempt = 0;
        std::uint64_t seq = 0;
        std::string text;
    };

    void loop();
    void talk(int socket);
    void fill(std::string& out);
    int addAlive(std::string& out);
    void reportEnded();
    bool read(int socket, std::string& in);
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
    Mutex mutex_;
    CondVar emptied_;
    std::deque<Line> lines_ MR_GUARDED_BY(mutex_);
    std::size_t unsent_ MR_GUARDED_BY(mutex_) =
        0;  // index of the first not sent on this connection
    std::uint64_t bytes_ MR_GUARDED_BY(mutex_) = 0, nextSeq_ MR_GUARDED_BY(mutex_) = 1,
                         acked_ MR_GUARDED_BY(mutex_) = 0;
    std::int64_t toldEnded_ MR_GUARDED_BY(mutex_) = 0;
    bool isEnding_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::ring

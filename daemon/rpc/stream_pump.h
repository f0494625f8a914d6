#pragma once
// StreamPump: one thread that asks every open stream for its next message when the stream is due
// and its previous message has been sent. A slow reader therefore holds one message and delays no
// other.
//
// Threads: any for add() and poke(); turns are on the pump's ("streams"). Owns: the streams until
// they end.
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "backend/core/mutex.h"

namespace millrace::rpc {

using SteadyTime = std::chrono::steady_clock::time_point;

class PumpedStream {
 public:
    virtual ~PumpedStream() = default;
    /// One turn; returns false when the stream is over and may be removed. `isEnding`: the daemon
    /// ends. `news`: grows with tellNews().
    virtual bool turn(SteadyTime now, bool isEnding, std::uint64_t news) = 0;
    /// When it wants its next turn without being poked.
    virtual SteadyTime due() const = 0;
};

class StreamPump {
 public:
    StreamPump();
    /// Joins the thread. Streams that are still open have been told to end.
    ~StreamPump();

    void add(std::shared_ptr<PumpedStream> stream);
    /// Something happened to a stream (a write is complete, a client has left): looks at all
    /// streams.
    void poke();
    /// There is news: looks at all streams. Cheap; from any thread.
    void tellNews();
    /// Ends every stream, and new ones at once.
    void endAll();

 private:
    void loop(std::stop_token stop);
    SteadyTime turnAll(bool isEnding, std::uint64_t news);

    Mutex mutex_;
    CondVar wake_;
    std::vector<std::shared_ptr<PumpedStream>> added_ MR_GUARDED_BY(mutex_);
    bool isPoked_ MR_GUARDED_BY(mutex_) = false;
    bool isEnding_ MR_GUARDED_BY(mutex_) = false;
    std::uint64_t news_ MR_GUARDED_BY(mutex_) = 0;
    std::vector<std::shared_ptr<PumpedStream>> streams_;  // of the thread
    std::jthread thread_;
};

}  // namespace millrace::rpc

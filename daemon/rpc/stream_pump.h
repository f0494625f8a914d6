#pragma once
// StreamPump: one thread that asks every open stream for its next message, when it is due and the
// message before has gone out. A slow reader therefore holds one message and nobody else.
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
    /// One turn; false when the stream is over and may be forgotten. `isEnding`: the daemon ends.
    /// `news`: grows with tellNews().
    virtual bool turn(SteadyTime now, bool isEnding, std::uint64_t news) = 0;
    /// When it wants its next turn without being poked.
    virtual SteadyTime due() const = 0;
};

class StreamPump {
 public:
    StreamPump();
    /// Joins the thread. Streams that are still there have been told to end.
    ~StreamPump();

    void add(std::shared_ptr<PumpedStream> stream);
    /// Something happened to a stream (a write has gone out, a client has left): look at all.
    void poke();
    /// There is something new to tell: look at all. Cheap; from any thread.
    void tellNews();
    /// Ends every stream and those that come.
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

#pragma once
// Pump: the loop around one session. It moves the session's packets, its streams, and whatever else
// its owner polls.
//
// The session is non-blocking from here on. After an interval without a byte from the host the pump
// sends a keepalive. It gives the session up after `count` intervals without an answer: at most
// interval * (count + 1) after the last byte. Threads: the thread that runs it owns session and
// streams. Failure: run() returns why the connection is gone, in ssh(1)'s words.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "app/ssh/libssh/libssh_handles.h"
#include "app/ssh/libssh/poll_set.h"
#include "app/ssh/libssh/stream.h"
#include "backend/core/status.h"

namespace millrace::libssh {

/// Whatever the owner of a pump adds to its loop.
class PumpGuest {
 public:
    using Time = std::chrono::steady_clock::time_point;
    virtual ~PumpGuest() = default;
    virtual void wish(PollSet& fds) = 0;
    virtual void act(const PollSet& fds) = 0;
    virtual bool isOver() const = 0;
    /// When the loop must wake up at the latest; Time::max(): not at all.
    virtual Time wakeAt() const { return Time::max(); }
};

struct PumpOptions {
    std::string hostName;  ///< for messages
    std::chrono::seconds aliveInterval{0};
    int aliveCountMax = 3;
};

class Pump {
 public:
    Pump(ssh_session session, PumpOptions options);
    ~Pump();
    Pump(const Pump&) = delete;
    Pump& operator=(const Pump&) = delete;

    /// The pump owns the stream; the pointer is valid until onEnd is called.
    Stream* add(StreamGoal goal, StreamEnds ends, Stream::OnEnd onEnd);
    /// Runs until the guest is over (OK) or the connection is gone (kUnavailable).
    Status run(PumpGuest& guest);
    std::size_t numStreams() const { return streams_.size(); }

 private:
    using Time = std::chrono::steady_clock::time_point;
    Status drive();
    Status keepAlive();
    Status lost() const;
    int timeout(Time guestTime) const;
    /// The number of bytes received so far.
    std::uint64_t numBytes() const { return socketCount_.in_bytes + packetCount_.in_bytes; }
    void reap();

    ssh_session session_;
    PumpOptions options_;
    ssh_event event_;
    ssh_counter_struct socketCount_{}, packetCount_{};
    std::uint64_t seen_ = 0;
    Time lastByte_;
    int unanswered_ = 0;
    bool hasNew_ = false;  ///< a stream waits for its first turn
    std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace millrace::libssh

#pragma once
// The loop around one session: its packets, its streams, and whatever else its owner polls.
//
// The session is non-blocking from here on. It asks the host for a sign of life when nothing came
// for an interval, and gives it up after so many intervals without one: at most
// interval * (count + 1) after the last byte.
// Threads: the one that runs it owns session and streams. Failure: run() says why the connection is
// gone, in ssh(1)'s words.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "app/ssh/libssh/libssh_handles.h"
#include "app/ssh/libssh/poll_set.h"
#include "app/ssh/libssh/stream.h"
#include "backend/core/status.h"

namespace millrace::libssh {

/// What the owner of a pump has in its loop.
class PumpGuest {
 public:
    using Time = std::chrono::steady_clock::time_point;
    virtual ~PumpGuest() = default;
    virtual void wish(PollSet& fds) = 0;
    virtual void act(const PollSet& fds) = 0;
    virtual bool isOver() const = 0;
    /// When the loop is to come round at the latest; Time::max(): no matter.
    virtual Time wakeAt() const { return Time::max(); }
};

struct PumpOptions {
    std::string hostName;  ///< for what is said
    std::chrono::seconds aliveInterval{0};
    int aliveCountMax = 3;
};

class Pump {
 public:
    Pump(ssh_session session, PumpOptions options);
    ~Pump();
    Pump(const Pump&) = delete;
    Pump& operator=(const Pump&) = delete;

    /// The stream stays the pump's; the pointer is good until its end is told.
    Stream* add(StreamGoal goal, StreamEnds ends, Stream::OnEnd onEnd);
    /// Until the guest is over (OK) or the connection is gone (kUnavailable).
    Status run(PumpGuest& guest);
    std::size_t numStreams() const { return streams_.size(); }

 private:
    using Time = std::chrono::steady_clock::time_point;
    Status drive();
    Status keepAlive();
    Status lost() const;
    int timeout(Time guestTime) const;
    /// That came so far.
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

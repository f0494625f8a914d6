#pragma once
// UnixListener: a door's listening socket inside its owner's poll loop, the same for every door.
//
// It takes peers of this user (or root) only, at most so many at once, and lets the listener rest
// for a moment when the process is out of descriptors: accept() fails then and poll() would report
// the waiting peer again and again. A peer that has been let in has kHelloLimit to say who it is;
// its owner drops it otherwise.
// Threads: one, its owner's.
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace {

/// How long a connection may stay without its first complete word.
inline constexpr std::chrono::milliseconds kHelloLimit{10'000};

/// How long a listener rests when accept() finds no descriptor or memory.
inline constexpr std::chrono::milliseconds kAcceptRest{200};
/// Whether this errno of accept() means that.
bool isOutOfSomething(int error);

class UnixListener {
 public:
    using Time = std::chrono::steady_clock::time_point;

    /// `name` stands before its log lines ("rank"). As listenUnix().
    static Result<UnixListener> open(std::string path, std::string name);

    /// For poll(): the socket, or -1 while it rests.
    int pollFd(Time now) const { return now < restsUntil_ ? -1 : fd_.get(); }
    /// When it is to be polled again; Time::max() when it does not rest.
    Time wakeAt(Time now) const { return now < restsUntil_ ? restsUntil_ : Time::max(); }
    /// The peer that waits: close-on-exec and non-blocking. Nothing when there is none, when it is
    /// another user's (closed and logged), or when there is no descriptor for it.
    std::optional<UniqueFd> accept();
    /// Says so in the log and closes the peer that waits: the owner has no room for it.
    void turnAway(std::size_t connections);
    const std::string& path() const { return path_; }

 private:
    UnixListener(std::string path, std::string name, UniqueFd fd)
        : path_(std::move(path)), name_(std::move(name)), fd_(std::move(fd)) {}

    std::string path_, name_;
    UniqueFd fd_;
    Time restsUntil_{};
};

/// poll()'s milliseconds until the earliest of some times; -1 for Time::max().
int pollTimeout(UnixListener::Time now, UnixListener::Time earliest);

}  // namespace millrace

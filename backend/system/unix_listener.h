#pragma once
// UnixListener: a listening unix socket for its owner's poll loop, the same for every listener.
//
// It accepts peers of this user (or root) only, up to a limit. It pauses for a moment when the
// process is out of descriptors: accept() fails then, and poll() would report the waiting peer
// again and again. An accepted peer must identify itself within kHelloLimit; otherwise its owner
// drops it.
// Threads: one, its owner's.
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace {

/// Time limit for the first complete message of a connection.
inline constexpr std::chrono::milliseconds kHelloLimit{10'000};

/// How long a listener pauses when accept() runs out of descriptors or memory.
inline constexpr std::chrono::milliseconds kAcceptRest{200};
/// Whether this errno of accept() means a lack of descriptors or memory.
bool isOutOfSomething(int error);

class UnixListener {
 public:
    using Time = std::chrono::steady_clock::time_point;

    /// `name` begins its log lines ("rank"). Opens it as in listenUnix().
    static Result<UnixListener> open(std::string path, std::string name);

    /// For poll(): the socket, or -1 while it pauses.
    int pollFd(Time now) const { return now < restsUntil_ ? -1 : fd_.get(); }
    /// When to poll again; Time::max() if it does not pause.
    Time wakeAt(Time now) const { return now < restsUntil_ ? restsUntil_ : Time::max(); }
    /// Accepts the waiting peer: close-on-exec and non-blocking. Returns nothing if no peer waits,
    /// if it is another user's (closed and logged), or if no descriptor is free.
    std::optional<UniqueFd> accept();
    /// Logs it and closes the waiting peer: the owner has no room for it.
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

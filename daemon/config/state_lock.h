#pragma once
// StateLock: allows one daemon (or agent) per state directory, even if several machines or
// containers see the directory and flock does not work across them.
//
// Beside the flock, the file records its holder (lock_holder.h), which renews it every three
// seconds. A process that finds the flock free decides by the file:
//
//   written here, its process lives       refused: flock does not work across
//   written here, or before a reboot      taken
//   written elsewhere, in the last 11 min refused, unless told to take over
//   written elsewhere, longer ago         taken, after 7 s in which it is not renewed
//
// Owns: the flock and the file's text; the destructor releases both. Threads: beat() on one thread,
// everything else before and after it.
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "daemon/config/instance_lock.h"
#include "daemon/config/lock_holder.h"

namespace millrace::config {

struct StateLockTerms : LockTerms {
    bool takesOver = false;  ///< --take-over: does not wait for the end of a holder elsewhere
    /// Waits; a test's function changes the file meanwhile.
    std::function<void(std::chrono::milliseconds)> pause;
};

class StateLock {
 public:
    static constexpr std::chrono::milliseconds kBeat{3'000};

    /// kAlreadyExists: another process serves the directory, or may still do so; the sentence names
    /// it, and until when it counts.
    static Result<StateLock> take(const std::string& path, StateLockTerms terms);
    StateLock(StateLock&&) = default;
    StateLock& operator=(StateLock&&) = delete;
    ~StateLock();

    /// Renews the sign of life. kAlreadyExists: another process has taken the directory over, and
    /// this one must not write there any more; any other error passes by itself.
    Status beat();
    /// The previous holder, for the log; "": it was free.
    const std::string& takenFrom() const { return takenFrom_; }

 private:
    StateLock(UniqueFd fd, std::string path, std::string what, LockHolder own)
        : fd_(std::move(fd)),
          path_(std::move(path)),
          what_(std::move(what)),
          own_(std::move(own)) {}
    Status takeFrom(const LockHolder& holder, const StateLockTerms& terms);
    Status takeFromElsewhere(const LockHolder& holder, const StateLockTerms& terms);
    Result<std::optional<LockHolder>> present() const;

    UniqueFd fd_;
    std::string path_, what_, takenFrom_;
    LockHolder own_;
};

/// Renews a lock until it ends. Owns: its thread ("state-lock").
class Heartbeat {
 public:
    /// `onLost` is called on that thread, once, when another process has taken the directory.
    /// `lock` outlives it.
    Heartbeat(StateLock& lock, std::chrono::milliseconds every,
              std::function<void(const Status&)> onLost);
    Heartbeat(const Heartbeat&) = delete;  // its thread uses it

 private:
    void loop(const std::stop_token& stop);

    StateLock& lock_;
    const std::chrono::milliseconds every_;
    const std::function<void(const Status&)> onLost_;
    std::jthread thread_;
};

}  // namespace millrace::config

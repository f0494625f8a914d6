#pragma once
// Speaking to a guardian that may have been started by another daemon, and cleaning up after one
// that was killed.
#include <cstdint>
#include <optional>
#include <string>

#include "backend/core/json.h"
#include "backend/core/unique_fd.h"
#include "backend/engines/gang_files.h"

namespace millrace::engines {

/// State of a guardian. It counts as ended only if this process can verify that it is gone.
enum class GuardianFate {
    kAlive,    ///< the very process that wrote the record lives, or no descriptor is free to look
    kGone,     ///< its pid is free or another process's, or the machine has booted since
    kUnknown,  ///< it was started on another machine or in another pid namespace
};
GuardianFate fateOf(const GuardianRecord& guardian, const PidScope& here);

/// One lasting control connection to a guardian. Nothing here waits: requests go into the socket's
/// buffer, answers are taken when they have come, and a guardian that is stopped shows itself by
/// requests without an answer.
/// Threads: one at a time. Owns: the connection; it is made again when it breaks.
class GuardianLine {
 public:
    explicit GuardianLine(std::string controlSocket) : path_(std::move(controlSocket)) {}

    /// Sends one control request (see millrace-exec); false when it could not be. A sent one
    /// reaches the guardian unless the connection breaks before the answer: see isConnected().
    bool say(const Json& request);
    /// Takes the answers that have come; true when there was one.
    bool hear();
    /// Requests since the last answer, those included that could not be sent.
    int numUnanswered() const { return numUnanswered_; }
    /// False from the moment on that a break was noticed until the next say().
    bool isConnected() const { return fd_.isOpen(); }

 private:
    bool connect();

    std::string path_, heard_;
    UniqueFd fd_;
    int numUnanswered_ = 0;
};

/// Ends what a killed guardian could not end itself: sends SIGKILL to every process in the worker's
/// control group, and to every one that carries the worker's MR_DIRECTORY in its environment (the
/// directory, as another daemon on the machine may have a gang of the same key). Returns how many
/// had the variable. An error while not all have ended, or not all could be looked at: call it
/// again.
Result<int> killLeftovers(std::string_view directory, const std::string& controlGroup);

/// A TCP port that was free on the loopback address a moment ago.
Result<int> freePort();

}  // namespace millrace::engines

#pragma once
// Communicates with guardians, which another daemon may have started, and cleans up after killed
// ones.
#include <string>

#include "backend/core/unique_fd.h"
#include "backend/engines/gang_files.h"
#include "backend/text/json.h"

namespace millrace::engines {

/// State of a guardian. It counts as ended only if this process can verify that it is gone.
enum class GuardianState {
    kAlive,    ///< the process that wrote the record is alive, or no descriptor is free to check
    kGone,     ///< its pid is free or belongs to another process, or the machine has rebooted
    kUnknown,  ///< it was started on another machine or in another pid namespace
};
GuardianState fateOf(const GuardianRecord& guardian, const PidScope& here);

/// One lasting control connection to a guardian. Nothing here waits: requests go into the socket's
/// buffer, answers are taken once they have arrived, and unanswered requests reveal a stopped
/// guardian. Threads: one at a time. Owns: the connection; reconnects after a break.
class GuardianLine {
 public:
    explicit GuardianLine(std::string controlSocket) : path_(std::move(controlSocket)) {}

    /// Sends one control request (see millrace-exec); returns false if that is not possible. A sent
    /// request reaches the guardian unless the connection breaks before the answer: see
    /// isConnected().
    bool say(const Json& request);
    /// Takes the answers that have arrived; returns true if there was one.
    bool hear();
    /// Number of requests since the last answer, including those that could not be sent.
    int numUnanswered() const { return numUnanswered_; }
    /// False from the detection of a break until the next say().
    bool isConnected() const { return fd_.isOpen(); }

 private:
    bool connect();

    std::string path_, heard_;
    UniqueFd fd_;
    int numUnanswered_ = 0;
};

/// Ends what a killed guardian could not end itself. Sends SIGKILL to every process in the worker's
/// control group, and to every process with the worker's MR_DIRECTORY in its environment. (It
/// checks the directory, since another daemon on the machine may have a gang with the same key.)
/// Returns how many had the variable. Returns an error if some have not ended yet, or could not be
/// examined: call it again.
Result<int> killLeftovers(std::string_view directory, const std::string& controlGroup);

/// A TCP port on the loopback address that was free a moment ago.
Result<int> freePort();

}  // namespace millrace::engines

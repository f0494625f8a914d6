#pragma once
// Going into the background: the starting process waits until the daemon serves, or reports why it
// does not. Used by main().
//
// Threads: call before any thread is started (it forks).
#include <string>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::config {

/// The daemon's side: notifies the waiting starter that it serves. Without a starter it does
/// nothing.
class ReadyNotice {
 public:
    ReadyNotice() = default;
    explicit ReadyNotice(UniqueFd fd) : fd_(std::move(fd)) {}
    void tellReady() { (void)send("+"); }
    /// `code`: the starter's exit code, 1 to 31. False when no starter waits.
    bool tellFailure(std::string_view sentence, int code) {
        return send(std::string(1, static_cast<char>(code)).append(sentence));
    }
    /// Returns whether a starter waits.
    bool isAwaited() const { return fd_.isOpen(); }

 private:
    bool send(std::string_view text);
    UniqueFd fd_;
};

/// Forks twice. In the daemon: returns its notice. In the starter: does not return. It exits with 0
/// when the daemon is ready, else with the daemon's code and sentence (on stderr); 1 if the daemon
/// sent none.
Result<ReadyNotice> goToBackground();

/// Sends stderr and stdout to `path` (appending), stdin from /dev/null.
Status redirectOutput(const std::string& path);

}  // namespace millrace::config

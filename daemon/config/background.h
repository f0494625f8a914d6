#pragma once
// Going into the background: the starting process waits until the daemon serves, or says why not.
//
// Threads: to be used before any thread is started (it forks).
#include <string>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::config {

/// The daemon's end: tells the waiting starter that it serves. Without a starter it does nothing.
class ReadyNotice {
 public:
    ReadyNotice() = default;
    explicit ReadyNotice(UniqueFd fd) : fd_(std::move(fd)) {}
    void tellReady() { (void)send("+"); }
    /// `code`: with which the starter ends, 1 to 31. False when nobody waits for it.
    bool tellFailure(std::string_view sentence, int code) {
        return send(std::string(1, static_cast<char>(code)).append(sentence));
    }
    /// A starter waits for it.
    bool isAwaited() const { return fd_.isOpen(); }

 private:
    bool send(std::string_view text);
    UniqueFd fd_;
};

/// Forks twice. In the daemon: returns its notice. In the starter: does not return; exits 0 when
/// the daemon is ready, with its code and sentence (on stderr) otherwise; 1: it gave none.
Result<ReadyNotice> goToBackground();

/// Sends stderr and stdout to `path` (appending), stdin from /dev/null.
Status redirectOutput(const std::string& path);

}  // namespace millrace::config

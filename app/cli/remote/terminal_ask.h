#pragma once
// Asks an SSH connection's questions on the terminal; passphrases are typed without echo.
//
// Uses the terminal of the process (/dev/tty), even if stdin and stdout are pipes. Threads: an Ask
// may be called from any; one at a time. Failure: given up by Ctrl-C, by an empty line if the
// question is about a host's key, and while a full-screen view has the terminal.
#include <atomic>

#include "app/ssh/questions.h"

namespace millrace::cli {

/// Empty without a terminal. `interrupts`: counts Ctrl-C; `isTaken`: a view has the terminal.
ssh::Ask terminalAsk(const std::atomic<int>& interrupts, const std::atomic<bool>& isTaken);

}  // namespace millrace::cli

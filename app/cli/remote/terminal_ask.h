#pragma once
// Asks on the terminal what an SSH connection wants to know; passphrases are typed unseen.
//
// The terminal is that of the process (/dev/tty), also where stdin and stdout are pipes. Threads:
// an Ask may be called from any; one at a time. Failure: given up by Ctrl-C, by an empty line where
// a key is to be trusted, and while a full-screen view has the terminal.
#include <atomic>

#include "app/ssh/questions.h"

namespace millrace::cli {

/// Empty when there is no terminal. `interrupts`: of Ctrl-C; `isTaken`: a view has the terminal.
ssh::Ask terminalAsk(const std::atomic<int>& interrupts, const std::atomic<bool>& isTaken);

}  // namespace millrace::cli

#pragma once
// What is said on a master's control socket: one request a connection, and its answer.
//
// A message (frames.h) is words with a NUL between them. Requests: "check"; "exit"; "forward",
// LOCAL, REMOTE; "exec", COMMAND, whose first bytes bring stdin, stdout and stderr of who asks.
// Answers: "ok", TEXT; "error", SENTENCE; "ended", EXIT CODE, which an exec waits for. Who closes
// the connection before has changed its mind: its command's channel is closed. Both ends are the
// same program, so the protocol has no versions. Threads: any. Failure: in ssh(1)'s words, for
// stderr.
#include <string>
#include <vector>

#include "app/ssh/libssh/options.h"
#include "backend/core/status.h"

namespace millrace::libssh {

/// Most bytes of a request.
inline constexpr std::size_t kRequestBytes = 1 << 20;

std::string joinWords(const std::vector<std::string>& words);
std::vector<std::string> splitWords(const std::string& message);

/// Puts the invocation's request to its master and does what the answer asks for: the text goes to
/// stderr, the exit code is this program's.
Result<int> askMaster(const Invocation& invocation);

}  // namespace millrace::libssh

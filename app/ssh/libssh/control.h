#pragma once
// The protocol of a master's control socket: one request per connection, and its answer.
//
// A message (frames.h) is words separated by NUL. Requests: "check"; "exit"; "forward", LOCAL,
// REMOTE; "exec", COMMAND, whose first bytes carry the requester's stdin, stdout and stderr.
// Answers: "ok", TEXT; "error", SENTENCE; "ended", EXIT CODE, which an exec waits for. A requester
// that closes the connection early cancels: its command's channel is closed. Both ends are the same
// program, so the protocol has no versions. Threads: any. Failure: in ssh(1)'s words, for stderr.
#include <string>
#include <vector>

#include "app/ssh/libssh/options.h"
#include "backend/core/status.h"

namespace millrace::libssh {

/// Largest size of a request.
inline constexpr std::size_t kRequestBytes = 1 << 20;

std::string joinWords(const std::vector<std::string>& words);
std::vector<std::string> splitWords(const std::string& message);

/// Sends the invocation's request to its master and acts on the answer: writes the text to stderr
/// and returns this program's exit code.
Result<int> askMaster(const Invocation& invocation);

}  // namespace millrace::libssh

#pragma once
// Connects a Unix socket only if its peer is this user or root: nothing is sent to other users. For
// the C library, which has no dependencies.
#include <string>

namespace millrace::ring {

/// Returns a non-blocking socket connected to `path`, or -1 with errno: EAGAIN if the listener's
/// queue is full, EPERM if the peer is another user. Long paths go through /proc/self/fd. The
/// caller owns the socket.
int connectToOwn(const std::string& path);

}  // namespace millrace::ring

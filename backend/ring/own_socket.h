#pragma once
// A Unix socket whose other end is this user's or root's: only they are told anything. For the C
// library, which has no dependencies.
#include <string>

namespace millrace::ring {

/// A non-blocking socket connected to `path`, or -1 with errno: EAGAIN when the listener's queue is
/// full, EPERM when it is another user's. Long paths go through /proc/self/fd. The caller's.
int connectToOwn(const std::string& path);

}  // namespace millrace::ring

#pragma once
// Unix sockets for local doors: bind and connect at any path length, peer credentials, passed fds.
//
// Paths over 107 bytes go through /proc/self/fd of the directory on Linux. Nothing here waits
// without a limit, and nothing changes what the whole process is like (its umask).
#include <chrono>
#include <string>
#include <vector>

#include <sys/types.h>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace {

/// How long connectUnix() waits for a place in a listener's queue.
inline constexpr std::chrono::milliseconds kConnectTimeout{5'000};

/// A listening SOCK_STREAM socket with mode 0600. A dead socket file at `path` is replaced; a live
/// one, also one whose queue is full, is kAlreadyExists.
Result<UniqueFd> listenUnix(const std::string& path, int backlog = 64);
/// A connected, blocking socket; kUnavailable when nobody listens or the listener's queue stays
/// full for `timeout` (its process is stopped or overloaded), kNotFound when there is no such path.
Result<UniqueFd> connectUnix(const std::string& path,
                             std::chrono::milliseconds timeout = kConnectTimeout);
/// The same without any waiting, and the socket stays non-blocking.
Result<UniqueFd> connectUnixNonBlocking(const std::string& path);
/// A connection to a process of this user or of root, over a directory in which no other user can
/// put a socket: for clients that are about to say something. kPermissionDenied otherwise.
Result<UniqueFd> connectOwnUnix(const std::string& path,
                                std::chrono::milliseconds timeout = kConnectTimeout);
/// A name for bind/connect of `path` that fits sun_path; keeps `directory` open while it is used.
Result<std::string> shortSocketPath(const std::string& path, UniqueFd& directory);
/// The uid of the peer of a connected unix socket.
Result<uid_t> peerUid(int fd);
/// Whether a peer of this uid is trusted: this user or root.
bool isOwnUid(uid_t uid);
/// kPermissionDenied when the socket at the other end of `fd`, known as `path`, is not of this user
/// or root.
Status checkPeer(int fd, std::string_view path);
/// A directory in which no other user can put or replace a socket of ours: of this user or root,
/// and writable by others only when sticky (as /tmp). kPermissionDenied otherwise.
Status checkSocketDirectory(const std::string& directory);
/// Sends `bytes` (1..64 KiB) with the file descriptors attached.
Status sendWithFds(int fd, std::string_view bytes, const std::vector<int>& fds);
/// Receives at most `maxBytes` and the descriptors that came along; empty bytes at end of stream.
Result<std::string> receiveWithFds(int fd, std::size_t maxBytes, std::vector<UniqueFd>& fds);

}  // namespace millrace

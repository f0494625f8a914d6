#pragma once
// Unix sockets for local listeners: bind and connect at any path length, peer credentials, passing
// of descriptors.
//
// On Linux, paths over 107 bytes use /proc/self/fd of the directory. Nothing here waits without a
// limit, and nothing changes process-wide state (such as the umask).
#include <chrono>
#include <string>
#include <vector>

#include <sys/types.h>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace {

/// How long connectUnix() waits for room in a listener's queue.
inline constexpr std::chrono::milliseconds kConnectTimeout{5'000};

/// A listening SOCK_STREAM socket with mode 0600. Replaces a dead socket file at `path`; a live
/// one, even with a full queue, is kAlreadyExists.
Result<UniqueFd> listenUnix(const std::string& path, int backlog = 64);
/// A connected, blocking socket. kUnavailable if no process listens, or if the listener's queue
/// stays full for `timeout` (its process is stopped or overloaded); kNotFound if the path does not
/// exist.
Result<UniqueFd> connectUnix(const std::string& path,
                             std::chrono::milliseconds timeout = kConnectTimeout);
/// Like connectUnix(), but never waits and returns a non-blocking socket.
Result<UniqueFd> connectUnixNonBlocking(const std::string& path);
/// A connection to a process of this user or of root, in a directory where no other user can put a
/// socket: for clients that are about to send something. Otherwise kPermissionDenied.
Result<UniqueFd> connectOwnUnix(const std::string& path,
                                std::chrono::milliseconds timeout = kConnectTimeout);
/// A name for bind/connect to `path` that fits sun_path; keep `directory` open while using it.
Result<std::string> shortSocketPath(const std::string& path, UniqueFd& directory);
/// The uid of the peer of a connected unix socket.
Result<uid_t> peerUid(int fd);
/// Whether a peer of this uid is trusted: this user or root.
bool isOwnUid(uid_t uid);
/// kPermissionDenied if the socket at the other end of `fd`, known as `path`, is not from this user
/// or root.
Status checkPeer(int fd, std::string_view path);
/// Checks that no other user can put or replace our sockets in the directory: it belongs to this
/// user or root, and others may write to it only if it is sticky (like /tmp). Otherwise
/// kPermissionDenied.
Status checkSocketDirectory(const std::string& directory);
/// Sends `bytes` (1..64 KiB) with the file descriptors attached.
Status sendWithFds(int fd, std::string_view bytes, const std::vector<int>& fds);
/// Receives at most `maxBytes` and the attached descriptors; empty at end of stream.
Result<std::string> receiveWithFds(int fd, std::size_t maxBytes, std::vector<UniqueFd>& fds);

}  // namespace millrace

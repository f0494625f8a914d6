#pragma once
// Unix sockets for local doors: bind and connect at any path length, peer credentials, passed fds.
//
// Paths over 107 bytes go through /proc/self/fd of the directory on Linux.
#include <string>
#include <vector>

#include <sys/types.h>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace {

/// A listening SOCK_STREAM socket with mode 0600. A dead socket file at `path` is replaced; a live
/// one is kAlreadyExists.
Result<UniqueFd> listenUnix(const std::string& path, int backlog = 64);
/// Blocking connect; kUnavailable when nobody listens, kNotFound when there is no such path.
Result<UniqueFd> connectUnix(const std::string& path);
/// A name for bind/connect of `path` that fits sun_path; keeps `directory` open while it is used.
Result<std::string> shortSocketPath(const std::string& path, UniqueFd& directory);
/// The uid of the peer of a connected unix socket.
Result<uid_t> peerUid(int fd);
/// Sends `bytes` (1..64 KiB) with the file descriptors attached.
Status sendWithFds(int fd, std::string_view bytes, const std::vector<int>& fds);
/// Receives at most `maxBytes` and the descriptors that came along; empty bytes at end of stream.
Result<std::string> receiveWithFds(int fd, std::size_t maxBytes, std::vector<UniqueFd>& fds);

}  // namespace millrace

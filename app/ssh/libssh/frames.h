#pragma once
// Length-prefixed messages (four bytes, big endian): between the programs of one master, and to
// agents.
//
// Threads: any. Failure: kUnavailable if the other side closes in the middle of a message,
// kDataLoss for a message that is longer than allowed.
#include <cstddef>
#include <string>
#include <string_view>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::libssh {

std::size_t readLength(const char* bytes);
std::string lengthBytes(std::size_t length);

/// All of these block. An empty message means that the other side has closed.
Status sendBytes(int fd, std::string_view bytes);
Status sendFrame(int fd, std::string_view message);
Result<std::string> receiveFrame(int fd, std::size_t maxBytes);

/// Two connected stream sockets that child programs do not inherit.
Status makeSocketPair(UniqueFd& one, UniqueFd& other);
/// Duplicates a descriptor; child programs do not inherit it. Not open if there is none.
UniqueFd duplicate(int fd);

}  // namespace millrace::libssh

#pragma once
// Messages with their length before them (four bytes, the highest first): between the programs of
// one master, and to agents.
//
// Threads: any. Failure: kUnavailable when the other side is gone in the middle of a message,
// kDataLoss for a message that is longer than allowed.
#include <cstddef>
#include <string>
#include <string_view>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::libssh {

std::size_t readLength(const char* bytes);
std::string lengthBytes(std::size_t length);

/// All block. An empty message: the other side has ended.
Status sendBytes(int fd, std::string_view bytes);
Status sendFrame(int fd, std::string_view message);
Result<std::string> receiveFrame(int fd, std::size_t maxBytes);

/// Two connected stream sockets that no program that is started gets.
Status makeSocketPair(UniqueFd& one, UniqueFd& other);
/// The same descriptor again, not for programs that are started; not open when there is none.
UniqueFd duplicate(int fd);

}  // namespace millrace::libssh

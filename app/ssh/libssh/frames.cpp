#include "app/ssh/libssh/frames.h"

#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/core/whole_io.h"

namespace millrace::libssh {
namespace {

// Reads `size` bytes, or fewer if the stream ends first.
Result<std::string> readBytes(int fd, std::size_t size) {
    std::string bytes(size, '\0');
    std::size_t have = 0;
    while (have < size) {
        const ssize_t n = ::read(fd, bytes.data() + have, size - have);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return errnoStatus(errno, "read");
        }
        if (n == 0) {
            break;
        }
        have += static_cast<std::size_t>(n);
    }
    bytes.resize(have);
    return bytes;
}

}  // namespace

std::size_t readLength(const char* bytes) {
    std::size_t length = 0;
    for (int i = 0; i < 4; ++i) {
        length = length << 8 | static_cast<std::uint8_t>(bytes[i]);
    }
    return length;
}

std::string lengthBytes(std::size_t length) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) {
        bytes += static_cast<char>(length >> shift & 0xff);
    }
    return bytes;
}

Status sendBytes(int fd, std::string_view bytes) {
    return writeAll(fd, bytes) ? okStatus() : errnoStatus(errno, "write");
}

Status sendFrame(int fd, std::string_view message) {
    std::string bytes = lengthBytes(message.size());
    bytes += message;
    return sendBytes(fd, bytes);
}

Result<std::string> receiveFrame(int fd, std::size_t maxBytes) {
    ASSIGN_OR_RETURN(const std::string head, readBytes(fd, 4));
    if (head.empty()) {
        return std::string();
    }
    if (head.size() < 4) {
        return unavailable("the other side ended in the middle of a message");
    }
    const std::size_t length = readLength(head.data());
    if (length > maxBytes) {
        return dataLoss("a message of ", length, " bytes; at most ", maxBytes);
    }
    ASSIGN_OR_RETURN(std::string message, readBytes(fd, length));
    if (message.size() < length) {
        return unavailable("the other side ended in the middle of a message");
    }
    return message;
}

Status makeSocketPair(UniqueFd& one, UniqueFd& other) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        return errnoStatus(errno, "socketpair");
    }
    one.reset(ends[0]);
    other.reset(ends[1]);
    ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    ::fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return okStatus();
}

UniqueFd duplicate(int fd) {
    return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

}  // namespace millrace::libssh

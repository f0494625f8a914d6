#include "backend/core/standard_output.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>

#include <poll.h>
#include <unistd.h>

#include "backend/core/exit_codes.h"

namespace millrace {
namespace {

// Returns the errno of the first failed write; 0: all bytes are written.
int writeOut(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EAGAIN) {
            // Another process that shares the pipe has made it non-blocking.
            pollfd room{fd, POLLOUT, 0};
            static_cast<void>(::poll(&room, 1, -1));
        } else if (n < 0 && errno != EINTR) {
            return errno;
        }
        bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
    return 0;
}

Status statusOf(int error) {
    return error == 0 || error == EPIPE ? okStatus() : errnoStatus(error, "standard output");
}

}  // namespace

Status printText(std::string_view text) {
    std::signal(SIGPIPE, SIG_IGN);
    return statusOf(writeOut(STDOUT_FILENO, text));
}

int endWithText(std::string_view program, std::string_view text, int code) {
    const Status printed = printText(text);
    if (printed.ok()) {
        return code;
    }
    std::fprintf(stderr, "%s: %s\n", std::string(program).c_str(),
                 std::string(messageOf(printed)).c_str());
    return workerExitOf(printed);
}

OutputBuffer::OutputBuffer(int fd) : fd_(fd) {
    setp(bytes_.data(), bytes_.data() + bytes_.size());
}

bool OutputBuffer::drain() {
    const std::string_view bytes(pbase(), static_cast<std::size_t>(pptr() - pbase()));
    if (!isLost_) {
        const int error = writeOut(fd_, bytes);
        isLost_ = error != 0;
        status_ = statusOf(error);
    }
    setp(bytes_.data(), bytes_.data() + bytes_.size());
    return !isLost_;
}

OutputBuffer::int_type OutputBuffer::overflow(int_type character) {
    if (!drain()) {
        return traits_type::eof();
    }
    return traits_type::eq_int_type(character, traits_type::eof())
               ? traits_type::not_eof(character)
               : sputc(traits_type::to_char_type(character));
}

bool OutputBuffer::hasNoReader() const {
    pollfd reader{fd_, 0, 0};
    return isLost_ || (::poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0);
}

}  // namespace millrace

#pragma once
// Writes all bytes to a blocking descriptor.
//
// Threads: any. Failure: returns false and sets errno (EPIPE if SIGPIPE is ignored).
#include <algorithm>
#include <cerrno>
#include <string_view>

#include <unistd.h>

namespace millrace {

inline bool writeAll(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno != EINTR) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
    return true;
}

}  // namespace millrace

#include "backend/feed/own_socket.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace millrace::ring {
namespace {

/// Whether the peer is this user or root: nothing is sent to other users.
bool isOwnPeer(int fd) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == ::geteuid() || peer.uid == 0);
}

}  // namespace

int connectToOwn(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::string name = path;
    int directory = -1;
    if (const std::size_t slash = path.rfind('/');
        path.size() >= sizeof address.sun_path && slash != std::string::npos) {
        directory = ::open(path.substr(0, slash + 1).c_str(), O_PATH | O_CLOEXEC);
        name = "/proc/self/fd/" + std::to_string(directory) + path.substr(slash);
    }
    int fd = -1;
    if (name.size() >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
    } else {
        std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
        fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        const bool isConnected =
            fd >= 0 &&
            ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
        if (fd >= 0 && (!isConnected || !isOwnPeer(fd))) {
            const int error = isConnected ? EPERM : errno;
            ::close(fd);
            errno = error;
            fd = -1;
        }
    }
    if (directory >= 0) {
        const int error = errno;
        ::close(directory);
        errno = error;
    }
    return fd;
}

}  // namespace millrace::ring

#include "backend/system/unix_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace millrace {
namespace {

Result<sockaddr_un> addressOf(const std::string& path, UniqueFd& directory) {
    ASSIGN_OR_RETURN(const std::string name, shortSocketPath(path, directory));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
    return address;
}

Result<UniqueFd> newSocket(int flags = 0) {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
    if (!fd.isOpen()) {
        return errnoStatus(errno, "socket");
    }
    return fd;
}

// Returns 0 or the errno. EAGAIN: the listener's queue stayed full for the socket's send timeout.
int connectTo(const UniqueFd& fd, const sockaddr_un& address) {
    while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

Status connectStatus(int error, const std::string& path) {
    if (error == EAGAIN) {
        return unavailable(path, ": takes no connections; the process behind it may be stopped");
    }
    return error == 0 ? okStatus() : errnoStatus(error, path);
}

// Connecting to a unix socket waits for room in the listener's queue, and only the send timeout
// limits that.
Status limitSending(const UniqueFd& fd, std::chrono::milliseconds time) {
    const timeval limit{static_cast<time_t>(time.count() / 1000),
                        static_cast<suseconds_t>(time.count() % 1000 * 1000)};
    if (::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) {
        return errnoStatus(errno, "socket");
    }
    return okStatus();
}

// Whether a process listens on the socket file at `address`: only a refused connection proves the
// opposite.
Result<bool> isAnswered(const sockaddr_un& address) {
    ASSIGN_OR_RETURN(const UniqueFd fd, newSocket(SOCK_NONBLOCK));
    return connectTo(fd, address) != ECONNREFUSED;
}

}  // namespace

Result<std::string> shortSocketPath(const std::string& path, UniqueFd& directory) {
    constexpr std::size_t kMax = sizeof(sockaddr_un::sun_path) - 1;
    if (path.size() <= kMax) {
        return path;
    }
    const std::filesystem::path p(path);
    directory.reset(::open(p.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.isOpen()) {
        return errnoStatus(errno, p.parent_path().string());
    }
    std::string name = strCat("/proc/self/fd/", directory.get(), "/", p.filename().string());
    if (name.size() > kMax) {
        return invalidArgument(path, ": socket name is too long");
    }
    return name;
}

Result<UniqueFd> listenUnix(const std::string& path, int backlog) {
    UniqueFd directory;
    ASSIGN_OR_RETURN(const sockaddr_un address, addressOf(path, directory));
    struct stat info{};
    if (::lstat(path.c_str(), &info) == 0) {
        if (!S_ISSOCK(info.st_mode)) {
            return alreadyExists(path, ": exists and is not a socket");
        }
        ASSIGN_OR_RETURN(const bool isAlive, isAnswered(address));
        if (isAlive) {
            return alreadyExists(path, ": somebody already listens here");
        }
        ::unlink(path.c_str());
    }
    ASSIGN_OR_RETURN(UniqueFd fd, newSocket());
    // The file inherits the socket's mode. A umask would affect every thread and child.
    if (::fchmod(fd.get(), 0600) != 0 ||
        ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return errnoStatus(errno, path);
    }
    if (::listen(fd.get(), backlog) != 0) {
        return errnoStatus(errno, path);
    }
    return fd;
}

Result<UniqueFd> connectUnix(const std::string& path, std::chrono::milliseconds timeout) {
    UniqueFd directory;
    ASSIGN_OR_RETURN(const sockaddr_un address, addressOf(path, directory));
    ASSIGN_OR_RETURN(UniqueFd fd, newSocket());
    RETURN_IF_ERROR(limitSending(fd, std::max(timeout, std::chrono::milliseconds(1))));
    RETURN_IF_ERROR(connectStatus(connectTo(fd, address), path));
    RETURN_IF_ERROR(limitSending(fd, std::chrono::milliseconds(0)));
    return fd;
}

Result<UniqueFd> connectUnixNonBlocking(const std::string& path) {
    UniqueFd directory;
    ASSIGN_OR_RETURN(const sockaddr_un address, addressOf(path, directory));
    ASSIGN_OR_RETURN(UniqueFd fd, newSocket(SOCK_NONBLOCK));
    RETURN_IF_ERROR(connectStatus(connectTo(fd, address), path));
    return fd;
}

Result<UniqueFd> connectOwnUnix(const std::string& path, std::chrono::milliseconds timeout) {
    const std::string parent = std::filesystem::path(path).parent_path().string();
    RETURN_IF_ERROR(checkSocketDirectory(parent.empty() ? "." : parent));
    ASSIGN_OR_RETURN(UniqueFd fd, connectUnix(path, timeout));
    RETURN_IF_ERROR(checkPeer(fd.get(), path));
    return fd;
}

Result<uid_t> peerUid(int fd) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
        return errnoStatus(errno, "peer credentials");
    }
    return credentials.uid;
}

bool isOwnUid(uid_t uid) {
    return uid == ::geteuid() || uid == 0;
}

Status checkPeer(int fd, std::string_view path) {
    ASSIGN_OR_RETURN(const uid_t uid, peerUid(fd));
    if (!isOwnUid(uid)) {
        return permissionDenied(path, ": is served by another user (uid ", uid,
                                "), which could read everything sent to it; nothing was sent");
    }
    return okStatus();
}

Status checkSocketDirectory(const std::string& directory) {
    struct stat info{};
    if (::stat(directory.c_str(), &info) != 0) {
        return errnoStatus(errno, directory);
    }
    if (!isOwnUid(info.st_uid)) {
        return permissionDenied(directory, ": belongs to another user (uid ", info.st_uid,
                                "), so a socket there is not safe; set XDG_RUNTIME_DIR or use a "
                                "directory of your own");
    }
    const bool isOpen = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (isOpen && (info.st_mode & S_ISVTX) == 0) {
        return permissionDenied(directory,
                                ": others may write here, so the socket would not be safe; "
                                "use a directory of mode 0700");
    }
    return okStatus();
}

Status sendWithFds(int fd, std::string_view bytes, const std::vector<int>& fds) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    std::vector<char> control(CMSG_SPACE(sizeof(int) * std::max<std::size_t>(fds.size(), 1)));
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
        std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
    }
    for (;;) {
        const ssize_t n = ::sendmsg(fd, &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        // More than the socket can hold: a reading peer soon makes room.
        constexpr int kPatienceMs = 1000;
        pollfd room{fd, POLLOUT, 0};
        if (n < 0 && errno == EAGAIN && ::poll(&room, 1, kPatienceMs) > 0) {
            continue;
        }
        if (n < 0) {
            return errnoStatus(errno, "send");
        }
        if (static_cast<std::size_t>(n) == part.iov_len) {
            return okStatus();
        }
        part.iov_base = static_cast<char*>(part.iov_base) + n;
        part.iov_len -= static_cast<std::size_t>(n);
        message.msg_control = nullptr;
        message.msg_controllen = 0;
    }
}

Result<std::string> receiveWithFds(int fd, std::size_t maxBytes, std::vector<UniqueFd>& fds) {
    constexpr std::size_t kMaxFds = 16;
    std::string bytes(maxBytes, '\0');
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)];
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t n = 0;
    do {
        n = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return errnoStatus(errno, "receive");
    }
    for (cmsghdr* h = CMSG_FIRSTHDR(&message); h != nullptr; h = CMSG_NXTHDR(&message, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const std::size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int passed = -1;
            std::memcpy(&passed, CMSG_DATA(h) + i * sizeof(int), sizeof(int));
            fds.emplace_back(passed);
        }
    }
    bytes.resize(static_cast<std::size_t>(n));
    return bytes;
}

}  // namespace millrace

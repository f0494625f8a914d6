#include "backend/core/unix_socket.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

Result<UniqueFd> newSocket() {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd.isOpen()) {
        return errnoStatus(errno, "socket");
    }
    return fd;
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
        if (connectUnix(path).ok()) {
            return alreadyExists(path, ": somebody already listens here");
        }
        ::unlink(path.c_str());
    }
    ASSIGN_OR_RETURN(UniqueFd fd, newSocket());
    const mode_t old = ::umask(0177);
    const int bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    const int error = errno;
    ::umask(old);
    if (bound != 0) {
        return errnoStatus(error, path);
    }
    if (::listen(fd.get(), backlog) != 0) {
        return errnoStatus(errno, path);
    }
    return fd;
}

Result<UniqueFd> connectUnix(const std::string& path) {
    UniqueFd directory;
    ASSIGN_OR_RETURN(const sockaddr_un address, addressOf(path, directory));
    ASSIGN_OR_RETURN(UniqueFd fd, newSocket());
    while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        if (errno != EINTR) {
            return errnoStatus(errno, path);
        }
    }
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

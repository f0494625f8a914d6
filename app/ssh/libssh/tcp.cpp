#include "app/ssh/libssh/tcp.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace millrace::libssh {
namespace {

using Clock = std::chrono::steady_clock;

struct FreeAddresses {
    void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

// Returns 0, or the errno of the failure.
int finishConnect(int fd, std::chrono::seconds timeout) {
    const auto end = Clock::now() + timeout;
    while (true) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        pollfd waited{fd, POLLOUT, 0};
        const int ready = ::poll(
            &waited, 1, timeout.count() == 0 ? -1 : std::max<int>(0, static_cast<int>(left)));
        if (ready == 0) {
            return ETIMEDOUT;
        }
        if (ready > 0) {
            int error = 0;
            socklen_t size = sizeof error;
            return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
        }
        if (errno != EINTR) {
            return errno;
        }
    }
}

int connectOne(const addrinfo& address, std::chrono::seconds timeout, UniqueFd* made) {
    UniqueFd fd(::socket(address.ai_family, address.ai_socktype, address.ai_protocol));
    if (!fd.isOpen()) {
        return errno;
    }
    ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
    ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
    int error = ::connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS || error == EINTR) {
        error = finishConnect(fd.get(), timeout);
    }
    if (error == 0) {
        const int on = 1;
        ::fcntl(fd.get(), F_SETFL, 0);
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ::setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        *made = std::move(fd);
    }
    return error;
}

}  // namespace

Result<TcpConnection> connectTcp(const std::string& host, int port, int family,
                                 std::chrono::seconds timeout) {
    addrinfo hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int code = ::getaddrinfo(host.c_str(), strCat(port).c_str(), &hints, &list);
    if (code != 0) {
        return unavailable("ssh: Could not resolve hostname ", host, ": ", ::gai_strerror(code));
    }
    const std::unique_ptr<addrinfo, FreeAddresses> owned(list);
    int error = EHOSTUNREACH;
    for (const addrinfo* address = list; address != nullptr; address = address->ai_next) {
        TcpConnection made;
        error = connectOne(*address, timeout, &made.fd);
        if (error == 0) {
            char text[NI_MAXHOST];
            if (::getnameinfo(address->ai_addr, address->ai_addrlen, text, sizeof text, nullptr, 0,
                              NI_NUMERICHOST) == 0) {
                made.address = text;
            }
            return made;
        }
    }
    return unavailable("ssh: connect to host ", host, " port ", port, ": ", std::strerror(error));
}

}  // namespace millrace::libssh

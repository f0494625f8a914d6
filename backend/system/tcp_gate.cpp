#include "backend/system/tcp_gate.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/core/log.h"
#include "backend/core/thread.h"
#include "backend/system/unix_listener.h"

namespace millrace {
namespace {

constexpr std::chrono::minutes kLogEvery{1};
// TCP_USER_TIMEOUT: unacknowledged data ends the connection after this time, like keep-alive. gRPC
// sets it for its own listeners.
constexpr unsigned kUnacknowledgedMs = 10'000;

struct FreeAddresses {
    void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> resolve(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const int code = ::getaddrinfo(host.c_str(), strCat(port).c_str(), &hints, &list);
    if (code != 0) {
        return unavailable(host, ":", port, ": cannot listen here: ", ::gai_strerror(code));
    }
    return Addresses(list);
}

int portOf(int socket) {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size);
    return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&name)->sin6_port
                                            : reinterpret_cast<sockaddr_in*>(&name)->sin_port);
}

void setPort(addrinfo& address, int port) {
    const auto number = htons(static_cast<std::uint16_t>(port));
    if (address.ai_family == AF_INET6) {
        reinterpret_cast<sockaddr_in6*>(address.ai_addr)->sin6_port = number;
    } else {
        reinterpret_cast<sockaddr_in*>(address.ai_addr)->sin_port = number;
    }
}

// Each connection inherits these options.
int listenAt(const addrinfo& address, UniqueFd& socket) {
    socket.reset(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int one = 1;
    const auto set = [&](int level, int option, const void* value, socklen_t size) {
        return ::setsockopt(socket.get(), level, option, value, size) == 0;
    };
    const bool isListening =
        socket.isOpen() && set(SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) &&
        set(IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) &&
        set(IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledgedMs, sizeof kUnacknowledgedMs) &&
        ::bind(socket.get(), address.ai_addr, address.ai_addrlen) == 0 &&
        ::listen(socket.get(), SOMAXCONN) == 0;
    return isListening ? 0 : errno;
}

// A machine without IPv6 still resolves names with an IPv6 address.
bool isAbsentFamily(int error) {
    return error == EADDRNOTAVAIL || error == EAFNOSUPPORT;
}

Result<std::vector<UniqueFd>> listenAtAll(const std::string& host, int port) {
    ASSIGN_OR_RETURN(const Addresses addresses, resolve(host, port));
    std::vector<UniqueFd> listeners;
    int error = 0;
    for (addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
        if (!listeners.empty()) {
            setPort(*address, portOf(listeners.front().get()));
        }
        UniqueFd socket;
        const int failed = listenAt(*address, socket);
        if (failed == 0) {
            listeners.push_back(std::move(socket));
            continue;
        }
        error = failed;
        if (!isAbsentFamily(failed)) {
            listeners.clear();
            break;
        }
    }
    if (listeners.empty()) {
        return unavailable(host, ":", port, ": cannot listen here: ", std::strerror(error),
                           "; is the address this machine's, and the port free?");
    }
    return listeners;
}

// Descriptors are assigned lowest number first: one from here on means that few are left.
int firstReserved() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t reserved = std::min<rlim_t>(TcpGate::kReserved, limit.rlim_cur / 4);
    return static_cast<int>(std::min<rlim_t>(limit.rlim_cur - reserved, INT32_MAX));
}

enum class Heard { kNothing, kSomething, kEnd };

Heard heardOf(int socket) {
    char byte = 0;
    const ssize_t n = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n > 0                                          ? Heard::kSomething
           : n < 0 && (errno == EAGAIN || errno == EINTR) ? Heard::kNothing
                                                          : Heard::kEnd;
}

}  // namespace

Result<std::unique_ptr<TcpGate>> TcpGate::open(const std::string& host, int port,
                                               std::function<void(int fd)> take,
                                               TcpGateOptions options) {
    ASSIGN_OR_RETURN(std::vector<UniqueFd> listeners, listenAtAll(host, port));
    UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake.isOpen()) {
        return errnoStatus(errno, "eventfd");
    }
    const int real = portOf(listeners.front().get());
    return std::unique_ptr<TcpGate>(
        new TcpGate(std::move(listeners), real, std::move(wake), std::move(take), options));
}

TcpGate::TcpGate(std::vector<UniqueFd> listeners, int port, UniqueFd wake,
                 std::function<void(int)> take, TcpGateOptions options)
    : listeners_(std::move(listeners)),
      port_(port),
      wake_(std::move(wake)),
      take_(std::move(take)),
      options_(options),
      shakingMost_(std::min(options.shakingMost, static_cast<std::size_t>(firstReserved()) / 2)) {
    thread_ = startThread("tcp-gate", [this](std::stop_token stop) { loop(stop); });
}

TcpGate::~TcpGate() {
    thread_.request_stop();
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);
    thread_.join();
}

void TcpGate::loop(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        wait(std::chrono::steady_clock::now());
        const Time now = std::chrono::steady_clock::now();
        look(now);
        for (const UniqueFd& listener : listeners_) {
            accept(listener.get(), now);
        }
    }
}

// Waits for bytes or new connections, as far as there is room for either, or until the oldest
// silent connection times out.
void TcpGate::wait(Time now) {
    const bool isFull = isShakingFull(now), isOpen = hasRoom(now) && now >= restsUntil_;
    std::vector<pollfd> fds{{wake_.get(), POLLIN, 0}};
    for (const UniqueFd& listener : listeners_) {
        fds.push_back({isOpen ? listener.get() : -1, POLLIN, 0});
    }
    for (const Silent& one : silent_) {
        fds.push_back({isFull ? -1 : one.socket.get(), POLLIN, 0});
    }
    Time until = Time::max();
    if (isFull) {
        until = shaking_.front() + options_.handshakeTime;
    } else if (!silent_.empty()) {
        until = silent_.front().since +
                (hasRoom(now) ? options_.silentTime : options_.silentTimeInCrowd);
    }
    if (now < restsUntil_) {
        until = std::min(until, restsUntil_);
    }
    ::poll(fds.data(), fds.size(), pollTimeout(now, until));
}

bool TcpGate::isShakingFull(Time now) {
    while (!shaking_.empty() && now >= shaking_.front() + options_.handshakeTime) {
        shaking_.pop_front();
    }
    return shaking_.size() >= shakingMost_;
}

// While none are passed on, the oldest connection may have sent its bytes long ago.
bool TcpGate::hasRoom(Time now) {
    return silent_.size() < options_.silentMost ||
           (!isShakingFull(now) && now >= silent_.front().since + options_.silentTimeInCrowd);
}

void TcpGate::look(Time now) {
    std::deque<Silent> silent;
    for (Silent& one : silent_) {
        const Heard heard = heardOf(one.socket.get());
        if (heard == Heard::kSomething && !isShakingFull(now)) {
            shaking_.push_back(now);
            take_(one.socket.release());
        } else if (heard == Heard::kNothing && now >= one.since + options_.silentTime) {
            refused("it said nothing in time", now);
        } else if (heard != Heard::kEnd) {
            silent.push_back(std::move(one));
        }
    }
    silent_ = std::move(silent);
}

void TcpGate::accept(int listener, Time now) {
    while (hasRoom(now) && now >= restsUntil_) {
        UniqueFd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket.isOpen()) {
            if (isOutOfSomething(errno)) {
                restsUntil_ = now + kAcceptRest;
            }
            return;
        }
        if (socket.get() >= firstReserved()) {
            refused("the descriptors that are left are for other listeners", now);
            continue;
        }
        if (silent_.size() >= options_.silentMost) {
            silent_.pop_front();
            refused("it was silent, and others waited", now);
        }
        silent_.push_back({std::move(socket), now});
    }
}

void TcpGate::refused(const char* why, Time now) {
    ++numRefused_;
    if (now >= logsAt_) {
        logWarn("tcp-gate: connections ended before they identified themselves",
                {{"port", port_}, {"connections", numRefused_}, {"last", why}});
        logsAt_ = now + kLogEvery;
        numRefused_ = 0;
    }
}

}  // namespace millrace

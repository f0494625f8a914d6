#include "backend/system/network_interface.h"

#include <cstring>
#include <memory>

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "backend/core/unique_fd.h"

namespace millrace {
namespace {

bool isSameAddress(const sockaddr& a, const sockaddr& b) {
    if (a.sa_family != b.sa_family) {
        return false;
    }
    if (a.sa_family == AF_INET) {
        return reinterpret_cast<const sockaddr_in&>(a).sin_addr.s_addr ==
               reinterpret_cast<const sockaddr_in&>(b).sin_addr.s_addr;
    }
    return a.sa_family == AF_INET6 &&
           std::memcmp(&reinterpret_cast<const sockaddr_in6&>(a).sin6_addr,
                       &reinterpret_cast<const sockaddr_in6&>(b).sin6_addr, sizeof(in6_addr)) == 0;
}

// The address of this machine from which `peer` is reached: a datagram socket that is connected
// has one, and sends nothing.
bool ownAddress(const addrinfo& peer, sockaddr_storage& own) {
    const UniqueFd fd(::socket(peer.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    socklen_t size = sizeof own;
    return fd.isOpen() && ::connect(fd.get(), peer.ai_addr, peer.ai_addrlen) == 0 &&
           ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0;
}

}  // namespace

std::string interfaceFacing(const std::string& host) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) {
        return "";
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> peers(found, &::freeaddrinfo);
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) {
        return "";
    }
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> interfaces(first, &::freeifaddrs);
    for (const addrinfo* peer = peers.get(); peer != nullptr; peer = peer->ai_next) {
        sockaddr_storage own{};
        if (!ownAddress(*peer, own)) {
            continue;
        }
        for (const ifaddrs* one = interfaces.get(); one != nullptr; one = one->ifa_next) {
            if (one->ifa_addr != nullptr &&
                isSameAddress(*one->ifa_addr, reinterpret_cast<const sockaddr&>(own))) {
                return one->ifa_name;
            }
        }
    }
    return "";
}

}  // namespace millrace

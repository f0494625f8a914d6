#include "backend/system/network_interface.h"

#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "backend/core/status.h"
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

// The first of the host's addresses that this machine has a way to.
bool ownAddressFacing(const std::string& host, sockaddr_storage& own) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) {
        return false;
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> peers(found, &::freeaddrinfo);
    for (const addrinfo* peer = peers.get(); peer != nullptr; peer = peer->ai_next) {
        if (ownAddress(*peer, own)) {
            return true;
        }
    }
    return false;
}

}  // namespace

std::string interfaceFacing(const std::string& host) {
    sockaddr_storage own{};
    ifaddrs* first = nullptr;
    if (!ownAddressFacing(host, own) || ::getifaddrs(&first) != 0) {
        return "";
    }
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> interfaces(first, &::freeifaddrs);
    for (const ifaddrs* one = interfaces.get(); one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr != nullptr &&
            isSameAddress(*one->ifa_addr, reinterpret_cast<const sockaddr&>(own))) {
            return one->ifa_name;
        }
    }
    return "";
}

std::string addressFacing(const std::string& host) {
    sockaddr_storage own{};
    char text[INET6_ADDRSTRLEN] = "";
    if (!ownAddressFacing(host, own)) {
        return "";
    }
    const bool isV6 = own.ss_family == AF_INET6;
    const void* address =
        isV6 ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(own).sin6_addr)
             : &reinterpret_cast<const sockaddr_in&>(own).sin_addr;
    ::inet_ntop(own.ss_family, address, text, sizeof text);
    return isV6 ? strCat("[", text, "]") : text;
}

}  // namespace millrace

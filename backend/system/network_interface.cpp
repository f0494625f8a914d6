#include "backend/system/network_interface.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include <arpa/inet.h>
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

// "[fd00::1]" in the form that system calls accept.
std::string withoutBrackets(const std::string& host) {
    return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

std::string textOf(const sockaddr& address) {
    char text[INET6_ADDRSTRLEN] = "";
    const bool isV6 = address.sa_family == AF_INET6;
    const void* bytes =
        isV6 ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr)
             : &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    ::inet_ntop(address.sa_family, bytes, text, sizeof text);
    return isV6 ? strCat("[", text, "]") : text;
}

/// A network in CIDR notation.
struct Network {
    int family = AF_INET;
    std::array<unsigned char, 16> bytes{};
    int bits = 0;

    bool has(const sockaddr& address) const {
        if (address.sa_family != family) {
            return false;
        }
        const auto* own = family == AF_INET6
                              ? reinterpret_cast<const sockaddr_in6&>(address).sin6_addr.s6_addr
                              : reinterpret_cast<const unsigned char*>(
                                    &reinterpret_cast<const sockaddr_in&>(address).sin_addr);
        for (int bit = 0; bit < bits; ++bit) {
            const auto at = static_cast<std::size_t>(bit / 8);
            if (((own[at] ^ bytes[at]) >> (7 - bit % 8) & 1) != 0) {
                return false;
            }
        }
        return true;
    }
};

std::optional<Network> networkOf(const std::string& text) {
    const std::size_t slash = text.find('/');
    const std::string address = withoutBrackets(text.substr(0, slash));
    Network network;
    network.family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
    const int most = network.family == AF_INET ? 32 : 128;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + slash + 1, end, network.bits);
    const bool isNumber = parsed.ec == std::errc() && parsed.ptr == end && network.bits >= 0;
    return isNumber && network.bits <= most &&
                   ::inet_pton(network.family, address.c_str(), network.bytes.data()) == 1
               ? std::optional(network)
               : std::nullopt;
}

bool isHostName(const std::string& text) {
    constexpr std::size_t kMost = 253;  // RFC 1035
    return !text.empty() && text.size() <= kMost && std::ranges::all_of(text, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
    });
}

// The address of this machine for reaching `peer`: connecting a datagram socket assigns it and
// sends nothing.
bool ownAddress(const addrinfo& peer, sockaddr_storage& own) {
    const UniqueFd fd(::socket(peer.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    socklen_t size = sizeof own;
    return fd.isOpen() && ::connect(fd.get(), peer.ai_addr, peer.ai_addrlen) == 0 &&
           ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0;
}

// Uses the first of the host's addresses to which this machine has a route.
bool ownAddressFacing(const std::string& bracketed, sockaddr_storage& own) {
    const std::string host = withoutBrackets(bracketed);
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

bool isLoopbackHost(const std::string& host) {
    addrinfo* found = nullptr;
    if (::getaddrinfo(withoutBrackets(host).c_str(), nullptr, nullptr, &found) != 0) {
        return false;
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, &::freeaddrinfo);
    for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
        const bool isLoopback =
            one->ai_family == AF_INET6
                ? IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<sockaddr_in6*>(one->ai_addr)->sin6_addr)
                : ntohl(reinterpret_cast<sockaddr_in*>(one->ai_addr)->sin_addr.s_addr) >> 24 ==
                      IN_LOOPBACKNET;
        if (!isLoopback) {
            return false;
        }
    }
    return true;
}

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
    return ownAddressFacing(host, own) ? textOf(reinterpret_cast<const sockaddr&>(own)) : "";
}

Result<std::string> ownAddressAs(const std::string& text) {
    if (text.find('/') == std::string::npos) {
        const std::string host = withoutBrackets(text);
        in6_addr v6{};
        if (::inet_pton(AF_INET6, host.c_str(), &v6) == 1) {
            return strCat("[", host, "]");
        }
        return isHostName(text) ? Result<std::string>(text)
                                : invalidArgument("'", text,
                                                  "': a name, an address or a network "
                                                  "(10.1.0.0/16) is wanted");
    }
    const std::optional<Network> network = networkOf(text);
    if (!network.has_value()) {
        return invalidArgument("'", text, "': a network is written as 10.1.0.0/16 or fd00::/8");
    }
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) {
        return errnoStatus(errno, "getifaddrs");
    }
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> interfaces(first, &::freeifaddrs);
    for (const ifaddrs* one = interfaces.get(); one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr != nullptr && network->has(*one->ifa_addr)) {
            return textOf(*one->ifa_addr);
        }
    }
    return notFound("no interface of this machine has an address in ", text);
}

}  // namespace millrace

#include "app/ssh/libssh/connection.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/ssh/libssh/authentication.h"
#include "app/ssh/libssh/frames.h"
#include "app/ssh/libssh/host_keys.h"
#include "app/ssh/libssh/jump.h"

namespace millrace::libssh {
namespace {

constexpr int kMostJumps = 8;
// For a host that accepts and then sends nothing, if no timeout was given.
constexpr long kHandshakeSeconds = 60;

void setText(ssh_session session, ssh_options_e option, const std::string& value) {
    ssh_options_set(session, option, value.c_str());
}

// Started here, not by libssh, whose child holds both ends of its socket and outlives a master that
// was killed.
Result<Subprocess> startProxy(const std::string& command, int socket) {
    SubprocessOptions options;
    options.argv = {"/bin/sh", "-c", "exec " + command};
    options.stdinFd = options.stdoutFd = socket;
    options.dieWithParent = true;
    return Subprocess::start(options);
}

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

struct TcpConnection {
    UniqueFd fd;          ///< blocking
    std::string address;  ///< "127.0.0.1"
};

// Tries each of the host's addresses in turn. `family`: AF_UNSPEC for any. `timeout` 0: the
// system's limit. kUnavailable with ssh(1)'s line.
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

}  // namespace

Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::open(const Settings& settings,
                                                     const ConnectContext& context, int depth) {
    for (const std::string& line : settings.unheeded) {
        sayOnStderr(strCat("millrace-ssh: ", line, " is not known here and is ignored"));
    }
    std::unique_ptr<Connection> made(new Connection());
    RETURN_IF_ERROR(made->prepare(settings));
    RETURN_IF_ERROR(made->takeWay(settings, context, depth));
    RETURN_IF_ERROR(made->shakeHands(settings));
    RETURN_IF_ERROR(checkHostKey(made->session(), settings, made->address_, context.questions));
    RETURN_IF_ERROR(Authentication(made->session(), settings, context.questions).run());
    return made;
}

Status Connection::prepare(const Settings& settings) {
    session_.reset(ssh_new());
    if (session_ == nullptr) {
        return resourceExhausted("ssh: no memory for a session");
    }
    ssh_session session = session_.get();
    const bool reads = false;
    ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &reads);
    setText(session, SSH_OPTIONS_HOST, settings.alias);
    // libssh reads only ciphers and the like from the file; all other settings are overwritten
    // below.
    if (settings.configFile != "none" &&
        ssh_options_parse_config(
            session, settings.configFile.empty() ? nullptr : settings.configFile.c_str()) !=
            SSH_OK) {
        sayOnStderr(strCat("millrace-ssh: ", settings.configFile,
                           ": libssh reads no ciphers from it: ", errorOf(session)));
    }
    ssh_set_log_level(SSH_LOG_NOLOG);
    const bool hasName = !settings.hostKeyName.empty();
    const unsigned port = hasName ? 22 : static_cast<unsigned>(settings.port);
    setText(session, SSH_OPTIONS_HOST, hasName ? settings.hostKeyName : settings.hostName);
    ssh_options_set(session, SSH_OPTIONS_PORT, &port);
    setText(session, SSH_OPTIONS_USER, settings.user);
    const auto first = [](const std::vector<std::string>& files) {
        return files.empty() || files[0] == "none" ? std::string("/dev/null") : files[0];
    };
    setText(session, SSH_OPTIONS_KNOWNHOSTS, first(settings.userKnownHosts));
    setText(session, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, first(settings.globalKnownHosts));
    setText(session, SSH_OPTIONS_PROXYCOMMAND, "none");
    const long timeout =
        settings.connectTimeout.count() > 0 ? settings.connectTimeout.count() : kHandshakeSeconds;
    ssh_options_set(session, SSH_OPTIONS_TIMEOUT, &timeout);
    return okStatus();
}

Status Connection::takeWay(const Settings& settings, const ConnectContext& context, int depth) {
    if (!settings.jumps.empty()) {
        if (depth >= kMostJumps) {
            return failedPrecondition("ssh: more than ", kMostJumps, " hosts on the way to ",
                                      settings.hostName);
        }
        ASSIGN_OR_RETURN(Settings on,
                         settingsForJump(settings.jumps.back(), context.invocation, context.local));
        if (settings.jumps.size() > 1) {
            on.jumps.assign(settings.jumps.begin(), settings.jumps.end() - 1);
            on.proxyCommand.clear();
        }
        // The session at the end of the chain notices a link that hangs.
        on.aliveInterval = std::chrono::seconds(0);
        ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, open(on, context, depth + 1));
        ASSIGN_OR_RETURN(jump_,
                         Jump::open(std::move(connection), on, settings.hostName, settings.port));
        const socket_t fd = jump_->releaseSocket();
        ssh_options_set(session(), SSH_OPTIONS_FD, &fd);
        return okStatus();
    }
    UniqueFd way;
    if (settings.proxyCommand.empty()) {
        ASSIGN_OR_RETURN(TcpConnection tcp,
                         connectTcp(settings.hostName, settings.port, settings.addressFamily,
                                    settings.connectTimeout));
        address_ = tcp.address;
        way = std::move(tcp.fd);
    } else {
        UniqueFd far;
        RETURN_IF_ERROR(makeSocketPair(way, far));
        ASSIGN_OR_RETURN(Subprocess proxy, startProxy(settings.proxyCommand, far.get()));
        proxy_.emplace(std::move(proxy));
    }
    const socket_t fd = way.release();
    ssh_options_set(session(), SSH_OPTIONS_FD, &fd);
    return okStatus();
}

Status Connection::shakeHands(const Settings& settings) {
    if (ssh_connect(session()) == SSH_OK) {
        return okStatus();
    }
    const std::string error = errorOf(session());
    if (error.find("imeout") != std::string::npos) {
        return unavailable("Connection timed out during banner exchange\nConnection to ",
                           settings.hostName, " port ", settings.port, " timed out");
    }
    return unavailable("kex_exchange_identification: ", error, "\nConnection closed by ",
                       settings.hostName, " port ", settings.port);
}

}  // namespace millrace::libssh

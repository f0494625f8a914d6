#include "backend/system/unix_listener.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/socket.h>

#include "backend/core/log.h"
#include "backend/system/unix_socket.h"

namespace millrace {
bool isOutOfSomething(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

Result<UnixListener> UnixListener::open(std::string path, std::string name) {
    ASSIGN_OR_RETURN(UniqueFd fd, listenUnix(path));
    // A peer may disappear between poll() and accept().
    ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
    return UnixListener(std::move(path), std::move(name), std::move(fd));
}

std::optional<UniqueFd> UnixListener::accept() {
    UniqueFd peer(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer.isOpen()) {
        if (isOutOfSomething(errno)) {
            restsUntil_ = std::chrono::steady_clock::now() + kAcceptRest;
            logWarn(name_ + ": no descriptor for a connection", {{"socket", path_}});
        }
        return std::nullopt;
    }
    const Result<uid_t> uid = peerUid(peer.get());
    if (!uid.ok() || !isOwnUid(*uid)) {
        logWarn(name_ + ": refused another user",
                {{"uid", uid.ok() ? strCat(*uid) : std::string("unknown")}});
        return std::nullopt;
    }
    return peer;
}

void UnixListener::turnAway(std::size_t connections) {
    if (accept().has_value()) {
        logWarn(name_ + ": refused a connection", {{"connections", connections}});
    }
}

int pollTimeout(UnixListener::Time now, UnixListener::Time earliest) {
    if (earliest == UnixListener::Time::max()) {
        return -1;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(earliest - now);
    // Adds one, so that the time has passed when poll() returns.
    return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, 3'600'000));
}

}  // namespace millrace

#include "daemon/rpc/peer_gate.h"

#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/core/log.h"
#include "backend/core/thread.h"
#include "backend/core/unix_socket.h"

namespace millrace::rpc {

Result<std::unique_ptr<PeerGate>> PeerGate::open(const std::string& path,
                                                 std::function<void(int fd)> take) {
    ASSIGN_OR_RETURN(UniqueFd listener, listenUnix(path));
    UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake.isOpen()) {
        return errnoStatus(errno, "eventfd");
    }
    return std::unique_ptr<PeerGate>(
        new PeerGate(path, std::move(listener), std::move(wake), std::move(take)));
}

PeerGate::PeerGate(std::string path, UniqueFd listener, UniqueFd wake,
                   std::function<void(int)> take)
    : path_(std::move(path)),
      listener_(std::move(listener)),
      wake_(std::move(wake)),
      take_(std::move(take)) {
    thread_ = startThread("gate", [this](std::stop_token stop) { loop(stop); });
}

PeerGate::~PeerGate() {
    ::unlink(path_.c_str());
    thread_.request_stop();
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);
    thread_.join();
}

void PeerGate::loop(std::stop_token stop) {
    int waitMs = -1;
    while (!stop.stop_requested()) {
        pollfd fds[2] = {{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
        // Out of descriptors: leave the listener alone for a moment, or this would spin.
        const bool isPausing = waitMs > 0;
        const int ready = ::poll(fds, isPausing ? 1 : 2, waitMs);
        waitMs = -1;
        if (ready > 0 && !isPausing && fds[1].revents != 0) {
            errno = 0;
            acceptOne();
            waitMs = errno == EMFILE || errno == ENFILE ? 200 : -1;
        }
    }
}

void PeerGate::acceptOne() {
    UniqueFd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer.isOpen()) {
        return;
    }
    const Result<uid_t> uid = peerUid(peer.get());
    if (!uid.ok() || (*uid != ::geteuid() && *uid != 0)) {
        logWarn("gate: peer refused", {{"uid", uid.ok() ? strCat(*uid) : std::string("unknown")}});
        return;
    }
    take_(peer.release());
    errno = 0;
}

}  // namespace millrace::rpc

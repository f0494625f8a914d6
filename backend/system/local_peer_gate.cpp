#include "backend/system/local_peer_gate.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "backend/core/log.h"
#include "backend/core/thread.h"
#include "backend/filesystem/files.h"
#include "backend/system/unix_socket.h"

namespace millrace {

Result<std::unique_ptr<LocalPeerGate>> LocalPeerGate::open(const std::string& path,
                                                           std::function<void(int fd)> take,
                                                           std::chrono::milliseconds lookEvery) {
    ASSIGN_OR_RETURN(UnixListener listener, UnixListener::open(path, "gate"));
    UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake.isOpen()) {
        return errnoStatus(errno, "eventfd");
    }
    return std::unique_ptr<LocalPeerGate>(
        new LocalPeerGate(std::move(listener), std::move(wake), std::move(take), lookEvery));
}

LocalPeerGate::LocalPeerGate(UnixListener listener, UniqueFd wake, std::function<void(int)> take,
                             std::chrono::milliseconds lookEvery)
    : listener_(std::move(listener)),
      wake_(std::move(wake)),
      take_(std::move(take)),
      lookEvery_(lookEvery) {
    ::stat(listener_.path().c_str(), &file_);
    thread_ = startThread("gate", [this](std::stop_token stop) { loop(stop); });
}

LocalPeerGate::~LocalPeerGate() {
    thread_.request_stop();
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);
    thread_.join();
    if (hasOwnFile()) {
        ::unlink(listener_.path().c_str());
    }
}

void LocalPeerGate::loop(std::stop_token stop) {
    UnixListener::Time lookAt = std::chrono::steady_clock::now() + lookEvery_;
    while (!stop.stop_requested()) {
        const UnixListener::Time now = std::chrono::steady_clock::now();
        if (now >= lookAt) {
            look();
            lookAt = now + lookEvery_;
        }
        pollfd fds[2] = {{wake_.get(), POLLIN, 0}, {listener_.pollFd(now), POLLIN, 0}};
        const int ready = ::poll(fds, 2, pollTimeout(now, std::min(lookAt, listener_.wakeAt(now))));
        if (ready > 0 && fds[1].revents != 0) {
            if (std::optional<UniqueFd> peer = listener_.accept()) {
                take_(peer->release());
            }
        }
    }
}

bool LocalPeerGate::hasOwnFile() const {
    struct stat info{};
    return ::stat(listener_.path().c_str(), &info) == 0 && info.st_dev == file_.st_dev &&
           info.st_ino == file_.st_ino;
}

void LocalPeerGate::look() {
    if (hasOwnFile()) {
        return;
    }
    const std::string path = listener_.path();
    // The parent's parent belongs to the system (/run/user): creates only our own directory.
    const std::string parent = std::filesystem::path(path).parent_path().string();
    std::error_code error;
    Status status = std::filesystem::exists(parent, error) ? checkSocketDirectory(parent)
                                                           : makePrivateDirectory(parent);
    if (status.ok()) {
        Result<UnixListener> again = UnixListener::open(path, "gate");
        status = again.status();
        if (again.ok()) {
            listener_ = std::move(*again);
            ::stat(path.c_str(), &file_);
            isMissing_ = false;
            logWarn("gate: the socket's file was gone and is made again", {{"socket", path}});
            return;
        }
    }
    if (!std::exchange(isMissing_, true)) {
        logWarn(
            "gate: the socket's file is gone, nobody can reach this daemon until it can be "
            "made again",
            {{"socket", path}, {"why", messageOf(status)}});
    }
}

}  // namespace millrace

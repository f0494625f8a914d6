#pragma once
// PeerGate: accepts connections on a unix socket, lets in only this user and root (SO_PEERCRED),
// and hands them to the server.
//
// The socket's file may be taken away under a daemon that goes on: systemd-logind removes
// XDG_RUNTIME_DIR at the user's last logout. The gate notices and makes it again as soon as it can.
// Threads: one of its own ("gate"). Owns: the listening socket; the socket's file is removed at the
// end. Failure: a peer of another user is logged and closed; so is a socket that cannot be made
// again, once.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <sys/stat.h>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "backend/system/unix_listener.h"

namespace millrace {

class PeerGate {
 public:
    /// `take` gets a connected, non-blocking socket that is then its own.
    static Result<std::unique_ptr<PeerGate>> open(
        const std::string& path, std::function<void(int fd)> take,
        std::chrono::milliseconds lookEvery = std::chrono::seconds(2));
    ~PeerGate();

 private:
    PeerGate(UnixListener listener, UniqueFd wake, std::function<void(int)> take,
             std::chrono::milliseconds lookEvery);
    void loop(std::stop_token stop);
    bool hasOwnFile() const;
    void look();

    UnixListener listener_;
    const UniqueFd wake_;
    const std::function<void(int)> take_;
    const std::chrono::milliseconds lookEvery_;
    struct stat file_{};      ///< of the socket's file as it was made
    bool isMissing_ = false;  ///< said in the log
    std::jthread thread_;
};

}  // namespace millrace

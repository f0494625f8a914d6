#pragma once
// LocalPeerGate: accepts connections on a unix socket, admits only this user and root
// (SO_PEERCRED), and passes them to the server.
//
// The socket's file may be removed while the daemon runs: systemd-logind removes XDG_RUNTIME_DIR at
// the user's last logout. The gate notices it and recreates the file as soon as possible.
// Threads: one of its own ("gate"). Owns: the listening socket; removes the socket's file at the
// end. Failure: a peer of another user is logged and closed; a socket that cannot be recreated is
// logged once.
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

class LocalPeerGate {
 public:
    /// `take` gets a connected, non-blocking socket and owns it.
    static Result<std::unique_ptr<LocalPeerGate>> open(
        const std::string& path, std::function<void(int fd)> take,
        std::chrono::milliseconds lookEvery = std::chrono::seconds(2));
    ~LocalPeerGate();

 private:
    LocalPeerGate(UnixListener listener, UniqueFd wake, std::function<void(int)> take,
                  std::chrono::milliseconds lookEvery);
    void loop(std::stop_token stop);
    bool hasOwnFile() const;
    void look();

    UnixListener listener_;
    const UniqueFd wake_;
    const std::function<void(int)> take_;
    const std::chrono::milliseconds lookEvery_;
    struct stat file_{};      ///< identity of the socket's file when it was created
    bool isMissing_ = false;  ///< already logged
    std::jthread thread_;
};

}  // namespace millrace

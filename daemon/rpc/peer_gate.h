#pragma once
// PeerGate: accepts connections on a unix socket, lets in only this user and root (SO_PEERCRED),
// and hands them to the server.
//
// Threads: one of its own ("gate"). Owns: the listening socket; the socket's file is removed at the
// end. Failure: a peer of another user is logged and closed.
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::rpc {

class PeerGate {
 public:
    /// `take` gets a connected, non-blocking socket that is then its own.
    static Result<std::unique_ptr<PeerGate>> open(const std::string& path,
                                                  std::function<void(int fd)> take);
    ~PeerGate();

 private:
    PeerGate(std::string path, UniqueFd listener, UniqueFd wake, std::function<void(int)> take);
    void loop(std::stop_token stop);
    void acceptOne();

    const std::string path_;
    UniqueFd listener_, wake_;
    const std::function<void(int)> take_;
    std::jthread thread_;
};

}  // namespace millrace::rpc

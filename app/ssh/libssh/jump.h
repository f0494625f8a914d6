#pragma once
// A host on the way: a session with it, and in that session one channel to the next host, which is
// a socket here.
//
// Threads: one of its own pumps the session from then on; joined by the destructor. Failure: a
// channel that the host does not open ends the socket, and says why on stderr.
#include <memory>
#include <string>
#include <thread>

#include "app/ssh/libssh/connection.h"
#include "backend/core/unique_fd.h"

namespace millrace::libssh {

class Jump {
 public:
    /// Through `connection` to host:port as that host sees them.
    static Result<std::unique_ptr<Jump>> open(std::unique_ptr<Connection> connection,
                                              const Settings& settings, const std::string& host,
                                              int port);
    ~Jump();
    /// The way to the next host; closed by who takes it.
    int releaseSocket() { return socket_.release(); }

 private:
    Jump(std::unique_ptr<Connection> connection, UniqueFd socket);
    void pump(const Settings& settings, const std::string& host, int port, UniqueFd far, int stop);

    std::unique_ptr<Connection> connection_;
    UniqueFd socket_;
    UniqueFd stop_;  // closed: the thread ends
    std::jthread thread_;
};

}  // namespace millrace::libssh

#pragma once
// Jump: a session with a host on the way, and in it one channel to the next host, which is a socket
// here.
//
// Threads: one of its own pumps the session from then on; joined by the destructor. Failure: if the
// host does not open the channel, the socket ends and the reason goes to stderr.
#include <memory>
#include <string>
#include <thread>

#include "app/ssh/libssh/connection.h"
#include "backend/core/unique_fd.h"

namespace millrace::libssh {

class Jump {
 public:
    /// Connects through `connection` to host:port as that host sees them.
    static Result<std::unique_ptr<Jump>> open(std::unique_ptr<Connection> connection,
                                              const Settings& settings, const std::string& host,
                                              int port);
    ~Jump();
    /// The socket to the next host; the caller closes it.
    int releaseSocket() { return socket_.release(); }

 private:
    Jump(std::unique_ptr<Connection> connection, UniqueFd socket);
    void pump(const Settings& settings, const std::string& host, int port, UniqueFd far, int stop);

    std::unique_ptr<Connection> connection_;
    UniqueFd socket_;
    UniqueFd stop_;  // closing it ends the thread
    std::jthread thread_;
};

}  // namespace millrace::libssh

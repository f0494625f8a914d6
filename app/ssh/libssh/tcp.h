#pragma once
// Opens a TCP connection to a host by name: tries each of its addresses in turn, within a timeout.
//
// Threads: any. Failure: kUnavailable with ssh(1)'s line.
#include <chrono>
#include <string>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"

namespace millrace::libssh {

struct TcpConnection {
    UniqueFd fd;          ///< blocking
    std::string address;  ///< "127.0.0.1"
};

/// `family`: AF_UNSPEC for any. `timeout` 0: the system's limit.
Result<TcpConnection> connectTcp(const std::string& host, int port, int family,
                                 std::chrono::seconds timeout);

}  // namespace millrace::libssh

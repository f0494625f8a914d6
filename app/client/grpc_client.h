#pragma once
// DaemonClient over gRPC: one channel, remade after it broke.
//
// A unix socket is connected here and its descriptor given to gRPC, so that paths of any length
// work and a missing daemon is known at once; HOST:PORT is left to gRPC; another host's socket is
// dialed by a Way. Threads: as DaemonClient.
// A call is tried again once when the daemon was restarted since the call before.
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "app/client/daemon_client.h"
#include "backend/core/paths.h"
#include "backend/core/unique_fd.h"

namespace millrace::client {

/// PEM files for a daemon on HOST:PORT; empty: no TLS.
struct ClientTlsFiles {
    std::string authority, certificate, key;
};

/// How a daemon is reached whose address is not connected to here (ssh://...).
struct Way {
    /// A connected socket that ends at the daemon; its errors are whole sentences.
    std::function<Result<UniqueFd>(const std::stop_token&)> dial;
    /// Why such a socket was closed without a word.
    std::function<Status(const std::stop_token&)> whyClosed;
};

struct GrpcClientOptions {
    Address address;
    std::string clientName = "millrace";  ///< program and version, for the daemon's log
    ClientTlsFiles tls = {};
    Way way = {};  ///< of an ssh address
};

/// Nothing is connected yet: the first call does that.
std::unique_ptr<DaemonClient> makeGrpcClient(GrpcClientOptions options);

}  // namespace millrace::client

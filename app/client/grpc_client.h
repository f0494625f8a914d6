#pragma once
// DaemonClient over gRPC: one channel, which is replaced after it broke.
//
// A unix socket is connected here and its descriptor passed to gRPC, so that paths of any length
// work and a missing daemon is noticed at once; gRPC itself connects to HOST:PORT; a Way dials
// another host's socket. Threads: as DaemonClient. A call is retried once if the daemon was
// restarted since the previous call.
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "app/client/daemon_client.h"
#include "backend/core/unique_fd.h"
#include "backend/filesystem/paths.h"

namespace millrace::client {

/// PEM files for a daemon on HOST:PORT; empty: no TLS.
struct ClientTlsFiles {
    std::string authority, certificate, key;
};

/// How to reach a daemon whose address this client does not connect to itself (ssh://...).
struct Way {
    /// A connected socket that ends at the daemon; its errors are whole sentences.
    std::function<Result<UniqueFd>(const std::stop_token&)> dial;
    /// Why such a socket was closed without an error.
    std::function<Status(const std::stop_token&)> whyClosed;
};

struct GrpcClientOptions {
    Address address;
    std::string clientName = "millrace";  ///< program and version, for the daemon's log
    ClientTlsFiles tls = {};
    Way way = {};  ///< for an ssh address
};

/// Does not connect yet: the first call does that.
std::unique_ptr<DaemonClient> makeGrpcClient(GrpcClientOptions options);

}  // namespace millrace::client

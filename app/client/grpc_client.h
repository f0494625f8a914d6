#pragma once
// DaemonClient over gRPC: one channel, remade after it broke.
//
// A unix socket is connected here and its descriptor given to gRPC, so that paths of any length
// work and a missing daemon is known at once; HOST:PORT is left to gRPC. Threads: as DaemonClient.
// A call is tried again once when the daemon was restarted since the call before.
#include <memory>
#include <string>

#include "app/client/daemon_client.h"
#include "backend/core/paths.h"

namespace millrace::client {

/// PEM files for a daemon on HOST:PORT; empty: no TLS.
struct ClientTlsFiles {
    std::string authority, certificate, key;
};

struct GrpcClientOptions {
    Address address;
    std::string clientName = "millrace";  ///< program and version, for the daemon's log
    ClientTlsFiles tls = {};
};

/// Nothing is connected yet: the first call does that.
std::unique_ptr<DaemonClient> makeGrpcClient(GrpcClientOptions options);

}  // namespace millrace::client

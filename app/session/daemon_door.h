#pragma once
// A client for an address of any kind, for every face: a socket of this machine, HOST:PORT, or
// ssh://HOST through the one connection that this process has to that host.
//
// Threads: any. Owns: nothing; `hosts` outlives the clients.
#include <memory>
#include <string>

#include "app/client/grpc_client.h"
#include "app/ssh/host.h"

namespace millrace::session {

/// Nothing is connected yet: the first call does that.
std::unique_ptr<client::DaemonClient> openClient(const Address& address, std::string clientName,
                                                 client::ClientTlsFiles tls, ssh::Hosts& hosts);

}  // namespace millrace::session

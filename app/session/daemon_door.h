#pragma once
// Opens a client for an address of any kind, for every user interface: a socket of this machine,
// HOST:PORT, or ssh://HOST through this process's single connection to that host.
//
// Threads: any. Owns: nothing; `hosts` outlives the clients.
#include <memory>
#include <string>

#include "app/client/grpc_client.h"
#include "app/ssh/host.h"

namespace millrace::session {

/// Does not connect yet: the first call does that.
std::unique_ptr<client::DaemonClient> openClient(const Address& address, std::string clientName,
                                                 client::ClientTlsFiles tls, ssh::Hosts& hosts);

}  // namespace millrace::session

#include "app/session/daemon_door.h"

#include <utility>

namespace millrace::session {

std::unique_ptr<client::DaemonClient> openClient(const Address& address, std::string clientName,
                                                 client::ClientTlsFiles tls, ssh::Hosts& hosts) {
    client::GrpcClientOptions options;
    options.address = address;
    options.clientName = std::move(clientName);
    options.tls = std::move(tls);
    if (address.isSsh) {
        ssh::Host& host = hosts.at(address);
        options.way.dial = [&host, path = address.unixPath](const std::stop_token& stop) {
            return host.dial(path, stop);
        };
        options.way.whyClosed = [&host, path = address.unixPath](const std::stop_token& stop) {
            return host.whyClosed(path, stop);
        };
    }
    return client::makeGrpcClient(std::move(options));
}

}  // namespace millrace::session

#pragma once
// RankTunnel: the listener of an attempt on a node of one of its parts. Ranks and relay use it like
// the head's own listener; each connection becomes a call to the head (Agents.Tunnel).
//
// Nothing is kept here: when a call ends, the worker's connection ends too; the worker then
// connects again and sends what was not acknowledged. Threads: the gate's and the pump's; made and
// ended by one owner. Owns: the socket, all connections. Bounded: by the pump. Failure: open()
// returns a sentence; the reason why the head cannot be reached is logged once.
#include <memory>
#include <string>

#include "backend/job/attempt_paths.h"
#include "backend/system/local_peer_gate.h"
#include "daemon/nodes/uplink.h"
#include "daemon/transport/socket_pump.h"
#include "daemon/transport/transport.h"

namespace millrace::nodes {

/// Length of the key that an agent makes for its tunnels.
inline constexpr std::size_t kTunnelKeyBytes = 32;

class RankTunnel final : public PartTunnel {
 public:
    /// How an agent reaches its head.
    struct Way {
        std::string joinPath;   ///< read for each connection: a head may have moved
        std::string tunnelKey;  ///< of this agent's attachment (HeadLink)
        std::shared_ptr<transport::SharedChannel> channel;  ///< shared by all its tunnels
    };
    static Result<std::unique_ptr<RankTunnel>> open(const job::AttemptPaths& paths,
                                                    const std::string& run, int attempt, Way way);

 private:
    RankTunnel(std::string run, int attempt, Way way)
        : run_(std::move(run)), attempt_(attempt), way_(std::move(way)) {}
    void take(UniqueFd socket);
    Status call(UniqueFd socket);

    const std::string run_;
    const int attempt_;
    const Way way_;
    std::string told_;  ///< of the gate's thread: the reason logged last
    std::unique_ptr<transport::SocketPump> pump_;
    std::unique_ptr<LocalPeerGate> gate_;  ///< ends first
};

}  // namespace millrace::nodes

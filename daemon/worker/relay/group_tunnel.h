#pragma once
// The tunnel of a group. Ranks of the built-in trainer meet at a unix socket on rank 0's machine
// (train/ranks/group.h). Ranks on other nodes find a socket of that name there. The relay forwards
// each connection to it through a call to the leading feed, and the feed to rank 0.
//
// The pump bounds the bytes in memory. Threads: of their own (gate, pump, and "group-gate" at the
// feed). Owns: sockets and calls. Failure: a connection that breaks anywhere is closed at both
// ends, which ranks see as the end of the other.
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/system/local_peer_gate.h"
#include "daemon/transport/duplex.h"
#include "daemon/transport/socket_pump.h"
#include "millrace/v1/data.grpc.pb.h"

namespace millrace::relay {

/// The socket that ranks on a relay's node connect to.
class GroupEntry {
 public:
    using Call = transport::ClientDuplex<v1::GroupBytes, v1::GroupBytes>;
    /// `joinPath`: of the leading feed; read for each connection.
    static Result<std::unique_ptr<GroupEntry>> open(const std::string& socketPath,
                                                    std::string joinPath, std::string buildId);
    /// Connections that are open.
    std::size_t numOpen();

 private:
    GroupEntry(std::string joinPath, std::string buildId)
        : joinPath_(std::move(joinPath)), buildId_(std::move(buildId)) {}
    Status carry(UniqueFd socket);

    const std::string joinPath_, buildId_;
    Mutex mutex_;
    std::list<std::weak_ptr<Call>> calls_ MR_GUARDED_BY(mutex_);
    std::unique_ptr<transport::SocketPump> pump_;
    std::unique_ptr<LocalPeerGate> gate_;  ///< ends first
};

/// The leading feed's side: connects each of them to rank 0, which may start later than the others.
class GroupExit {
 public:
    using Call = transport::ServerDuplex<v1::GroupBytes, v1::GroupBytes>;
    using Admits = std::function<Status(const v1::JoinRequest&)>;
    static Result<std::unique_ptr<GroupExit>> open(std::string socketPath, Admits admits);
    ~GroupExit();

    std::shared_ptr<Call> call();
    std::size_t numOpen();

 private:
    using Port = transport::SocketPump::Port;
    /// A call; its messages go to the port once there is one.
    struct Way {
        std::weak_ptr<Call> call;
        Mutex mutex;
        std::shared_ptr<const Port> port MR_GUARDED_BY(mutex);
        std::shared_ptr<const Port> to() {
            MutexLock lock(mutex);
            return port;
        }
    };
    struct Waiting {
        std::shared_ptr<Way> way;
        std::int64_t endNs = 0;  ///< when rank 0 counts as missing
    };
    GroupExit(std::string socketPath, Admits admits)
        : socketPath_(std::move(socketPath)), admits_(std::move(admits)) {}
    void came(const std::shared_ptr<Way>& way, v1::GroupBytes& bytes);
    void run(const std::stop_token& stop);
    /// True: it is connected, or over.
    bool settle(const Waiting& waiting);

    const std::string socketPath_;
    const Admits admits_;
    std::unique_ptr<transport::SocketPump> pump_;
    Mutex mutex_;
    CondVar changed_;
    std::vector<Waiting> waiting_ MR_GUARDED_BY(mutex_);
    std::list<std::weak_ptr<Call>> calls_ MR_GUARDED_BY(mutex_);
    std::jthread thread_;
};

}  // namespace millrace::relay

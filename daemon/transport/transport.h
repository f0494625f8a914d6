#pragma once
// How the members of a join file reach each other (a feed and its data workers, a head and the
// agents of its nodes): a unix socket on one machine, TLS over TCP between machines. The listener
// shows the certificate that the file pins, and each call over TCP shows the file's token.
//
// Threads: any. Failure: kUnavailable when nobody listens, kUnauthenticated for another token; a
// sentence with the address.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <grpcpp/grpcpp.h>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/system/peer_gate.h"
#include "backend/system/tcp_gate.h"
#include "daemon/transport/join_file.h"

namespace millrace::transport {

/// A connection of its own to whoever wrote the join file.
Result<std::shared_ptr<grpc::Channel>> openChannel(const JoinFile& file);

/// One connection for many calls to whoever wrote a join file, made again for another file. Over a
/// unix socket, whose connections cannot be made again, each call gets its own. Threads: any.
class SharedChannel {
 public:
    Result<std::shared_ptr<grpc::Channel>> open(const JoinFile& file);

 private:
    Mutex mutex_;
    std::string text_ MR_GUARDED_BY(mutex_);  ///< of its join file
    std::shared_ptr<grpc::Channel> channel_ MR_GUARDED_BY(mutex_);
};

/// Whether a call that shows this token is let in. Called on gRPC's threads, and must not wait.
using TokenCheck = std::function<bool(std::string_view token)>;

/// A listening server. Owns: socket and gate, which bounds what strangers hold over TCP (TcpGate):
/// a call without a token reaches no service, and a connection without a call ends after
/// kHandshakeTime. The destructor ends calls that are open, after a moment in which they may end
/// themselves.
class Server {
 public:
    /// `file.address` as it is to be; a port of 0 is a free one, which `file` then names.
    /// On a unix socket, which only this user reaches, `isToken` is not asked.
    static Result<std::unique_ptr<Server>> start(JoinFile& file, grpc::Service& service,
                                                 TokenCheck isToken);
    ~Server();

 private:
    Server() = default;
    std::unique_ptr<grpc::Server> server_;
    std::unique_ptr<PeerGate> gate_;    ///< of a unix socket
    std::unique_ptr<TcpGate> tcpGate_;  ///< of HOST:PORT
};

Status toStatus(const grpc::Status& status);
grpc::Status toGrpc(const Status& status);

}  // namespace millrace::transport

#pragma once
// How the users of a join file connect to its writer (data workers to a feed, agents to a head):
// over a unix socket on one machine, over TLS and TCP between machines. The listener uses the
// certificate that the file pins, and each call over TCP has the file's token.
//
// Threads: any. Failure: kUnavailable if nothing listens, kUnauthenticated for another token; a
// sentence with the address.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <grpcpp/grpcpp.h>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/system/local_peer_gate.h"
#include "backend/system/tcp_gate.h"
#include "daemon/transport/join_file.h"

namespace millrace::transport {

/// Opens a separate connection to the writer of the join file.
Result<std::shared_ptr<grpc::Channel>> openChannel(const JoinFile& file);

/// One connection for many calls to the writer of a join file, reopened if the file changes. Over a
/// unix socket, which cannot reconnect, each call gets its own. Threads: any.
class SharedChannel {
 public:
    Result<std::shared_ptr<grpc::Channel>> open(const JoinFile& file);

 private:
    Mutex mutex_;
    std::string text_ MR_GUARDED_BY(mutex_);  ///< of its join file
    std::shared_ptr<grpc::Channel> channel_ MR_GUARDED_BY(mutex_);
};

/// Returns whether a call with this token is accepted. Called on gRPC's threads, and must not wait.
using TokenCheck = std::function<bool(std::string_view token)>;

/// A listening server. Owns: socket and gate. The gate bounds what strangers can hold over TCP
/// (TcpGate): a call without a token reaches no service, and a connection without a call ends after
/// kHandshakeTime. The destructor ends open calls, after a moment in which they may end themselves.
class Server {
 public:
    /// `file.address` is the wanted address; a port of 0 is replaced in `file` by a free one. On a
    /// unix socket, which only this user can reach, `isToken` is not called.
    static Result<std::unique_ptr<Server>> start(JoinFile& file, grpc::Service& service,
                                                 TokenCheck isToken);
    ~Server();

 private:
    Server() = default;
    std::unique_ptr<grpc::Server> server_;
    std::unique_ptr<LocalPeerGate> gate_;  ///< of a unix socket
    std::unique_ptr<TcpGate> tcpGate_;     ///< of HOST:PORT
};

Status toStatus(const grpc::Status& status);
grpc::Status toGrpc(const Status& status);

}  // namespace millrace::transport

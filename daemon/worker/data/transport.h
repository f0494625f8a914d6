#pragma once
// How feed and workers reach each other: a unix socket on one machine, TCP with mutual TLS between
// machines, the certificate pinned by the join file.
//
// Threads: any. Failure: kUnavailable when nobody listens; a sentence with the address.
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "backend/core/status.h"
#include "backend/system/peer_gate.h"
#include "daemon/worker/data/join_file.h"

namespace millrace::data {

/// The host name that the certificate is made and checked for, whatever the address is.
inline constexpr char kCertificateName[] = "millrace-data";
/// Metadata that names the session.
inline constexpr char kSessionKey[] = "millrace-session-bin";

/// A connection of its own to the feed of a join file.
Result<std::shared_ptr<grpc::Channel>> openChannel(const JoinFile& file);

/// A listening server. Owns: socket and gate. The destructor ends calls that are open, after a
/// moment in which they may end themselves.
class DataServer {
 public:
    /// `file.address` as it is to be; a port of 0 is a free one, which `file` then names.
    static Result<std::unique_ptr<DataServer>> start(JoinFile& file, grpc::Service& service);
    ~DataServer();

 private:
    DataServer() = default;
    std::unique_ptr<grpc::Server> server_;
    std::unique_ptr<PeerGate> gate_;
};

Status toStatus(const grpc::Status& status);
grpc::Status toGrpc(const Status& status);

}  // namespace millrace::data

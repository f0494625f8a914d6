#pragma once
// Access: which caller may call which method and change which run. Every decision about it is made
// here; RpcServer asks before each call over TLS, and RunsService before it changes a run.
//
// The caller on a unix socket is the daemon's user (PeerGate admits nobody else) and may do
// everything, over ssh too. A caller over TLS has the role that millraced.yaml gives to its
// certificate (config::ClientRoles). Threads: any; immutable. Failure: kPermissionDenied with who
// the caller is, what its role lacks and which line of millraced.yaml would allow it.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <grpcpp/grpcpp.h>
#include <grpcpp/security/auth_metadata_processor.h>

#include "backend/core/status.h"
#include "daemon/agent/run_service.h"
#include "daemon/config/daemon_config.h"

namespace millrace::rpc {

/// What TLS found out about the other end.
struct PeerCertificate {
    std::string commonName, firstAltName;
    std::string pem;

    static PeerCertificate of(const grpc::AuthContext& context);
};

struct Caller {
    std::string name;  ///< of its certificate; "": the daemon's user
    config::Role role = config::Role::kAdmin;
    std::string trouble =
        {};  ///< not "": why this certificate gets no role, whatever the file says
};

class Access {
 public:
    /// For a door that only the daemon's user reaches.
    Access() = default;
    /// As configured. Reads the daemon's own certificate, which no client may show.
    static Result<Access> open(const config::DaemonConfig& config);

    /// The role that a method needs, by its gRPC path ("/millrace.v1.Runs/Stop"). Nothing: the
    /// method is not in the table, and refused.
    static std::optional<config::Role> needOf(std::string_view method);

    Caller callerOf(const PeerCertificate& peer) const;
    Caller callerOf(const grpc::CallbackServerContext& context) const {
        return asksCertificates() ? callerOf(PeerCertificate::of(*context.auth_context()))
                                  : Caller();
    }
    Status mayCall(const Caller& caller, std::string_view method) const;
    /// `run` is to be changed by a caller that may call the method.
    Status mayChange(const Caller& caller, const agent::RunService::Owned& run) const;

    /// False: callers show no certificate, each is the daemon's user.
    bool asksCertificates() const { return config_ != nullptr; }
    /// Refuses calls that mayCall() refuses, before a service sees them. This outlives it.
    std::shared_ptr<grpc::AuthMetadataProcessor> makeProcessor() const;

 private:
    Status refuse(std::string_view what, const Caller& caller, config::Role needed) const;

    const config::DaemonConfig* config_ = nullptr;
    std::string ownCertificate_;  ///< PEM without blanks
};

}  // namespace millrace::rpc

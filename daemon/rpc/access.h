#pragma once
// Access: decides which caller may call which method and change which run. Every such decision is
// made here; RpcServer asks before each call over TLS, and RunsService before it changes a run.
//
// The caller on a unix socket is the daemon's user (LocalPeerGate accepts no other) and may do
// everything, also over ssh. A caller over TLS has the role that millraced.yaml gives to its
// certificate (config::ClientRoles). Threads: any; immutable. Failure: kPermissionDenied, with the
// caller, what its role lacks and the line of millraced.yaml that would allow the call.
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

/// The peer's certificate, as TLS reports it.
struct PeerCertificate {
    std::string commonName, firstAltName;
    std::string pem;

    static PeerCertificate of(const grpc::AuthContext& context);
};

struct Caller {
    std::string name;  ///< of its certificate; "": the daemon's user
    config::Role role = config::Role::kAdmin;
    std::string trouble =
        {};  ///< not "": why this certificate gets no role, whatever the file contains
};

class Access {
 public:
    /// For a listener that only the daemon's user can reach.
    Access() = default;
    /// Makes the access control that is configured. Reads the daemon's own certificate, which
    /// clients must not use.
    static Result<Access> open(const config::DaemonConfig& config);

    /// The role that a method needs, by its gRPC path ("/millrace.v1.Runs/Stop"). Nothing: the
    /// method is not in the table, and is refused.
    static std::optional<config::Role> needOf(std::string_view method);

    Caller callerOf(const PeerCertificate& peer) const;
    Caller callerOf(const grpc::CallbackServerContext& context) const {
        return asksCertificates() ? callerOf(PeerCertificate::of(*context.auth_context()))
                                  : Caller();
    }
    Status mayCall(const Caller& caller, std::string_view method) const;
    /// Whether a caller that may call the method may change `run`.
    Status mayChange(const Caller& caller, const agent::RunService::Owned& run) const;

    /// False: callers have no certificates, and each is the daemon's user.
    bool asksCertificates() const { return config_ != nullptr; }
    /// Refuses calls that mayCall() refuses, before a service sees them. This outlives it.
    std::shared_ptr<grpc::AuthMetadataProcessor> makeProcessor() const;

 private:
    Status refuse(std::string_view what, const Caller& caller, config::Role needed) const;

    const config::DaemonConfig* config_ = nullptr;
    std::string ownCertificate_;  ///< PEM without blanks
};

}  // namespace millrace::rpc

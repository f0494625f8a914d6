#include "daemon/rpc/access.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <grpc/grpc_security_constants.h>

#include "backend/filesystem/files.h"
#include "backend/text/json.h"
#include "backend/text/utf8.h"
#include "daemon/rpc/call_pool.h"

namespace millrace::rpc {
namespace {

using config::Role;

constexpr std::string_view kPackage = "/millrace.v1.";

// Requests about a spec name files that the daemon's user can read, so they need the same role as a
// submit.
constexpr std::array<std::pair<std::string_view, Role>, 29> kNeeds{{
    {"Nodes/Handshake", Role::kView},
    {"Nodes/List", Role::kView},
    {"Nodes/WatchTelemetry", Role::kView},
    {"Nodes/Drain", Role::kAdmin},
    {"Nodes/Invite", Role::kAdmin},
    {"Nodes/Forget", Role::kAdmin},
    {"Daemon/Status", Role::kView},
    {"Daemon/CheckStore", Role::kView},
    {"Daemon/Down", Role::kAdmin},
    {"Inspect/Check", Role::kRun},
    {"Inspect/Dataset", Role::kRun},
    {"Inspect/Steps", Role::kRun},
    {"Inspect/Preview", Role::kRun},
    {"Inspect/Pair", Role::kView},
    {"Runs/List", Role::kView},
    {"Runs/Get", Role::kView},
    {"Runs/Document", Role::kView},
    {"Runs/Watch", Role::kView},
    {"Runs/MetricRange", Role::kView},
    {"Runs/WatchMetrics", Role::kView},
    {"Runs/Logs", Role::kView},
    {"Runs/ParseFilter", Role::kView},
    {"Runs/Submit", Role::kRun},
    {"Runs/Stop", Role::kRun},
    {"Runs/Resume", Role::kRun},
    {"Runs/Delete", Role::kRun},
    {"Runs/Restore", Role::kRun},
    {"Runs/SetNote", Role::kRun},
    {"Runs/SetTags", Role::kRun},
}};

std::string firstOf(const grpc::AuthContext& context, const char* property) {
    const auto values = context.FindPropertyValues(property);
    return values.empty() ? "" : std::string(values.front().data(), values.front().size());
}

std::string withoutBlanks(std::string text) {
    std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
    return text;
}

// The name becomes the owner of runs and is shown on terminals.
bool isUsable(const std::string& name) {
    constexpr std::size_t kMostBytes = 200;
    return !name.empty() && name.size() <= kMostBytes && isUtf8(name) &&
           std::ranges::none_of(name, [](unsigned char c) { return std::iscntrl(c) != 0; });
}

std::string_view abilityOf(Role role) {
    return role == Role::kNone   ? "has no role"
           : role == Role::kView ? "has the role view, which only reads"
                                 : "has the role run, which changes its own runs only";
}

class Processor final : public grpc::AuthMetadataProcessor {
 public:
    explicit Processor(const Access& access) : access_(access) {}
    bool IsBlocking() const override { return false; }
    grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context,
                         OutputMetadata* /*consumed*/, OutputMetadata* /*response*/) override {
        const auto path = metadata.find(":path");
        const std::string_view method =
            path == metadata.end() ? std::string_view()
                                   : std::string_view(path->second.data(), path->second.size());
        return toGrpc(access_.mayCall(access_.callerOf(PeerCertificate::of(*context)), method));
    }

 private:
    const Access& access_;
};

}  // namespace

PeerCertificate PeerCertificate::of(const grpc::AuthContext& context) {
    return {firstOf(context, GRPC_X509_CN_PROPERTY_NAME),
            firstOf(context, GRPC_X509_SAN_PROPERTY_NAME),
            firstOf(context, GRPC_X509_PEM_CERT_PROPERTY_NAME)};
}

Result<Access> Access::open(const config::DaemonConfig& config) {
    Access access;
    if (config.tls.has_value()) {
        ASSIGN_OR_RETURN(std::string own, readFile(config.tls->certificate));
        access.config_ = &config;
        access.ownCertificate_ = withoutBlanks(std::move(own));
    }
    return access;
}

std::optional<Role> Access::needOf(std::string_view method) {
    if (!method.starts_with(kPackage)) {
        return std::nullopt;
    }
    method.remove_prefix(kPackage.size());
    const auto* found =
        std::ranges::find_if(kNeeds, [&](const auto& one) { return one.first == method; });
    return found == kNeeds.end() ? std::nullopt : std::optional(found->second);
}

Caller Access::callerOf(const PeerCertificate& peer) const {
    if (!asksCertificates()) {
        return {};
    }
    Caller caller{peer.commonName.empty() ? peer.firstAltName : peer.commonName, Role::kNone};
    // The file may also contain the chain.
    if (ownCertificate_.find(withoutBlanks(peer.pem)) != std::string::npos) {
        caller.trouble =
            "this certificate is the daemon's own; a client needs one of its own from the same CA";
    } else if (!isUsable(caller.name)) {
        caller.trouble =
            "this certificate has no usable name; its CN, or else its first subject alternative "
            "name, must have 1 to 200 printable bytes";
    } else {
        caller.role = config_->clients.roleOf(caller.name);
    }
    return caller;
}

Status Access::refuse(std::string_view what, const Caller& caller, Role needed) const {
    if (!caller.trouble.empty()) {
        return permissionDenied(what, ": ", caller.trouble);
    }
    return permissionDenied(
        what, ": the certificate of '", caller.name, "' ", abilityOf(caller.role), "; the line ",
        dumpJson(Json(caller.name)), ": ", config::roleName(needed), " under 'clients:' in ",
        config_->configFile, " would allow it, from the daemon's next start on");
}

Status Access::mayCall(const Caller& caller, std::string_view method) const {
    if (!asksCertificates()) {
        return okStatus();
    }
    const std::string_view name =
        method.substr(std::min(method.size(), method.starts_with(kPackage) ? kPackage.size() : 1));
    const std::optional<Role> need = needOf(method);
    if (!need.has_value()) {
        return permissionDenied(name,
                                ": this daemon has no rule about callers over TLS; ask "
                                "over its unix socket");
    }
    return caller.role >= *need ? okStatus() : refuse(name, caller, *need);
}

Status Access::mayChange(const Caller& caller, const agent::RunService::Owned& run) const {
    const bool isOwn = caller.role == Role::kRun && run.owner == caller.name;
    if (caller.role == Role::kAdmin || isOwn) {
        return okStatus();
    }
    return refuse(strCat("run ", run.id, " of '", run.owner, "'"), caller, Role::kAdmin);
}

std::shared_ptr<grpc::AuthMetadataProcessor> Access::makeProcessor() const {
    return std::make_shared<Processor>(*this);
}

}  // namespace millrace::rpc

#include "daemon/agent/join_tokens.h"

#include <algorithm>
#include <utility>

#include "backend/certificate/certificate.h"
#include "backend/core/files.h"
#include "backend/core/ids.h"
#include "backend/core/json.h"
#include "backend/core/log.h"

namespace millrace::agent {
namespace {

constexpr std::size_t kTokenBytes = 32, kFileBytesMost = std::size_t{4} << 20;

Status unauthenticated(const std::string& node, std::string_view why) {
    return {absl::StatusCode::kUnauthenticated, strCat("attach: node '", node, "': ", why)};
}

}  // namespace

JoinTokens::JoinTokens(std::string path) : path_(std::move(path)) {
    const auto text = readFile(path_, kFileBytesMost);
    if (path_.empty() || absl::IsNotFound(text.status())) {
        return;
    }
    const auto json = text.ok() ? parseJson(*text, path_) : Result<Json>(text.status());
    if (!json.ok()) {
        logWarn("nodes: the tokens of invited nodes cannot be read",
                {{"why", messageOf(json.status())}});
        return;
    }
    for (const auto& [name, hashes] : json->items()) {
        Hashes& known = names_[name];
        for (const Json& hash : hashes) {
            known.push_back(hash.is_string() ? hash.get<std::string>() : "");
        }
    }
}

void JoinTokens::serve(const std::string& shared, Writer write) {
    MutexLock lock(mutex_);
    shared_ = certificate::sha256Hex(shared);
    write_ = std::move(write);
}

// Beyond kNamesMost, removes forgotten names first.
Status JoinTokens::keep(Names names) {
    for (auto name = names.begin(); name != names.end() && names.size() > kNamesMost;) {
        name = name->second.empty() ? names.erase(name) : std::next(name);
    }
    if (names.size() > kNamesMost) {
        return resourceExhausted("nodes: ", kNamesMost,
                                 " names are invited; 'millrace nodes forget' makes room");
    }
    Json json = Json::object();
    for (const auto& [name, hashes] : names) {
        json[name] = hashes;
    }
    RETURN_IF_ERROR(path_.empty() ? okStatus()
                                  : writeFileAtomic(path_, dumpJson(json) + "\n", 0600));
    MutexLock lock(mutex_);
    names_ = std::move(names);
    return okStatus();
}

Result<std::string> JoinTokens::invite(const std::string& node) {
    const std::string token = randomBytes(kTokenBytes);
    MutexLock writing(writing_);
    Writer write;
    Names names;
    {
        MutexLock lock(mutex_);
        write = write_;
        names = names_;
    }
    if (write == nullptr) {
        return failedPrecondition(
            "node '", node, "': this daemon takes no agents; start it with --nodes-listen HOST");
    }
    Hashes& hashes = names[node];
    if (hashes.size() > 1) {
        hashes.pop_back();
    }
    hashes.push_back(certificate::sha256Hex(token));
    RETURN_IF_ERROR(keep(std::move(names)));
    logInfo("nodes: invited", {{"node", node}});
    return write(node, token);
}

bool JoinTokens::isInvited(const std::string& node) const {
    MutexLock lock(mutex_);
    const auto known = names_.find(node);
    return known != names_.end() && !known->second.empty();
}

Status JoinTokens::forget(const std::string& node) {
    MutexLock writing(writing_);
    Names names;
    {
        MutexLock lock(mutex_);
        names = names_;
    }
    names[node].clear();
    RETURN_IF_ERROR(keep(std::move(names)));
    logInfo("nodes: forgotten", {{"node", node}});
    return okStatus();
}

Status JoinTokens::admit(const std::string& node, std::string_view token) {
    const std::string hash = certificate::sha256Hex(token);
    MutexLock writing(writing_);
    Names names;
    {
        MutexLock lock(mutex_);
        const auto known = names_.find(node);
        if (known == names_.end()) {
            return hash == shared_ ? okStatus()
                                   : unauthenticated(node,
                                                     "another token; the join file is of another "
                                                     "head or node, was changed, or was revoked");
        }
        const Hashes& hashes = known->second;
        if (std::find(hashes.begin(), hashes.end(), hash) == hashes.end()) {
            return unauthenticated(
                node, hashes.empty()
                          ? "it was forgotten; 'millrace nodes invite' at the head lets it in again"
                          : "another token; its join file is the one that 'millrace nodes invite' "
                            "printed for this name");
        }
        if (hash != hashes.back() || hashes.size() == 1) {
            return okStatus();
        }
        names = names_;
    }
    names[node].pop_front();  // the newer file has arrived
    const Status kept = keep(std::move(names));
    if (!kept.ok()) {
        logWarn("nodes: an older token still lets in", {{"node", node}, {"why", messageOf(kept)}});
    }
    return okStatus();
}

bool JoinTokens::isToken(std::string_view token) const {
    const std::string hash = certificate::sha256Hex(token);
    MutexLock lock(mutex_);
    return hash == shared_ || std::any_of(names_.begin(), names_.end(), [&](const auto& name) {
               return std::find(name.second.begin(), name.second.end(), hash) != name.second.end();
           });
}

}  // namespace millrace::agent

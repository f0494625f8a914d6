#include "daemon/agent/membership/join_tokens.h"

#include <algorithm>
#include <utility>

#include "backend/certificate/certificate.h"
#include "backend/core/ids.h"
#include "backend/core/log.h"
#include "backend/filesystem/files.h"
#include "backend/text/json.h"

namespace millrace::agent {
namespace {

constexpr std::size_t kTokenBytes = 32, kFileBytesMost = std::size_t{4} << 20;

bool isHash(const Json& json) {
    constexpr std::size_t kHexDigits = 64;
    return json.is_string() && json.get_ref<const std::string&>().size() == kHexDigits;
}

Status unauthenticated(const std::string& node, std::string_view why) {
    return {absl::StatusCode::kUnauthenticated, strCat("attach: node '", node, "': ", why)};
}

}  // namespace

// A damaged file is an error: without its names, forgotten nodes could attach again with the token
// of nodes.join.
Result<std::unique_ptr<JoinTokens>> JoinTokens::open(std::string path) {
    auto tokens = std::make_unique<JoinTokens>(path);
    const auto text = readFile(path, kFileBytesMost);
    if (absl::IsNotFound(text.status())) {
        return tokens;
    }
    RETURN_IF_ERROR(text.status());
    const auto json = parseJson(*text, path);
    const bool isWhole =
        json.ok() && json->is_object() && std::ranges::all_of(json->items(), [](const auto& item) {
            return item.value().is_array() &&
                   std::ranges::all_of(item.value(), [](const Json& hash) { return isHash(hash); });
        });
    if (!isWhole) {
        return dataLoss(path,
                        ": is damaged: invited and forgotten nodes are not known from it; restore "
                        "it from a copy, or remove it: then nodes that were invited need new join "
                        "files ('millrace nodes invite'), and forgotten ones are to be forgotten "
                        "again");
    }
    MutexLock lock(tokens->mutex_);
    tokens->names_ = json->get<Names>();
    return tokens;
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
                node,
                hashes.empty()
                    ? "it was forgotten; 'millrace nodes invite' at the head lets it in again"
                    : "another token; its join file must be what 'millrace nodes invite' printed "
                      "for this name");
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

#include "daemon/agent/membership/own_node.h"

#include <utility>

#include "backend/core/log.h"
#include "backend/job/attempt_paths.h"

namespace millrace::agent {

NodeStatus OwnNode::standing() const {
    NodeStatus standing;
    standing.address = options_.address;
    standing.interface = options_.interface;
    standing.total = standing.free = engine_.total();
    for (const auto& [key, needs] : kept_) {
        standing.free -= needs;
    }
    standing.numPlaced = static_cast<int>(placed_.size());
    standing.isThere = true;
    standing.isClosed = !options_.trains;
    return standing;
}

// The gang's files are already in the head's attempt directory.
Status OwnNode::place(const Placement& placement) {
    const auto owner = job::ownerOf(placement.key);
    if (!owner.has_value()) {
        return invalidArgument("'", placement.key, "' is not the key of an attempt's gang");
    }
    ASSIGN_OR_RETURN(engines::Gang gang, engines::gangFromText(placement.gang));
    settle(gang, options_.binDir,
           job::RunPaths(options_.runsDir, owner->run).attempt(owner->attempt).directory(),
           options_.name);
    const Status status = submit(gang);
    if (status.ok() || absl::IsAlreadyExists(status)) {
        placed_[placement.key] = std::move(gang);
    }
    return status;
}

Status OwnNode::submit(const engines::Gang& gang) {
    const Status status = engine_.submit(gang);
    poke_();
    return status;
}

// An ended gang needs no cancel; a gang whose state cannot be read gets one.
Status OwnNode::end(const std::string& key, const EndRequest& request) {
    kept_.erase(key);
    placed_.erase(key);
    if (const auto state = engine_.state(key); state.ok() && !engines::isLiving(*state)) {
        return okStatus();
    }
    const Status status = engine_.cancel(key, request.grace, request.why);
    if (!status.ok()) {
        logWarn("engine: workers not ended", {{"gang", key}, {"why", messageOf(status)}});
    }
    poke_();
    return status;
}

Result<bool> OwnNode::has(const std::string& key) {
    return engine_.has(key);
}

std::optional<engines::State> OwnNode::state(const std::string& key) {
    Result<engines::State> state = engine_.state(key);
    const auto placed = placed_.find(key);
    const bool isPlaced = placed != placed_.end();
    if (!state.ok() || (state->phase == engines::Phase::kMissing && !isPlaced)) {
        return std::nullopt;
    }
    if (isPlaced && state->phase == engines::Phase::kSubmitting) {  // a worker is to be replaced
        if (const Status status = submit(placed->second); !status.ok()) {
            logWarn("engine: worker not replaced yet", {{"gang", key}, {"why", messageOf(status)}});
            return *state;
        }
        state = engine_.state(key);
    }
    return state.ok() ? std::optional(*std::move(state)) : std::nullopt;
}

std::string OwnNode::words(const std::string& key, const std::string& worker) {
    constexpr std::size_t kMost = 300;
    return engine_.log(key, worker, kMost).value_or("");
}

Status AllNodes::place(const std::string& node, const Placement& placement) {
    if (node.empty()) {
        return own_.place(placement);
    }
    others_.place(node, placement);
    return okStatus();
}

Status AllNodes::end(const std::string& node, const std::string& key, const EndRequest& request) {
    if (node.empty()) {
        return own_.end(key, request);
    }
    others_.end(node, key, request);
    return okStatus();
}

}  // namespace millrace::agent

#include "daemon/nodes/tunnel_greeting.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <absl/strings/str_join.h>

#include "daemon/agent/run/rank_listener.h"

namespace millrace::nodes {

Result<std::string> TunnelGreeting::take(std::string bytes) {
    if (isOver_) {
        return bytes;
    }
    held_ += bytes;
    const std::size_t end = held_.find('\n');
    if (std::min(end, held_.size()) > kHelloMost) {
        return invalidArgument("tunnel: the first line has more than ", kHelloMost,
                               " bytes; a hello is wanted");
    }
    if (end == std::string::npos) {
        return std::string();
    }
    const auto name = agent::workerOfHello(std::string_view(held_).substr(0, end));
    if (!name.ok()) {
        return annotate(name.status(), "tunnel");
    }
    if (std::ranges::find(workers_, *name) == workers_.end()) {
        return permissionDenied("tunnel: ", *name, " was not placed on this agent's node; ",
                                absl::StrJoin(workers_, ", "), " may speak from there");
    }
    isOver_ = true;
    return std::exchange(held_, {});
}

}  // namespace millrace::nodes

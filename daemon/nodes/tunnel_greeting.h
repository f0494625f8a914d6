#pragma once
// TunnelGreeting: the first line through a tunnel, which says which worker speaks. AgentsDoor holds
// it back until it shows a worker that was placed on the agent's node.
//
// Threads: one at a time. Bounded: kHelloMost bytes and one message. Failure: take() says who was
// refused, and who may speak.
#include <string>
#include <vector>

#include "backend/core/status.h"

namespace millrace::nodes {

class TunnelGreeting {
 public:
    static constexpr std::size_t kHelloMost = 4096;

    /// `workers`: that may speak.
    explicit TunnelGreeting(std::vector<std::string> workers) : workers_(std::move(workers)) {}
    /// What of the bytes so far may be passed on: nothing before the first line is whole, all
    /// behind it as it is.
    Result<std::string> take(std::string bytes);

 private:
    const std::vector<std::string> workers_;
    std::string held_;
    bool isOver_ = false;
};

}  // namespace millrace::nodes

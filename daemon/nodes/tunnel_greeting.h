#pragma once
// TunnelGreeting: checks the first line through a tunnel, which names the worker that connects.
// AgentListener passes nothing on until the line names a worker that was placed on the agent's
// node.
//
// Threads: one at a time. Bounded: kHelloMost bytes and one message. Failure: take() returns which
// worker was refused, and which workers are allowed.
#include <string>
#include <vector>

#include "backend/core/status.h"

namespace millrace::nodes {

class TunnelGreeting {
 public:
    static constexpr std::size_t kHelloMost = 4096;

    /// `workers`: that are allowed.
    explicit TunnelGreeting(std::vector<std::string> workers) : workers_(std::move(workers)) {}
    /// Returns the bytes that may be passed on: none before the first line is complete, everything
    /// after it unchanged.
    Result<std::string> take(std::string bytes);

 private:
    const std::vector<std::string> workers_;
    std::string held_;
    bool isOver_ = false;
};

}  // namespace millrace::nodes

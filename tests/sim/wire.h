#pragma once
// Cable and Wire: the way between the head's machine and another node, and one connection on it.
//
// A cable may be cut, each direction apart: what is on its way waits and comes in order once it is
// whole, as with TCP. A connection whose other end has not been heard of for ten seconds is ended,
// by each end for itself, as the keepalives of the product do. Threads: one.
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "tests/sim/world.h"

namespace millrace::sim {

enum class To { kHead, kNode };

class Wire;

class Cable {
 public:
    explicit Cable(World& world) : world_(world) {}
    World& world() { return world_; }
    bool isCut(To to) const { return world_.nowNs() < cutUntilNs_[static_cast<std::size_t>(to)]; }
    bool isWhole() const { return !isCut(To::kHead) && !isCut(To::kNode); }
    void cut(To to, std::int64_t ns);
    std::int64_t delayNs() { return world_.draw(200'000, 3 * kMs); }

 private:
    friend class Wire;
    World& world_;
    std::int64_t cutUntilNs_[2] = {0, 0};
    std::vector<std::weak_ptr<Wire>> wires_;
};

/// Messages are closures, run at the end they go to.
class Wire : public std::enable_shared_from_this<Wire> {
 public:
    static constexpr std::int64_t kKeepAliveNs = 10 * kSecond;
    static constexpr std::int64_t kLateNs = 10 * kSecond;  ///< of the later end, at most

    static std::shared_ptr<Wire> make(Cable& cable);
    /// Both are called once, when that end hears that the connection is over.
    std::function<void()> onHeadClosed, onNodeClosed;

    void send(To to, std::function<void()> message);
    /// One end closes it: the other hears of it when the cable lets it.
    void close(To other);
    bool isOpen(To end) const { return isOpen_[static_cast<std::size_t>(end)]; }

 private:
    friend class Cable;
    explicit Wire(Cable& cable) : cable_(cable) {}
    void flush(To to);
    void closed(To end);
    void watch();
    void giveUp(To end);

    Cable& cable_;
    std::deque<std::function<void()>> queues_[2];
    bool isFlushing_[2] = {false, false};
    bool isOpen_[2] = {true, true};
    std::int64_t quietSinceNs_ = -1;
};

}  // namespace millrace::sim

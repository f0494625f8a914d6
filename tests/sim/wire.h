#pragma once
// Cable and Wire: the path between the head's machine and another node, and one connection on it.
//
// A cable may be cut in each direction separately. Messages then wait and arrive in order once the
// cable is whole, as with TCP. An end that has received nothing for ten seconds ends the connection
// for itself, as the product's keepalives do. Threads: one.
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

/// Messages are closures that run at the receiving end.
class Wire : public std::enable_shared_from_this<Wire> {
 public:
    static constexpr std::int64_t kKeepAliveNs = 10 * kSecond;
    static constexpr std::int64_t kLateNs = 10 * kSecond;  ///< more, at most, for the later end

    static std::shared_ptr<Wire> make(Cable& cable);
    /// Each is called once, when its end learns that the connection is over.
    std::function<void()> onHeadClosed, onNodeClosed;

    void send(To to, std::function<void()> message);
    /// One end closes the connection; the other learns it when the cable permits.
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

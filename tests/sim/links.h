#pragma once
// Links: the connections of agents and of ranks with the head, over the machines' cables.
//
// Threads: one.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/rank/rank_server.h"
#include "daemon/nodes/messages.h"
#include "tests/sim/rank.h"

namespace millrace::sim {

class AgentSession;
class Cluster;

class Links {
 public:
    using Deliver = std::function<void(const v1::HeadOrders&)>;

    explicit Links(Cluster& cluster) : cluster_(cluster) {}

    // Calls of an agent.
    /// Opens a connection to the head; null: it is refused. `ending` receives how the head ended
    /// it.
    std::shared_ptr<Wire> callHead(Machine& machine, Deliver deliver,
                                   std::shared_ptr<Status> ending);
    void report(const std::shared_ptr<Wire>& wire, v1::AgentReport report);
    void closeTunnel(Machine& machine, const std::string& key);

    // Calls of a rank or a relay.
    /// Connects to the attempt's door; null: impossible.
    std::shared_ptr<RankConnection> connect(const Worker& worker, rank::Sender sender);
    void say(const std::shared_ptr<RankConnection>& connection, const rank::RankLine& line);

    // Calls about an agent's files.
    using Answer = Result<std::string>;
    /// Makes a separate call: runs `atHead` in the head's process, then calls `done` once, with the
    /// answer or with the end of the connection.
    void ask(Machine& machine, std::function<Answer()> atHead,
             std::function<void(const Answer&)> done);
    /// The machine's session with the head; null: there is none.
    std::shared_ptr<AgentSession> sessionOf(const Machine& machine) const;

    // Calls of the head.
    /// Finds a rank's connection, even one that is over; null: there never was one.
    std::shared_ptr<RankConnection> find(rank::ConnectionId id) const;
    void closeFromHead(const std::shared_ptr<RankConnection>& connection);
    /// The head's process is gone: all connections to its listeners end.
    void closeAllFromHead();

 private:
    /// A connection of an agent, and its session once the head has admitted it.
    struct Pending {
        std::shared_ptr<AgentSession> session;
        Deliver deliver;
        std::shared_ptr<Status> ending;
        const Machine* machine = nullptr;
    };
    void heard(const std::shared_ptr<Wire>& wire, const v1::AgentReport& report);
    void toDoor(const std::shared_ptr<RankConnection>& connection, World::Event event);
    void doorHears(const RankConnection& connection, const std::optional<rank::RankLine>& line);

    Cluster& cluster_;
    std::map<std::int64_t, std::shared_ptr<RankConnection>> connections_;
    std::int64_t connectionId_ = 0;
    std::map<const Wire*, Pending> pending_;
    std::map<const Machine*, std::weak_ptr<AgentSession>> sessions_;
    std::vector<std::weak_ptr<Wire>> calls_;  ///< connections of ask()
};

}  // namespace millrace::sim

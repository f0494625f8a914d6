// Cluster, the part that connects: agents and ranks with the head.
#include <optional>
#include <utility>

#include "tests/sim/cluster.h"
#include "tests/sim/cluster_head.h"

namespace millrace::sim {

std::shared_ptr<Wire> Cluster::callHead(Machine& machine,
                                        std::function<void(const v1::HeadOrders&)> deliver,
                                        std::shared_ptr<Status> ending) {
    if (head_ == nullptr && machine.cable.isWhole()) {
        return nullptr;  // refused
    }
    const std::shared_ptr<Wire> wire = Wire::make(machine.cable);
    pending_[wire.get()] = {nullptr, std::move(deliver), std::move(ending)};
    return wire;
}

void Cluster::report(const std::shared_ptr<Wire>& wire, v1::AgentReport report) {
    wire->send(To::kHead, [this, wire, report = std::move(report)] {
        if (head_ == nullptr) {
            return wire->close(To::kNode);
        }
        head().agent.after(0, [this, wire, report] { heard(wire, report); });
    });
}

void Cluster::heard(const std::shared_ptr<Wire>& wire, const v1::AgentReport& report) {
    const Turn turn(*this);
    auto& [session, deliver, ending] = pending_[wire.get()];
    Status status;
    if (session == nullptr) {
        if (!report.has_attachment()) {
            return wire->close(To::kNode);  // of a connection with the head before
        }
        session = std::make_shared<Session>(wire, deliver, ending);
        head_->sessions.push_back(session);
        wire->onHeadClosed = [this, one = std::weak_ptr<Session>(session)] {
            head().agent.after(0, [this, one] {
                if (const auto open = one.lock()) {
                    head_->table->detach(*open);
                }
            });
        };
        status = head_->reports->attach(session, report);
    } else {
        status = head_->reports->heard(*session, report);
    }
    if (!status.ok()) {
        world.tell(strCat("the head refuses ", report.attachment().node().name(), ": ",
                          messageOf(status)));
        session->shutOut(status);
    }
}

void Cluster::closeTunnel(Machine& machine, const std::string& key) {
    machine.tunnels.erase(key);
    std::vector<std::shared_ptr<RankConnection>> closing;
    for (const auto& [id, connection] : connections_) {
        if (connection->rank != nullptr && &connection->rank->machine == &machine &&
            connection->rank->gang == key) {
            closing.push_back(connection);
        }
    }
    for (const auto& connection : closing) {
        connection->wire->close(To::kHead);
        if (connection->rank != nullptr) {
            connection->rank->closed();
        }
    }
}

std::shared_ptr<RankConnection> Cluster::connect(const Worker& worker, rank::Sender sender) {
    Machine& machine = worker.machine;
    const bool isHeads = &machine == &head();
    const std::string attempt = strCat(sender.run, ".a", sender.attempt);
    const bool isThere = isHeads ? head_ != nullptr && head_->listeners.contains(attempt)
                                 : machine.tunnels.contains(worker.gang);
    if (!isThere) {
        return nullptr;
    }
    auto connection = std::make_shared<RankConnection>();
    connection->id = ++connectionId_;
    connection->sender = std::move(sender);
    connections_[connection->id] = connection;
    connection->wire = Wire::make(machine.cable);
    connection->wire->onNodeClosed = [connection] {
        if (connection->isOpen && connection->rank != nullptr) {
            connection->rank->closed();
        }
    };
    connection->wire->onHeadClosed = [this, connection] {
        head().agent.after(0, [this, connection] { doorHears(*connection, std::nullopt); });
    };
    toDoor(connection, [this, connection] {
        const auto listener =
            head_->listeners.find(strCat(connection->sender.run, ".a", connection->sender.attempt));
        if (listener == head_->listeners.end()) {
            return closeFromHead(connection);
        }
        listener->second.onHello(static_cast<rank::ConnectionId>(connection->id),
                                 connection->sender);
    });
    return connection;
}

void Cluster::toDoor(const std::shared_ptr<RankConnection>& connection, World::Event event) {
    const auto arrive = [this, connection, event = std::move(event)] {
        if (head_ == nullptr) {
            return closeFromHead(connection);
        }
        head().agent.after(0, [this, event] {
            event();
            poke();
        });
    };
    connection->wire->send(To::kHead, arrive);
}

void Cluster::say(const std::shared_ptr<RankConnection>& connection, const rank::RankLine& line) {
    toDoor(connection, [this, connection, line] {
        // A line as it was written down, and of the connection's attempt, as the rank server says.
        rank::RankLine read = *rank::parseLine(rank::formatLine(line));
        read.attempt = read.attempt < 0 ? connection->sender.attempt : read.attempt;
        doorHears(*connection, read);
    });
}

void Cluster::doorHears(const RankConnection& connection,
                        const std::optional<rank::RankLine>& line) {
    if (head_ == nullptr) {
        return;
    }
    const Turn turn(*this);
    const auto found =
        head_->listeners.find(strCat(connection.sender.run, ".a", connection.sender.attempt));
    if (found == head_->listeners.end()) {
        return;
    }
    const auto id = static_cast<rank::ConnectionId>(connection.id);
    if (line.has_value()) {
        found->second.onLine(id, connection.sender, *line);
    } else {
        found->second.onClosed(id, connection.sender, "closed");
    }
}

void Cluster::closeFromHead(const std::shared_ptr<RankConnection>& connection) {
    connection->wire->close(To::kNode);
}

}  // namespace millrace::sim

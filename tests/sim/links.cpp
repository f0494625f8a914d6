#include "tests/sim/links.h"

#include <utility>

#include "tests/sim/cluster_head.h"

namespace millrace::sim {

std::shared_ptr<Wire> Links::callHead(Machine& machine, Deliver deliver,
                                      std::shared_ptr<Status> ending) {
    if (cluster_.head_ == nullptr && machine.cable.isWhole()) {
        return nullptr;  // the connection is refused
    }
    const std::shared_ptr<Wire> wire = Wire::make(machine.cable);
    pending_[wire.get()] = {nullptr, std::move(deliver), std::move(ending), &machine};
    return wire;
}

void Links::report(const std::shared_ptr<Wire>& wire, v1::AgentReport report) {
    wire->send(To::kHead, [this, wire, report = std::move(report)] {
        if (cluster_.head_ == nullptr) {
            return wire->close(To::kNode);
        }
        cluster_.head().agent.after(0, [this, wire, report] { heard(wire, report); });
    });
}

void Links::heard(const std::shared_ptr<Wire>& wire, const v1::AgentReport& report) {
    const Cluster::Turn turn(cluster_);
    auto& [session, deliver, ending, machine] = pending_[wire.get()];
    Status status;
    if (session == nullptr) {
        if (!report.has_attachment()) {
            return wire->close(To::kNode);  // a report of a connection with the earlier head
        }
        session = std::make_shared<AgentSession>(wire, deliver, ending);
        cluster_.head_->sessions.push_back(session);
        wire->onHeadClosed = [this, one = std::weak_ptr<AgentSession>(session)] {
            cluster_.head().agent.after(0, [this, one] {
                if (const auto open = one.lock()) {
                    cluster_.head_->table->detach(*open);
                }
            });
        };
        status = cluster_.head_->reports->attach(session, report);
        if (status.ok()) {
            sessions_[machine] = session;
        }
    } else {
        status = cluster_.head_->reports->heard(*session, report);
    }
    if (!status.ok()) {
        cluster_.world.tell(strCat("the head refuses ", report.attachment().node().name(), ": ",
                                   messageOf(status)));
        session->shutOut(status);
    }
}

void Links::closeTunnel(Machine& machine, const std::string& key) {
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

std::shared_ptr<RankConnection> Links::connect(const Worker& worker, rank::Sender sender) {
    Machine& machine = worker.machine;
    const bool isHeads = &machine == &cluster_.head();
    const std::string attempt = strCat(sender.run, ".a", sender.attempt);
    const bool isThere =
        isHeads ? cluster_.head_ != nullptr && cluster_.head_->listeners.contains(attempt)
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
        cluster_.head().agent.after(0,
                                    [this, connection] { doorHears(*connection, std::nullopt); });
    };
    toDoor(connection, [this, connection] {
        const auto listener = cluster_.head_->listeners.find(
            strCat(connection->sender.run, ".a", connection->sender.attempt));
        if (listener == cluster_.head_->listeners.end()) {
            return closeFromHead(connection);
        }
        listener->second.onHello(static_cast<rank::ConnectionId>(connection->id),
                                 connection->sender);
    });
    return connection;
}

void Links::toDoor(const std::shared_ptr<RankConnection>& connection, World::Event event) {
    const auto arrive = [this, connection, event = std::move(event)] {
        if (cluster_.head_ == nullptr) {
            return closeFromHead(connection);
        }
        cluster_.head().agent.after(0, [this, event] {
            event();
            cluster_.poke();
        });
    };
    connection->wire->send(To::kHead, arrive);
}

void Links::say(const std::shared_ptr<RankConnection>& connection, const rank::RankLine& line) {
    toDoor(connection, [this, connection, line] {
        // Parses the line as the rank server does, and gives it the connection's attempt.
        rank::RankLine read = *rank::parseLine(rank::formatLine(line));
        read.attempt = read.attempt < 0 ? connection->sender.attempt : read.attempt;
        doorHears(*connection, read);
    });
}

void Links::doorHears(const RankConnection& connection, const std::optional<rank::RankLine>& line) {
    if (cluster_.head_ == nullptr) {
        return;
    }
    const Cluster::Turn turn(cluster_);
    const auto found = cluster_.head_->listeners.find(
        strCat(connection.sender.run, ".a", connection.sender.attempt));
    if (found == cluster_.head_->listeners.end()) {
        return;
    }
    const auto id = static_cast<rank::ConnectionId>(connection.id);
    if (line.has_value()) {
        found->second.onLine(id, connection.sender, *line);
    } else {
        found->second.onClosed(id, connection.sender, "closed");
    }
}

void Links::closeFromHead(const std::shared_ptr<RankConnection>& connection) {
    connection->wire->close(To::kNode);
}

std::shared_ptr<RankConnection> Links::find(rank::ConnectionId id) const {
    const auto found = connections_.find(static_cast<std::int64_t>(id));
    return found != connections_.end() ? found->second : nullptr;
}

std::shared_ptr<AgentSession> Links::sessionOf(const Machine& machine) const {
    const auto found = sessions_.find(&machine);
    return found != sessions_.end() ? found->second.lock() : nullptr;
}

void Links::ask(Machine& machine, std::function<Answer()> atHead,
                std::function<void(const Answer&)> done) {
    constexpr std::int64_t kLeastNs = 10 * kMs, kMostNs = 2 * kSecond;  // time that a file takes
    if (cluster_.head_ == nullptr && machine.cable.isWhole()) {
        return done(unavailable("no head"));
    }
    const std::shared_ptr<Wire> wire = Wire::make(machine.cable);
    const auto once = [isOver = std::make_shared<bool>(false),
                       done = std::move(done)](const Answer& answer) {
        if (!std::exchange(*isOver, true)) {
            done(answer);
        }
    };
    wire->onNodeClosed = [once] { once(unavailable("the connection ended")); };
    std::erase_if(calls_, [](const auto& call) { return call.expired(); });
    calls_.push_back(wire);
    wire->send(To::kHead, [this, wire, once, atHead = std::move(atHead)] {
        if (cluster_.head_ == nullptr) {
            return wire->close(To::kNode);
        }
        cluster_.head().agent.after(cluster_.world.draw(kLeastNs, kMostNs), [wire, once, atHead] {
            wire->send(To::kNode, [once, answer = atHead()] { once(answer); });
        });
    });
}

void Links::closeAllFromHead() {
    for (const auto& call : calls_) {
        if (const auto wire = call.lock()) {
            wire->close(To::kNode);
        }
    }
    for (const auto& [id, connection] : connections_) {
        closeFromHead(connection);
    }
}

}  // namespace millrace::sim

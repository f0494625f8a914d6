#pragma once
// What a living head has, and both ends of its connections; for the sources of Cluster alone.
//
// Threads: one.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/agent/own_node.h"
#include "daemon/agent/run_service.h"
#include "daemon/nodes/messages.h"
#include "tests/sim/cluster.h"
#include "tests/unit/agent/fake_inspector.h"

namespace millrace::sim {

inline constexpr char kBuild[] = "build", kToken[] = "token";

/// An agent's session at the head.
class Cluster::Session final : public agent::NodeSession {
 public:
    Session(std::shared_ptr<Wire> wire, std::function<void(const v1::HeadOrders&)> deliver)
        : wire_(std::move(wire)), deliver_(std::move(deliver)) {}
    void send(const agent::NodeOrders& orders) override {
        wire_->send(To::kNode,
                    [message = nodes::toProto(orders), deliver = deliver_] { deliver(message); });
    }
    void shutOut(const Status&) override { wire_->close(To::kNode); }
    bool isAttached = false;

 private:
    std::shared_ptr<Wire> wire_;
    std::function<void(const v1::HeadOrders&)> deliver_;
};

/// What only a living head has.
struct Cluster::Head {
    explicit Head(Cluster& cluster) : engine(cluster.head()), logs(cluster.head().root + "/runs") {}
    agent::LiveTable live;
    SimEngine engine;
    agent::FakeInspector inspector;
    std::unique_ptr<agent::DoorMaker> doors;
    job::FileLogs logs;
    std::unique_ptr<runs::RunStore> store;
    std::unique_ptr<agent::NodeTable> table;
    std::unique_ptr<agent::AllNodes> nodes;
    agent::JoinTokens tokens{""};
    std::unique_ptr<nodes::AgentReports> reports;
    std::map<std::string, agent::DoorListener> listeners;  ///< by run and attempt
    std::unique_ptr<agent::RunController> controller;
    std::unique_ptr<engines::Poller> poller;
    std::unique_ptr<agent::DeletedRuns> deleted;
    std::unique_ptr<agent::RunService> service;
    std::vector<std::weak_ptr<Session>> sessions;
};

/// The door of an attempt: what the head says to ranks goes to their connections.
class Cluster::Door final : public agent::WorkerDoor {
 public:
    Door(Cluster& cluster, std::string key) : cluster_(cluster), key_(std::move(key)) {}
    ~Door() override {
        if (cluster_.head_ != nullptr) {
            cluster_.head_->listeners.erase(key_);
        }
    }
    void ack(rank::ConnectionId id, std::int64_t attempt, std::uint64_t seq) override {
        tell(id, [attempt, seq](Rank& rank) { rank.acked(attempt, seq); });
    }
    void stop(rank::ConnectionId id, const rank::Stop& how) override {
        tell(id, [how](Rank& rank) { rank.told(how); });
    }
    void close(rank::ConnectionId id) override {
        const auto found = cluster_.connections_.find(static_cast<std::int64_t>(id));
        if (found != cluster_.connections_.end()) {
            cluster_.closeFromHead(found->second);
        }
    }

 private:
    void tell(rank::ConnectionId id, std::function<void(Rank&)> word) {
        const auto found = cluster_.connections_.find(static_cast<std::int64_t>(id));
        if (found == cluster_.connections_.end()) {
            return;
        }
        const std::shared_ptr<RankConnection> connection = found->second;
        const auto deliver = [connection, word = std::move(word)] {
            if (connection->isOpen && connection->rank != nullptr) {
                word(*connection->rank);
            }
        };
        connection->wire->send(To::kNode, deliver);
    }
    Cluster& cluster_;
    const std::string key_;
};

class Cluster::Doors final : public agent::DoorMaker {
 public:
    explicit Doors(Cluster& cluster) : cluster_(cluster) {}
    Result<std::unique_ptr<agent::WorkerDoor>> open(const std::string&, const std::string& run,
                                                    int attempt,
                                                    agent::DoorListener listener) override {
        const std::string key = strCat(run, ".a", attempt);
        cluster_.head_->listeners[key] = std::move(listener);
        return std::unique_ptr<agent::WorkerDoor>(new Door(cluster_, key));
    }

 private:
    Cluster& cluster_;
};

/// An agent's connection to the head, as HeadLink over a cable.
class Cluster::NodeLink final : public nodes::Uplink {
 public:
    NodeLink(Cluster& cluster, Machine& machine) : cluster_(cluster), machine_(machine) {}
    ~NodeLink() override {
        if (wire_ != nullptr) {
            wire_->close(To::kHead);
        }
    }
    bool isOpen() const override { return wire_ != nullptr; }
    bool isDue() const override { return !isOpen() && cluster_.world.nowNs() >= nextNs_; }
    bool isReady() const override { return isOpen(); }
    Status refusal() const override { return okStatus(); }
    void open(v1::AgentReport first) override {
        first.mutable_attachment()->set_token(kToken);
        first.mutable_attachment()->set_build_id(kBuild);
        isOver_ = std::make_shared<bool>(false);
        orders_ = std::make_shared<std::vector<v1::HeadOrders>>();
        wire_ = cluster_.callHead(
            machine_, [orders = orders_](const v1::HeadOrders& one) { orders->push_back(one); });
        if (wire_ == nullptr) {
            return failed();
        }
        wire_->onNodeClosed = [isOver = isOver_] { *isOver = true; };
        send(std::move(first));
    }
    void send(v1::AgentReport report) override {
        if (wire_ != nullptr) {
            cluster_.report(wire_, std::move(report));
        }
    }
    std::vector<v1::HeadOrders> take() override {
        std::vector<v1::HeadOrders> orders;
        if (wire_ == nullptr) {
            return orders;
        }
        orders.swap(*orders_);
        backoffNs_ = orders.empty() ? backoffNs_ : 0;
        if (*isOver_) {
            wire_.reset();
            failed();
        }
        return orders;
    }

 private:
    void failed() {
        backoffNs_ = std::clamp(2 * backoffNs_, 100 * kMs, 2 * kSecond);
        nextNs_ = cluster_.world.nowNs() + backoffNs_;
    }
    Cluster& cluster_;
    Machine& machine_;
    std::shared_ptr<Wire> wire_;
    std::shared_ptr<std::vector<v1::HeadOrders>> orders_;
    std::shared_ptr<bool> isOver_;
    std::int64_t backoffNs_ = 0, nextNs_ = 0;
};

}  // namespace millrace::sim

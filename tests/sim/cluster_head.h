#pragma once
// The parts of a living head, and both ends of its connections; only for the sources of Cluster.
//
// Threads: one.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <time.h>

#include "daemon/agent/membership/own_node.h"
#include "daemon/agent/run_service.h"
#include "daemon/config/state_lock.h"
#include "daemon/nodes/agent_reports.h"
#include "daemon/nodes/link_retry.h"
#include "daemon/nodes/messages.h"
#include "tests/sim/cluster.h"
#include "tests/sim/sim_engine.h"
#include "tests/unit/agent/fake_inspector.h"

namespace millrace::sim {

inline constexpr char kToken[] = "token";

/// How the head ended an agent's connection, once the agent has heard it.
using Ending = std::shared_ptr<Status>;

/// An agent's session at the head.
class AgentSession final : public agent::NodeSession {
 public:
    AgentSession(std::shared_ptr<Wire> wire, std::function<void(const v1::HeadOrders&)> deliver,
                 Ending ending)
        : wire_(std::move(wire)), deliver_(std::move(deliver)), ending_(std::move(ending)) {}
    void send(const agent::NodeOrders& orders) override {
        wire_->send(To::kNode,
                    [message = nodes::toProto(orders), deliver = deliver_] { deliver(message); });
    }
    void shutOut(const Status& why) override {
        wire_->send(To::kNode, [ending = ending_, why] { *ending = why; });
        wire_->close(To::kNode);
    }
    bool isAttached = false;

 private:
    std::shared_ptr<Wire> wire_;
    std::function<void(const v1::HeadOrders&)> deliver_;
    const Ending ending_;
};

class Cluster::Turn {
 public:
    explicit Turn(Cluster& cluster) : cluster_(cluster), beganNs_(threadCpuNs()) {}
    ~Turn() { cluster_.headCpuNs_ += threadCpuNs() - beganNs_; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

 private:
    static std::int64_t threadCpuNs() {
        timespec now{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return now.tv_sec * kSecond + now.tv_nsec;
    }
    Cluster& cluster_;
    const std::int64_t beganNs_;
};

/// The parts that only a living head has.
struct Cluster::Head {
    explicit Head(Cluster& cluster) : engine(cluster.head()), logs(cluster.head().root + "/runs") {}
    agent::LiveTable live;
    SimEngine engine;
    agent::FakeInspector inspector;
    std::unique_ptr<agent::ListenerMaker> maker;
    job::FileLogs logs;
    std::optional<config::StateLock> lock;
    std::unique_ptr<runs::RunStore> store;
    std::unique_ptr<agent::NodeTable> table;
    std::unique_ptr<agent::AllNodes> nodes;
    agent::JoinTokens tokens{""};
    std::unique_ptr<nodes::AgentReports> reports;
    std::map<std::string, agent::RankCallbacks> listeners;  ///< by run and attempt
    std::unique_ptr<agent::RunController> controller;
    std::unique_ptr<engines::Poller> poller;
    std::unique_ptr<agent::DeletedRuns> deleted;
    std::unique_ptr<agent::RunService> service;
    std::vector<std::weak_ptr<AgentSession>> sessions;
};

/// The door of an attempt: it passes the head's messages for ranks to their connections.
class Cluster::Door final : public agent::RankListener {
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
        if (const auto connection = cluster_.links().find(id)) {
            cluster_.links().closeFromHead(connection);
        }
    }

 private:
    void tell(rank::ConnectionId id, std::function<void(Rank&)> word) {
        const std::shared_ptr<RankConnection> connection = cluster_.links().find(id);
        if (connection == nullptr) {
            return;
        }
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

class Cluster::Doors final : public agent::ListenerMaker {
 public:
    explicit Doors(Cluster& cluster) : cluster_(cluster) {}
    Result<std::unique_ptr<agent::RankListener>> open(const std::string&, const std::string& run,
                                                      int attempt,
                                                      agent::RankCallbacks listener) override {
        const std::string key = strCat(run, ".a", attempt);
        cluster_.head_->listeners[key] = std::move(listener);
        return std::unique_ptr<agent::RankListener>(new Door(cluster_, key));
    }

 private:
    Cluster& cluster_;
};

/// An agent's connection to the head; does the work of HeadLink over a simulated cable.
class Cluster::NodeLink final : public nodes::Uplink {
 public:
    NodeLink(Cluster& cluster, Machine& machine)
        : cluster_(cluster), machine_(machine), retry_(machine.clock) {}
    ~NodeLink() override {
        if (wire_ != nullptr) {
            wire_->close(To::kHead);
        }
    }
    bool isOpen() const override { return wire_ != nullptr; }
    bool isDue() const override { return !isOpen() && retry_.isDue(); }
    bool isReady() const override { return isOpen(); }
    Status refusal() const override { return retry_.refusal(); }
    void open(v1::AgentReport first) override {
        first.mutable_attachment()->set_token(kToken);
        first.mutable_attachment()->set_build_id(machine_.build);
        isOver_ = std::make_shared<bool>(false);
        ending_ = std::make_shared<Status>();
        orders_ = std::make_shared<std::vector<v1::HeadOrders>>();
        wire_ = cluster_.links().callHead(
            machine_, [orders = orders_](const v1::HeadOrders& one) { orders->push_back(one); },
            ending_);
        if (wire_ == nullptr) {
            return retry_.failed(unavailable("no head"));
        }
        wire_->onNodeClosed = [isOver = isOver_] { *isOver = true; };
        cluster_.links().report(wire_, std::move(first));
        signs_ = std::make_shared<bool>(true);
        giveSigns(signs_);
    }
    // Sends behind everything that the agent's turn has done so far.
    void send(v1::AgentReport report) override {
        if (wire_ != nullptr) {
            sendsNs_ = std::max(sendsNs_ + 1, cluster_.world.nowNs() + machine_.busyNs);
            cluster_.world.at(sendsNs_,
                              [cluster = &cluster_, wire = wire_, report = std::move(report)] {
                                  cluster->links().report(wire, report);
                              });
        }
    }
    std::vector<v1::HeadOrders> take() override {
        std::vector<v1::HeadOrders> orders;
        if (wire_ == nullptr) {
            return orders;
        }
        orders.swap(*orders_);
        if (!orders.empty()) {
            retry_.heard();
        }
        if (*isOver_) {
            wire_.reset();
            signs_.reset();
            retry_.failed(ending_->ok() ? unavailable("the head ended it") : *ending_);
        }
        return orders;
    }

 private:
    // Gives signs of life as HeadLink's own thread does: also while the agent is busy.
    void giveSigns(const std::weak_ptr<bool>& signs) {
        cluster_.world.after(kSecond, [this, signs] {
            if (signs.expired()) {
                return;
            }
            if (!machine_.agent.isStopped()) {
                cluster_.links().report(wire_, {});
            }
            giveSigns(signs);
        });
    }
    Cluster& cluster_;
    Machine& machine_;
    std::shared_ptr<Wire> wire_;
    std::shared_ptr<bool> signs_;  ///< signs of life are given while it exists
    std::shared_ptr<std::vector<v1::HeadOrders>> orders_;
    std::shared_ptr<bool> isOver_;
    Ending ending_;
    nodes::LinkRetry retry_;
    std::int64_t sendsNs_ = 0;  ///< time at which its last report leaves
};

}  // namespace millrace::sim

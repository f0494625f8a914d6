#pragma once
// HeadLink: the agent's connection to its head, made again whenever it ends.
//
// Threads: one owner for all but `onNews`, which is called on gRPC's, when orders have come or the
// connection has ended. Owns: the call, and the thread that gives signs of life ("head-link"), for
// as long as the owner has asked for orders within the last 5 minutes. Bounded: what waits to be
// sent, by isReady(); orders, by what the head has placed. Failure: none that ends it; why a head
// cannot be reached, or refuses, is logged once for each reason.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/core/clock.h"
#include "backend/core/mutex.h"
#include "daemon/nodes/link_retry.h"
#include "daemon/nodes/uplink.h"
#include "daemon/transport/duplex.h"
#include "millrace/v1/agent.grpc.pb.h"

namespace millrace::nodes {

/// Whether an agent could call its head with this join file. kNotFound: it is not there (yet).
/// kInvalidArgument: it is damaged, or a feed's.
Status checkJoinFile(const std::string& path);

class HeadLink final : public Uplink {
 public:
    /// `joinPath` is read for each attempt: a head that listens elsewhere now has written it anew.
    /// `tunnelKey`: with which this agent's RankTunnels show whose they are.
    HeadLink(std::string joinPath, std::string buildId, std::string tunnelKey, const Clock& clock,
             std::function<void()> onNews);
    ~HeadLink() override;

    bool isOpen() const override { return stream_ != nullptr; }
    bool isDue() const override { return !isOpen() && retry_.isDue(); }
    Status refusal() const override { return retry_.refusal(); }
    void open(v1::AgentReport first) override;
    bool isReady() const override;
    void send(v1::AgentReport report) override;
    std::vector<v1::HeadOrders> take() override;

 private:
    using Stream = transport::ClientDuplex<v1::HeadOrders, v1::AgentReport>;
    /// What gRPC's threads leave for the owner.
    struct Inbox {
        Mutex mutex;
        std::vector<v1::HeadOrders> orders MR_GUARDED_BY(mutex);
        bool isOver MR_GUARDED_BY(mutex) = false;
    };
    void close();
    void giveSigns(const std::stop_token& stop);

    const std::string joinPath_, buildId_, tunnelKey_;
    const std::function<void()> onNews_;
    std::shared_ptr<Inbox> inbox_;
    std::shared_ptr<Stream> stream_;
    std::unique_ptr<v1::Agents::Stub> stub_;
    LinkRetry retry_;
    const Clock& clock_;
    Mutex mutex_;
    CondVar wake_;
    std::shared_ptr<Stream> alive_ MR_GUARDED_BY(mutex_);  ///< stream_, of the other thread
    std::int64_t askedNs_ MR_GUARDED_BY(mutex_) = 0;       ///< when the owner asked for orders
    std::jthread thread_;
};

}  // namespace millrace::nodes

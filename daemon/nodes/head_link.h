#pragma once
// HeadLink: the agent's connection to its head; it reconnects whenever the connection ends. Used by
// Slot.
//
// Threads: one owner for all but `onNews`, which is called on gRPC's threads when orders have
// arrived or the connection has ended. Owns: the call, and the thread that sends signs of life
// ("head-link"), for as long as the owner has asked for orders within the last 5 minutes. Bounded:
// unsent reports, by isReady(); orders, by what the head has placed. Failure: no failure ends it;
// the reason why a head cannot be reached, or refuses, is logged once.
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

/// Returns whether an agent could call its head with this join file. kNotFound: the file does not
/// exist (yet). kInvalidArgument: it is damaged, or a feed's.
Status checkJoinFile(const std::string& path);

class HeadLink final : public Uplink {
 public:
    /// `joinPath` is read for each attempt, because a head that listens elsewhere now has rewritten
    /// it. `tunnelKey`: identifies this agent's RankTunnels to the head.
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
    /// Orders that gRPC's threads store for the owner.
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
    std::shared_ptr<Stream> alive_ MR_GUARDED_BY(mutex_);  ///< stream_, for the other thread
    std::int64_t askedNs_ MR_GUARDED_BY(mutex_) = 0;       ///< when the owner last asked for orders
    std::jthread thread_;
};

}  // namespace millrace::nodes

#pragma once
// Followers: the relays that follow a feed, and the rings of their ranks, on the leading feed's
// side. Used by DataPlaneServer.
//
// Threads: any; calls arrive on gRPC's. Owns: their calls until they end. Bounds: at most
// kRingsMost rings. Failure: a relay's call ends with a status, a sentence.
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <grpcpp/grpcpp.h>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/ring/frame_ledger.h"
#include "daemon/transport/duplex.h"
#include "daemon/worker/relay/group_tunnel.h"
#include "daemon/worker/relay/ring_pump.h"
#include "daemon/worker/wire/busy_clock.h"
#include "daemon/worker/wire/owed_frames.h"
#include "daemon/worker/wire/sender.h"
#include "millrace/v1/data.pb.h"

namespace millrace::relay {

struct FollowersOptions {
    std::string feedSocket;
    std::string groupSocket;  ///< where rank 0 waits for the others; "": no group is carried
    bool isNetwork = false;
    std::string spec;  ///< JSON
    std::string streamHash, planHash;
    std::function<Status(const v1::JoinRequest&)> admits;  ///< names the relay it refuses
    /// Where the frames that workers owe to ranks behind relays are counted; null: relays fetch
    /// none. Outlives the followers.
    ring::FrameLedger* ledger = nullptr;
    std::function<void()> relaysChanged = [] {};
    /// A worker's frame differs from the reference to it.
    std::function<void(std::uint64_t worker, const std::string& why)> badFrame =
        [](std::uint64_t, const std::string&) {};
};

class Followers {
 public:
    using FollowReactor = grpc::ServerBidiReactor<v1::FollowWord, v1::FollowAnswer>;
    using RingReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;
    using GroupReactor = grpc::ServerBidiReactor<v1::GroupBytes, v1::GroupBytes>;

    static Result<std::unique_ptr<Followers>> open(FollowersOptions options);
    ~Followers() { end(); }
    /// The feed is over: tells relays that it has come to its end.
    void end();

    FollowReactor* follow();
    RingReactor* ring();
    GroupReactor* group();
    /// Whether ranks behind relays are connected to rank 0.
    bool isCarrying() { return group_ != nullptr && group_->numOpen() > 0; }
    /// The relays that fetch frames from workers.
    v1::Relays places();
    /// Frames that they fetched, over all connections.
    wire::Traffic traffic();
    /// Returns the time since the last call in which relays awaited frames, ns, by the worker that
    /// sends them (FrameBook::kFeed: this feed) and the relay.
    std::map<stream::FrameBook::Pair, std::int64_t> takeWaits();
    /// Returns the name of a relay with this number, which may be gone; nullopt: it is forgotten.
    std::optional<wire::Sender> nameOf(std::uint64_t relay);

    static constexpr std::size_t kRingsMost = 8192, kNamesMost = 4096;

 private:
    explicit Followers(FollowersOptions options) : options_(std::move(options)) {}
    using FollowCall = transport::ServerDuplex<v1::FollowWord, v1::FollowAnswer>;
    /// A relay that follows; `number` is 0 if it fetches no frames.
    struct Relay {
        std::shared_ptr<FollowCall> call;
        std::uint64_t number = 0;
        std::string session, join;
        wire::Traffic traffic;  ///< of its connections to workers
        std::shared_ptr<wire::BusyClock> sending = std::make_shared<wire::BusyClock>();
        std::int64_t sentNs = 0, busyNs = 0, reportNs = 0;  ///< at its last report
        std::map<std::uint64_t, std::int64_t> waitNs = {};  ///< likewise, by worker
    };
    void countWaitsLocked(Relay& relay, const v1::FollowWord& word) MR_REQUIRES(mutex_);
    std::shared_ptr<wire::BusyClock> sendingOf(const std::string& session);
    void reported(const std::shared_ptr<FollowCall>& call, const v1::FollowWord& word);
    void came(const std::shared_ptr<FollowCall>& call, const v1::JoinRequest& request);
    void went();
    std::optional<std::uint64_t> numberOf(const std::string& session);
    void tellMoved(std::uint64_t relay, const ring::FrameLedger::Moved& moved);

    const FollowersOptions options_;
    std::unique_ptr<GroupExit> group_;  ///< null: no group is carried
    Mutex mutex_;
    bool isEnded_ MR_GUARDED_BY(mutex_) = false;
    std::uint64_t nextNumber_ MR_GUARDED_BY(mutex_) = 1;
    std::list<Relay> relays_ MR_GUARDED_BY(mutex_);
    std::list<std::shared_ptr<RingPump>> rings_ MR_GUARDED_BY(mutex_);
    std::map<std::uint64_t, wire::Sender> names_ MR_GUARDED_BY(mutex_);  ///< by number
    std::map<stream::FrameBook::Pair, std::int64_t> waits_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::relay

#pragma once
// The relays that follow a feed, and the rings of their ranks: the leading feed's side.
//
// Threads: any; calls come on gRPC's. Owns: their calls until they end. Bounds: kRingsMost rings at
// a time. Failure: of a relay: the status of its call, a sentence.
#include <functional>
#include <list>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "daemon/transport/duplex.h"
#include "daemon/worker/relay/group_tunnel.h"
#include "daemon/worker/relay/ring_pump.h"
#include "millrace/v1/data.pb.h"

namespace millrace::relay {

struct FollowersOptions {
    std::string feedSocket;
    std::string groupSocket;  ///< where rank 0 waits for the others; "": no group is carried
    bool isNetwork = false;
    std::string spec;  ///< JSON
    std::string streamHash, planHash;
    std::function<Status(const v1::JoinRequest&)> admits;  ///< refuses by name
};

class Followers {
 public:
    using FollowReactor = grpc::ServerBidiReactor<v1::JoinRequest, v1::FollowAnswer>;
    using RingReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;
    using GroupReactor = grpc::ServerBidiReactor<v1::GroupBytes, v1::GroupBytes>;

    static Result<std::unique_ptr<Followers>> open(FollowersOptions options);
    ~Followers() { end(); }
    /// The feed is over: relays hear that it has come to its end.
    void end();

    FollowReactor* follow();
    RingReactor* ring();
    GroupReactor* group();
    /// Ranks behind relays speak with rank 0.
    bool isCarrying() { return group_ != nullptr && group_->numOpen() > 0; }

    static constexpr std::size_t kRingsMost = 8192;

 private:
    explicit Followers(FollowersOptions options) : options_(std::move(options)) {}
    using FollowCall = transport::ServerDuplex<v1::JoinRequest, v1::FollowAnswer>;
    void came(const std::shared_ptr<FollowCall>& call, const v1::JoinRequest& request);

    const FollowersOptions options_;
    std::unique_ptr<GroupExit> group_;  ///< null: no group is carried
    Mutex mutex_;
    bool isEnded_ MR_GUARDED_BY(mutex_) = false;
    std::list<std::shared_ptr<FollowCall>> relays_ MR_GUARDED_BY(mutex_);
    std::list<std::shared_ptr<RingPump>> rings_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::relay

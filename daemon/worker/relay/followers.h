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
#include "daemon/worker/relay/ring_pump.h"
#include "millrace/v1/data.pb.h"

namespace millrace::relay {

struct FollowersOptions {
    std::string feedSocket;
    bool isNetwork = false;
    std::string spec;  ///< JSON
    std::string streamHash, planHash;
    std::function<Status(const v1::JoinRequest&)> admits;  ///< refuses by name
};

class Followers {
 public:
    using FollowReactor = grpc::ServerBidiReactor<v1::JoinRequest, v1::FollowAnswer>;
    using RingReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

    explicit Followers(FollowersOptions options) : options_(std::move(options)) {}
    ~Followers() { end(); }
    /// The feed is over: relays hear that it has come to its end.
    void end();

    FollowReactor* follow();
    RingReactor* ring();

    static constexpr std::size_t kRingsMost = 8192;

 private:
    using FollowCall = transport::ServerDuplex<v1::JoinRequest, v1::FollowAnswer>;
    void came(const std::shared_ptr<FollowCall>& call, const v1::JoinRequest& request);

    const FollowersOptions options_;
    Mutex mutex_;
    bool isEnded_ MR_GUARDED_BY(mutex_) = false;
    std::list<std::shared_ptr<FollowCall>> relays_ MR_GUARDED_BY(mutex_);
    std::list<std::shared_ptr<RingPump>> rings_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::relay

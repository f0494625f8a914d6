#pragma once
// DataPlaneServer: the service of the data plane that workers and relays call. It decides which of
// them are admitted and assigns streams to sessions. Used by Lead.
//
// Threads: gRPC's; the keeper is called from them, never under a lock. Owns: the links of admitted
// workers, until their streams end. Failure: a worker gets a status with a sentence.
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "backend/core/mutex.h"
#include "backend/objects/credentials.h"
#include "daemon/worker/data/worker_link.h"
#include "daemon/worker/relay/followers.h"
#include "millrace/v1/data.grpc.pb.h"

namespace millrace::data {

/// Receives what workers do.
class WorkerAdmission {
 public:
    virtual ~WorkerAdmission() = default;
    /// Both of the worker's streams are open.
    virtual void whole(const std::shared_ptr<WorkerLink>& link) = 0;
    /// The next report follows after link->readNext().
    virtual void report(const std::shared_ptr<WorkerLink>& link, v1::WorkerReport& report) = 0;
    /// One of its streams has ended.
    virtual void closed(const std::shared_ptr<WorkerLink>& link) = 0;
    /// It sent something invalid.
    virtual void broken(const std::shared_ptr<WorkerLink>& link, const Status& why) = 0;
    /// Relays came or went.
    virtual void relaysChanged() = 0;
};

/// The facts that a worker or relay is told, and those that it must present.
struct DataPlaneOptions {
    std::string buildId;
    std::string token, relayToken;  ///< of data workers; of relays
    std::int64_t attempt = 0;
    std::string spec, plan;  ///< JSON texts
    std::string streamHash, planHash;
    std::string feedSocket;   ///< where the rings of ranks behind relays are
    std::string groupSocket;  ///< where rank 0 of the built-in trainer waits; "": nowhere
    bool isNetwork = false;
    ring::FrameLedger* ledger = nullptr;  ///< as FollowersOptions
    /// Credentials for the stream's objects, for each worker that joins; null: the stream reads
    /// none.
    std::function<objects::StoreAccess()> store;
};

using WorkerService = v1::Data::WithRawCallbackMethod_Frames<
    v1::Data::WithCallbackMethod_Work<v1::Data::WithCallbackMethod_Join<v1::Data::Service>>>;
using DataPlaneService = v1::Data::WithCallbackMethod_Group<
    v1::Data::WithRawCallbackMethod_Ring<v1::Data::WithCallbackMethod_Follow<WorkerService>>>;

class DataPlaneServer final : public DataPlaneService {
 public:
    static Result<std::unique_ptr<DataPlaneServer>> open(DataPlaneOptions options,
                                                         WorkerAdmission& keeper);

    grpc::ServerWriteReactor<v1::JoinPiece>* Join(grpc::CallbackServerContext* context,
                                                  const v1::JoinRequest* request) override;
    grpc::ServerBidiReactor<v1::WorkerReport, v1::WorkerOrders>* Work(
        grpc::CallbackServerContext* context) override;
    grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Frames(
        grpc::CallbackServerContext* context) override;
    relay::Followers::FollowReactor* Follow(grpc::CallbackServerContext*) override {
        return followers_->follow();
    }
    relay::Followers::RingReactor* Ring(grpc::CallbackServerContext*) override {
        return followers_->ring();
    }
    relay::Followers::GroupReactor* Group(grpc::CallbackServerContext*) override {
        return followers_->group();
    }
    /// A worker of this machine opens the channel for its slabs.
    void slabs(UniqueFd fd);
    void endRelays() { followers_->end(); }
    /// The relays to which workers connect.
    v1::Relays relays() { return followers_->places(); }
    relay::Followers& followers() { return *followers_; }
    bool isCarrying() { return followers_->isCarrying(); }

 private:
    DataPlaneServer(DataPlaneOptions options, WorkerAdmission& keeper)
        : options_(std::move(options)), keeper_(keeper) {}
    using LinkPtr = std::shared_ptr<WorkerLink>;
    /// Most sessions without both streams; beyond it the oldest are removed.
    static constexpr std::size_t kSessionsMost = 4096;

    /// `token`: of the role that the call is for.
    Status admits(const v1::JoinRequest& request, const std::string& token) const;
    /// Returns its session, which is in links_.
    std::string open(const v1::JoinRequest& request);
    /// Null: there is no such session.
    LinkPtr linkOf(const std::string& session);
    void closed(const std::string& session, const LinkPtr& link);
    void sentBadFrame(std::uint64_t worker, const std::string& why);

    const DataPlaneOptions options_;
    WorkerAdmission& keeper_;
    const std::shared_ptr<wire::FrameMemory> memory_ = wire::FrameMemory::make();
    std::unique_ptr<relay::Followers> followers_;
    Mutex mutex_;
    std::map<std::string, LinkPtr> links_ MR_GUARDED_BY(mutex_);  ///< by session
};

}  // namespace millrace::data

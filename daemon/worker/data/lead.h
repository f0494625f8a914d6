#pragma once
// Lead: the data workers' side of the feed of rank 0's node. It admits workers and removes them,
// and has them compute the attached stream (LedStream). Used by the feed.
//
// Threads: one of its own ("data-lead") decides; gRPC's threads only queue events, one at a time
// per worker, so that the number of workers bounds the queue. Owns: the server, the join file
// (removed at the end), the workers' links. Failure: start() returns a sentence. A worker with a
// wrong build, attempt, token or plan, or with frames that differ from their description, is
// refused; log and worker get the reason. The stream continues without it.
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "backend/core/mutex.h"
#include "backend/system/local_peer_gate.h"
#include "daemon/transport/transport.h"
#include "daemon/worker/data/data_plane_server.h"
#include "daemon/worker/data/led_stream.h"
#include "daemon/worker/data/link_codecs.h"
#include "daemon/worker/data/store_watch.h"
#include "daemon/worker/data/traffic_table.h"
#include "daemon/worker/data/worker_link.h"
#include "daemon/worker/loader/elsewhere.h"

namespace millrace::data {

class Lead final : public loader::SegmentsElsewhere, private WorkerAdmission {
 public:
    static Result<std::unique_ptr<Lead>> start(const loader::ElsewhereOptions& options);
    ~Lead() override;

    void attach(segment::RemoteSegmentQueue& remoteQueue,
                std::shared_ptr<const segment::StreamInput> input) override;
    void detach() override;
    Figures figures() override;
    Account account() override;
    bool mayStartElsewhere() override;
    bool isCarrying() override;
    ring::FrameLedger* ledger() override { return isNetwork_ ? &ledger_ : nullptr; }

 private:
    using LinkPtr = std::shared_ptr<WorkerLink>;
    struct Event {
        enum class Kind { kWhole, kReport, kClosed, kBroken, kReleased, kStore, kRelays, kChanged };
        Kind kind = Kind::kChanged;
        LinkPtr link;
        v1::WorkerReport report;
        Status why;                  ///< kBroken
        stream::SegmentOrder order;  ///< kReleased: as the remoteQueue knows it
        bool isNewStore = false;     ///< kStore
        std::uint64_t stream = 0;    ///< kReleased: of the order
    };
    struct Member {
        stream::WorkerId id = 0;  ///< 0: not part of the stream yet
        bool isChecked = false;   ///< its first report had the right hashes
        bool isLeaving = false;
        bool awaitsStore = false;  ///< the store refused its credentials
        int places = 1, threads = 1;
        double cpuSeconds = 0;
        wire::Traffic counted;  ///< in traffic_
    };
    explicit Lead(const loader::ElsewhereOptions& options);
    Status watchStore(const stream::Plan& plan);
    Status open(const loader::ElsewhereOptions& options);

    // WorkerAdmission; called on gRPC's threads.
    void whole(const LinkPtr& link) override;
    void report(const LinkPtr& link, v1::WorkerReport& report) override;
    void closed(const LinkPtr& link) override;
    void broken(const LinkPtr& link, const Status& why) override;
    void relaysChanged() override;

    void post(Event event);
    void run(const std::stop_token& stop);
    void handle(Event& event) MR_REQUIRES(turn_);
    void handleReport(const LinkPtr& link, const v1::WorkerReport& report) MR_REQUIRES(turn_);
    bool isRightInput(const v1::WorkerReport& report) const {
        return report.stream_hash() == streamHash_ && report.plan_hash() == planHash_;
    }
    void greet(const LinkPtr& link) MR_REQUIRES(turn_);
    void tellRelays() MR_REQUIRES(turn_);
    void handleReach(const LinkPtr& link, const v1::WorkerReport& report) MR_REQUIRES(turn_);
    Status readMeasures(const v1::WorkerReport& report) MR_REQUIRES(turn_);
    void handStore(bool isNew) MR_REQUIRES(turn_);
    void chooseCodecs() MR_REQUIRES(turn_);
    void countTraffic() MR_REQUIRES(turn_);
    void countTraffic(const LinkPtr& link, Member& member) MR_REQUIRES(turn_);
    std::optional<wire::Sender> senderOf(std::uint64_t worker) const MR_REQUIRES(turn_);
    void joinStream(const LinkPtr& link, Member& member) MR_REQUIRES(turn_);
    void handleAnswers(const LinkPtr& link, const Member& member, const v1::WorkerReport& report)
        MR_REQUIRES(turn_);
    void refuse(const LinkPtr& link, const Status& why) MR_REQUIRES(turn_);
    void lose(const LinkPtr& link, stream::StreamMaster::Loss loss) MR_REQUIRES(turn_);
    LinkPtr linkOf(stream::WorkerId id) const MR_REQUIRES(turn_);
    void turn() MR_REQUIRES(turn_);

    const std::string joinPath_;
    const int workersLeast_, workersMost_;
    const bool isNetwork_;
    const bool isFeedBeside_;  ///< the feed's threads compute beside workers
    std::string streamHash_, planHash_;
    ring::FrameLedger ledger_;
    std::unique_ptr<StoreWatch> store_;  ///< null: the stream reads no objects
    std::unique_ptr<DataPlaneServer> dataPlane_;
    std::unique_ptr<transport::Server> server_;
    std::unique_ptr<LocalPeerGate> slabGate_;  ///< if both sides are on one machine

    Mutex mutex_;
    CondVar changed_;
    std::deque<Event> events_ MR_GUARDED_BY(mutex_);
    bool isDeskNews_ MR_GUARDED_BY(mutex_) = false;

    /// Guards the stream and the members; the thread holds it while it decides.
    Mutex turn_;
    std::unique_ptr<LedStream> stream_ MR_GUARDED_BY(turn_);
    std::map<LinkPtr, Member> members_ MR_GUARDED_BY(turn_);
    std::uint32_t firstGeneration_ MR_GUARDED_BY(turn_) = 0;  ///< of the next stream's orders
    std::uint64_t numStreams_ MR_GUARDED_BY(turn_) = 0;       ///< attached so far
    LinkCodecs codecs_ MR_GUARDED_BY(turn_);
    Figures figures_ MR_GUARDED_BY(turn_);
    Account gone_ MR_GUARDED_BY(turn_);  ///< of workers and streams that have ended
    const wire::Sender own_ = wire::ownSender();
    TrafficTable traffic_ MR_GUARDED_BY(turn_);
    std::map<std::uint64_t, wire::Sender> senders_ MR_GUARDED_BY(turn_);  ///< workers, by number
    std::int64_t tickNs_ MR_GUARDED_BY(turn_) = 0;
    std::jthread thread_;
};

}  // namespace millrace::data

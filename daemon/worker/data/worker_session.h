#pragma once
// WorkerSession: a worker's session with one feed: joins, computes the ordered segments, sends the
// requested frames. Used by DataWorker.
//
// Threads: one owner, the process's main thread; orders and requests arrive on gRPC's. Owns: its
// calls and the segments that it computes or holds. Failure: join() and end() return the reason, in
// the feed's words if it refused.
#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "backend/core/mutex.h"
#include "backend/objects/handed_credentials.h"
#include "backend/objects/object_store.h"
#include "backend/segment/sequence/segment_server.h"
#include "daemon/transport/join_file.h"
#include "daemon/worker/data/codec_probe.h"
#include "daemon/worker/data/frame_sender.h"
#include "daemon/worker/data/relay_senders.h"
#include "daemon/worker/data/slab_channel.h"
#include "daemon/worker/loader/memory.h"
#include "daemon/worker/loader/process.h"
#include "millrace/v1/data.grpc.pb.h"

namespace millrace::data {

/// The feed's description of its stream.
struct Joined {
    std::string session;
    std::uint64_t worker = 0;  ///< by which relays know this worker
    spec::RunSpec spec;
    stream::Plan plan;
    std::string streamHash, planHash;
    std::optional<objects::StoreAccess> store;  ///< nothing: the stream reads no objects
};

/// The parts that a worker computes with; they outlive its sessions.
struct Engine {
    int threads = 1;
    std::unique_ptr<loader::LoaderMemory> memory;
    segment::StageCounters counters;
    std::shared_ptr<objects::HandedCredentials> store;  ///< null: it reads no objects
    std::shared_ptr<const segment::StreamInput> input;

    /// `threads`, `memoryMb` 0: the spec's.
    static Result<std::unique_ptr<Engine>> make(const Joined& joined, int threads,
                                                std::int64_t memoryMb);
    /// Most segments at a time, ordered or held.
    int places() const { return 2 * threads + 2; }
};

/// Asks the feed for admission.
Result<Joined> join(const transport::JoinFile& file, const std::string& buildId);

class WorkerSession {
 public:
    static Result<std::unique_ptr<WorkerSession>> begin(const transport::JoinFile& file,
                                                        const Joined& joined, Engine& engine);
    ~WorkerSession();

    /// Sends a sign of life; call twice a second.
    void report();
    /// Tells the feed that it takes no more orders.
    void leave();
    bool isOver() const;
    /// Once over: OK if the feed ended the session because its stream is over.
    Status end();

 private:
    using Work = transport::ClientDuplex<v1::WorkerOrders, v1::WorkerReport>;
    WorkerSession(const transport::JoinFile& file, const Joined& joined, Engine& engine);
    Status open(const transport::JoinFile& file);
    std::shared_ptr<segment::FrameArena> openArena(const transport::JoinFile& file,
                                                   std::int64_t heldBytes);
    void begun(const stream::SegmentOrder& order);
    void done(const segment::SegmentDone& done);
    void ordered(const v1::WorkerOrders& orders);
    void drop(const stream::SegmentOrder& order);
    Status setCodecs(const v1::WorkerOrders& orders);
    v1::WorkerReport newReport();

    const std::string session_;
    Engine& engine_;
    const double cpuAtFirst_ = loader::cpuSeconds();
    CodecProbe probe_;
    std::unique_ptr<SlabSender> slabs_;  ///< null: frames are sent
    std::shared_ptr<Work> work_;
    std::atomic<std::int64_t> numComputed_{0};
    mutable Mutex mutex_;
    bool isOver_ MR_GUARDED_BY(mutex_) = false, isTold_ MR_GUARDED_BY(mutex_) = false;
    bool isLeaving_ MR_GUARDED_BY(mutex_) = false;
    /// Ordered and not withdrawn.
    std::set<std::pair<stream::SegmentName, std::uint32_t>> orders_ MR_GUARDED_BY(mutex_);
    std::unique_ptr<segment::SegmentServer> server_;
    std::unique_ptr<FrameSender> sender_;
    std::unique_ptr<RelaySenders> relays_;
};

}  // namespace millrace::data

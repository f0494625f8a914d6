#pragma once
// WorkerLink: one data worker as the lead sees it: its two streams, and the frames that it owes.
// Used by DataPlaneServer and Lead.
//
// Threads: any. Owns: the received parts of incomplete frames. Failure: a frame that was not
// requested, or differs from its announcement, ends the worker's session.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/segment/sequence/remote_frames.h"
#include "daemon/transport/duplex.h"
#include "daemon/worker/data/frame_chunk.h"
#include "daemon/worker/data/link_codecs.h"
#include "daemon/worker/data/slab_channel.h"
#include "millrace/v1/data.pb.h"

namespace millrace::data {

using WorkStream = transport::ServerDuplex<v1::WorkerReport, v1::WorkerOrders>;
using FrameStream = transport::ServerDuplex<grpc::ByteBuffer, grpc::ByteBuffer>;

class WorkerLink final : public std::enable_shared_from_this<WorkerLink> {
 public:
    /// `onBroken`: called on gRPC's threads when the worker sent something invalid.
    WorkerLink(std::string name,
               std::function<void(const std::shared_ptr<WorkerLink>&, const Status&)> onBroken)
        : name(std::move(name)), onBroken_(std::move(onBroken)) {}

    const std::string name;

    /// False: it already has one.
    bool setWork(std::shared_ptr<WorkStream> stream);
    bool setFrames(std::shared_ptr<FrameStream> stream);
    bool isWhole() const;

    void send(const v1::WorkerOrders& orders);
    void readNext();
    /// Ends both streams with this status.
    void close(const grpc::Status& status);

    /// The connection for its slabs. False: it already has one, or it is gone.
    bool setSlabs(UniqueFd fd);

    /// Requests frames of `order`, as the worker knows it.
    void ask(const stream::SegmentOrder& order, const segment::FrameSpan& span,
             const std::shared_ptr<segment::RemoteFrames>& to);
    /// Waits for none of them any more.
    void forget(const stream::SegmentOrder& order);
    /// A message of the frames' stream has arrived.
    void came(const grpc::ByteBuffer& buffer);
    /// The traffic of frames so far.
    LinkCodecs::Traffic traffic() const;

 private:
    struct Name {
        stream::SegmentName name;
        std::uint32_t generation = 0;
        auto operator<=>(const Name&) const = default;
    };
    /// For one order: the requested frames, and the received parts.
    struct Owed {
        std::weak_ptr<segment::RemoteFrames> to;
        struct Partial {
            std::shared_ptr<std::byte[]> bytes;
            std::uint64_t size = 0, come = 0;
        };
        std::map<std::int64_t, Partial> frames;
    };
    struct Whole {
        std::shared_ptr<segment::RemoteFrames> to;
        std::int64_t frame = 0;
        segment::CodedFrame coded;
    };
    void askedLocked(std::int64_t frames) MR_REQUIRES(mutex_);
    void cameLocked(std::int64_t frames) MR_REQUIRES(mutex_);
    static Name nameOf(const stream::SegmentOrder& order) { return {order.name, order.generation}; }
    Status add(const FrameChunk& chunk, Whole& whole);
    Status addBytesLocked(const FrameChunk& chunk, Owed::Partial& partial, Whole& whole)
        MR_REQUIRES(mutex_);
    Status addSharedLocked(const FrameChunk& chunk, Whole& whole) MR_REQUIRES(mutex_);

    const std::function<void(const std::shared_ptr<WorkerLink>&, const Status&)> onBroken_;
    mutable Mutex mutex_;
    std::shared_ptr<WorkStream> work_ MR_GUARDED_BY(mutex_);
    std::shared_ptr<FrameStream> frames_ MR_GUARDED_BY(mutex_);
    std::optional<SlabReader> slabs_ MR_GUARDED_BY(mutex_);
    std::map<Name, Owed> owed_ MR_GUARDED_BY(mutex_);
    std::int64_t numOwed_ MR_GUARDED_BY(mutex_) = 0;         ///< frames that were requested
    std::int64_t waitingSinceNs_ MR_GUARDED_BY(mutex_) = 0;  ///< valid while frames are owed
    LinkCodecs::Traffic traffic_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::data

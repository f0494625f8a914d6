#pragma once
// WorkerLink: one data worker as the lead sees it: its two streams, and the frames that it owes.
// Used by DataPlaneServer and Lead.
//
// Threads: any. Failure: a frame that was not
// requested, or differs from its announcement, ends the worker's session.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backend/core/mutex.h"
#include "backend/segment/sequence/remote_frames.h"
#include "daemon/transport/duplex.h"
#include "daemon/worker/data/slab_channel.h"
#include "daemon/worker/wire/owed_frames.h"
#include "daemon/worker/wire/sender.h"
#include "millrace/v1/data.pb.h"

namespace millrace::data {

using WorkStream = transport::ServerDuplex<v1::WorkerReport, v1::WorkerOrders>;
using FrameStream = transport::ServerDuplex<grpc::ByteBuffer, grpc::ByteBuffer>;

class WorkerLink final : public std::enable_shared_from_this<WorkerLink> {
 public:
    /// `onBroken`: called on gRPC's threads when the worker sent something invalid.
    WorkerLink(std::string name, wire::Sender sender, std::uint64_t number,
               std::shared_ptr<wire::FrameMemory> memory,
               std::function<void(const std::shared_ptr<WorkerLink>&, const Status&)> onBroken)
        : name(std::move(name)),
          sender(std::move(sender)),
          number(number),
          onBroken_(std::move(onBroken)),
          owed_(std::move(memory)) {}

    const std::string name;
    const wire::Sender sender;
    const std::uint64_t number;  ///< random; names it to relays; never 0

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
    void forget(const stream::SegmentOrder& order) { owed_.forget(order); }
    /// A message of the frames' stream has arrived.
    void came(const grpc::ByteBuffer& buffer);
    /// The traffic of frames so far.
    wire::Traffic traffic() const { return owed_.traffic(); }

 private:
    Result<segment::CodedFrame> sharedFrame(const wire::FrameChunk& chunk);

    const std::function<void(const std::shared_ptr<WorkerLink>&, const Status&)> onBroken_;
    mutable Mutex mutex_;
    std::shared_ptr<WorkStream> work_ MR_GUARDED_BY(mutex_);
    std::shared_ptr<FrameStream> frames_ MR_GUARDED_BY(mutex_);
    std::optional<SlabReader> slabs_ MR_GUARDED_BY(mutex_);
    wire::OwedFrames owed_;
};

}  // namespace millrace::data

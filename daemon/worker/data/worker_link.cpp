#include "daemon/worker/data/worker_link.h"

#include "daemon/transport/raw_buffer.h"
#include "daemon/worker/data/messages.h"

namespace millrace::data {

bool WorkerLink::setWork(std::shared_ptr<WorkStream> stream) {
    MutexLock lock(mutex_);
    const bool isFirst = work_ == nullptr;
    work_ = isFirst ? std::move(stream) : work_;
    return isFirst;
}

bool WorkerLink::setFrames(std::shared_ptr<FrameStream> stream) {
    MutexLock lock(mutex_);
    const bool isFirst = frames_ == nullptr;
    frames_ = isFirst ? std::move(stream) : frames_;
    return isFirst;
}

bool WorkerLink::setSlabs(UniqueFd fd) {
    MutexLock lock(mutex_);
    if (slabs_) {
        return false;
    }
    slabs_.emplace(std::move(fd));
    return slabs_->accept().ok();
}

bool WorkerLink::isWhole() const {
    MutexLock lock(mutex_);
    return work_ != nullptr && frames_ != nullptr;
}

void WorkerLink::send(const v1::WorkerOrders& orders) {
    std::shared_ptr<WorkStream> work;
    {
        MutexLock lock(mutex_);
        work = work_;
    }
    if (work != nullptr) {
        work->send(orders);
    }
}

void WorkerLink::readNext() {
    std::shared_ptr<WorkStream> work;
    {
        MutexLock lock(mutex_);
        work = work_;
    }
    if (work != nullptr) {
        work->readNext();
    }
}

void WorkerLink::close(const grpc::Status& status) {
    std::shared_ptr<WorkStream> work;
    std::shared_ptr<FrameStream> frames;
    {
        MutexLock lock(mutex_);
        work = std::move(work_);  // they hold this link: leaves no reference cycle
        frames = std::move(frames_);
    }
    owed_.end(cancelled("the session is over"));
    if (work != nullptr) {
        work->close(status);
    }
    if (frames != nullptr) {
        frames->close(status);
    }
}

void WorkerLink::ask(const stream::SegmentOrder& order, const segment::FrameSpan& span,
                     const std::shared_ptr<segment::RemoteFrames>& to) {
    std::shared_ptr<FrameStream> frames;
    {
        MutexLock lock(mutex_);
        frames = frames_;
    }
    if (frames == nullptr) {
        return;  // its loss is being reported
    }
    const std::weak_ptr<segment::RemoteFrames> into = to;
    for (std::int64_t frame = span.first; frame < span.first + span.count; ++frame) {
        owed_.ask(order, frame, {to->codedBytes(frame), to->rawBytes(frame)},
                  [into](std::int64_t index, Result<segment::CodedFrame> coded) {
                      // A frame that it does not hold any more is of an order that the worker gives
                      // up, which it reports.
                      const auto wanted = coded.ok() ? into.lock() : nullptr;
                      return wanted == nullptr ? okStatus()
                                               : wanted->came(index, *std::move(coded));
                  });
    }
    v1::FrameRequest request;
    toMessage(order, *request.mutable_name());
    request.set_first(static_cast<std::uint64_t>(span.first));
    request.set_count(static_cast<std::uint64_t>(span.count));
    frames->send(transport::bufferOf(request));
}

void WorkerLink::came(const grpc::ByteBuffer& buffer) {
    const Result<wire::FrameChunk> chunk = wire::FrameChunk::read(buffer);
    const Status status =
        chunk.ok() ? owed_.came(*chunk, [this](const auto& named) { return sharedFrame(named); })
                   : chunk.status();
    if (!status.ok()) {
        onBroken_(shared_from_this(), status);
    }
}

Result<segment::CodedFrame> WorkerLink::sharedFrame(const wire::FrameChunk& chunk) {
    MutexLock lock(mutex_);
    if (!slabs_) {
        return dataLoss("a frame came in shared memory without a channel for it");
    }
    const v1::SlabPlace& place = chunk.head.place();
    ASSIGN_OR_RETURN(const auto slab, slabs_->find(place.slab()));
    const std::uint64_t size = slab->size();
    if (place.offset() < segment::FrameSlab::kHeadBytes || place.offset() > size ||
        chunk.head.coded_bytes() > size - place.offset()) {
        return dataLoss("a frame of ", chunk.head.coded_bytes(), " bytes at ", place.offset(),
                        " of a slab of ", size);
    }
    return segment::CodedFrame{
        slab,
        slab->memory().bytes().subspan(place.offset(), chunk.head.coded_bytes()),
        {slab, place.generation(), place.offset()}};
}

}  // namespace millrace::data

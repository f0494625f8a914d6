#include "daemon/worker/data/worker_link.h"

#include <new>

#include "backend/core/clock.h"
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
        owed_.clear();
    }
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
        if (frames == nullptr) {
            return;  // its loss is being reported
        }
        Owed& owed = owed_[nameOf(order)];
        owed.to = to;
        for (std::int64_t frame = span.first; frame < span.first + span.count; ++frame) {
            owed.frames[frame].size = to->codedBytes(frame);
        }
        askedLocked(span.count);
    }
    v1::FrameRequest request;
    toMessage(order, *request.mutable_name());
    request.set_first(static_cast<std::uint64_t>(span.first));
    request.set_count(static_cast<std::uint64_t>(span.count));
    frames->send(transport::bufferOf(request));
}

void WorkerLink::forget(const stream::SegmentOrder& order) {
    MutexLock lock(mutex_);
    const auto place = owed_.find(nameOf(order));
    if (place != owed_.end()) {
        cameLocked(std::ssize(place->second.frames));
        owed_.erase(place);
    }
}

void WorkerLink::askedLocked(std::int64_t frames) {
    waitingSinceNs_ = numOwed_ == 0 ? SystemClock().steadyNs() : waitingSinceNs_;
    numOwed_ += frames;
}

void WorkerLink::cameLocked(std::int64_t frames) {
    numOwed_ -= frames;
    if (frames > 0 && numOwed_ == 0) {
        traffic_.waitNs += SystemClock().steadyNs() - waitingSinceNs_;
    }
}

LinkCodecs::Traffic WorkerLink::traffic() const {
    MutexLock lock(mutex_);
    LinkCodecs::Traffic traffic = traffic_;
    traffic.waitNs += numOwed_ > 0 ? SystemClock().steadyNs() - waitingSinceNs_ : 0;
    return traffic;
}

void WorkerLink::came(const grpc::ByteBuffer& buffer) {
    Result<FrameChunk> chunk = FrameChunk::read(buffer);
    Whole whole;
    Status status = chunk.ok() ? add(*chunk, whole) : chunk.status();
    if (status.ok() && whole.to != nullptr) {
        status = whole.to->came(whole.frame, std::move(whole.coded));
    }
    if (!status.ok()) {
        onBroken_(shared_from_this(), status);
    }
}

// A frame of a withdrawn order may still have been on its way: it is ignored.
Status WorkerLink::add(const FrameChunk& chunk, Whole& whole) {
    const Name name = nameOf(orderOf(chunk.head.name()));
    const auto index = static_cast<std::int64_t>(chunk.head.frame());
    MutexLock lock(mutex_);
    const auto place = owed_.find(name);
    if (place == owed_.end()) {
        return okStatus();
    }
    const auto frame = place->second.frames.find(index);
    if (frame == place->second.frames.end()) {
        return dataLoss("frame ", index, " of segment ", name.name.segment,
                        " came without being asked for");
    }
    Owed::Partial& partial = frame->second;
    if (chunk.head.coded_bytes() != partial.size) {
        return dataLoss("frame ", index, " of segment ", name.name.segment, " came as ",
                        chunk.head.coded_bytes(), " bytes; ", partial.size, " were announced");
    }
    RETURN_IF_ERROR(chunk.head.has_place() ? addSharedLocked(chunk, whole)
                                           : addBytesLocked(chunk, partial, whole));
    if (whole.coded.owner != nullptr) {
        whole.to = place->second.to.lock();
        whole.frame = index;
        place->second.frames.erase(frame);
        cameLocked(1);
    }
    return okStatus();
}

Status WorkerLink::addSharedLocked(const FrameChunk& chunk, Whole& whole) {
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
    whole.coded.bytes = slab->memory().bytes().subspan(place.offset(), chunk.head.coded_bytes());
    whole.coded.owner = slab;
    whole.coded.place = {slab, place.generation(), place.offset()};
    return okStatus();
}

// The chunks of a frame arrive in order.
Status WorkerLink::addBytesLocked(const FrameChunk& chunk, Owed::Partial& partial, Whole& whole) {
    if (chunk.head.offset() != partial.come || chunk.bytes > partial.size - partial.come) {
        return dataLoss("a chunk of ", chunk.bytes, " bytes came at ", chunk.head.offset(), " of ",
                        partial.size, "; ", partial.come, " were there");
    }
    if (partial.bytes == nullptr) {
        partial.bytes.reset(new (std::nothrow) std::byte[partial.size]);
        if (partial.bytes == nullptr) {
            return resourceExhausted("a frame of ", partial.size, " bytes: no memory for it");
        }
    }
    chunk.copyTo(partial.bytes.get() + partial.come);
    partial.come += chunk.bytes;
    traffic_.bytes += chunk.bytes;
    if (partial.come == partial.size) {
        whole.coded = {partial.bytes, {partial.bytes.get(), partial.size}, {}};
    }
    return okStatus();
}

}  // namespace millrace::data

#include "daemon/worker/loader/stream/table.h"

namespace millrace::loader {

Result<segment::SequenceSink::Place> TableSink::reserve(std::uint64_t bytes, std::uint32_t,
                                                        std::int64_t, std::stop_token stop) {
    const auto wanted = static_cast<std::int64_t>(bytes);
    segment::PooledBuffer buffer;
    {
        const std::stop_callback onStop(stop, [this] {
            MutexLock lock(mutex_);
            changed_.notifyAll();
        });
        MutexLock lock(mutex_);
        while (nextTicket_ - nextWritten_ >= placesMax_ && !stop.stop_requested()) {
            changed_.wait(mutex_);
        }
        if (stop.stop_requested()) {
            return cancelled("stopped");
        }
        if (!free_.empty()) {
            buffer = std::move(free_.back());
            free_.pop_back();
        }
    }
    if (buffer.size() < wanted) {
        ASSIGN_OR_RETURN(buffer, segment::PooledBuffer::allocate(pool_, wanted + wanted / 16));
    }
    MutexLock lock(mutex_);
    const std::uint64_t ticket = nextTicket_++;
    const Place place{buffer.bytes().first(bytes), ticket};
    taken_.emplace(ticket, std::move(buffer));
    return place;
}

Status TableSink::commit(const Place& place, std::uint32_t epoch, std::int64_t number) {
    ASSIGN_OR_RETURN(const frame::FrameView view,
                     frame::FrameView::open(place.bytes, frame::CheckLevel::kDirectory));
    ASSIGN_OR_RETURN(table::BatchPtr batch, frames_.batchOf(view));
    stream::OrderHash order;
    order.add(epoch, static_cast<std::uint64_t>(number), view.rowFiles(), view.rowNumbers());
    mutex_.lock();
    if (!first_) {
        first_ = Clock::now();
    }
    const auto taken = taken_.find(place.ticket);
    free_.push_back(std::move(taken->second));
    taken_.erase(taken);
    orderHash_.add(order);
    ready_.emplace(place.ticket, std::move(batch));
    Status status;
    while (status.ok() && !isWriting_ && !ready_.empty() && ready_.begin()->first == nextWritten_) {
        table::BatchPtr next = std::move(ready_.begin()->second);
        ready_.erase(ready_.begin());
        isWriting_ = true;
        mutex_.unlock();
        status = output_.add(std::move(next));
        mutex_.lock();
        isWriting_ = false;
        ++nextWritten_;
        changed_.notifyAll();
    }
    mutex_.unlock();
    return status;
}

stream::OrderHash TableSink::orderHash() const {
    MutexLock lock(mutex_);
    return orderHash_;
}

std::optional<TableSink::Clock::time_point> TableSink::firstFrame() const {
    MutexLock lock(mutex_);
    return first_;
}

}  // namespace millrace::loader

#include "daemon/worker/loader/stream/table.h"

namespace millrace::loader {

Result<ring::FrameSlot> TableSink::reserve(std::uint64_t bytes, std::uint32_t, std::int64_t,
                                           std::stop_token stop) {
    {
        const std::stop_callback onStop(stop, [this] {
            MutexLock lock(mutex_);
            changed_.notifyAll();
        });
        MutexLock lock(mutex_);
        while (given_ - nextWritten_ >= slotsMax_ && !stop.stop_requested()) {
            changed_.wait(mutex_);
        }
        if (stop.stop_requested()) {
            return cancelled("stopped");
        }
        ++given_;
    }
    return slots_.take(bytes);
}

Status TableSink::commit(const ring::FrameSlot& slot, std::uint32_t epoch, std::int64_t number) {
    ASSIGN_OR_RETURN(const frame::FrameView view,
                     frame::FrameView::open(slot.bytes, frame::CheckLevel::kDirectory));
    ASSIGN_OR_RETURN(table::BatchPtr batch, frames_.batchOf(view));
    stream::OrderHash order;
    order.add(epoch, static_cast<std::uint64_t>(number), view.rowFiles(), view.rowNumbers());
    slots_.giveBack(slot.ticket);
    mutex_.lock();
    if (!first_) {
        first_ = Clock::now();
    }
    orderHash_.add(order);
    ready_.emplace(slot.ticket, std::move(batch));
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

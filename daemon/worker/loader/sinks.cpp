#include "daemon/worker/loader/sinks.h"

namespace millrace::loader {

Result<ring::FrameSlot> SumSink::reserve(std::uint64_t bytes, std::uint32_t, std::int64_t,
                                         std::stop_token) {
    return slots_.take(bytes);
}

Status SumSink::commit(const ring::FrameSlot& slot, std::uint32_t epoch, std::int64_t number) {
    ASSIGN_OR_RETURN(const frame::FrameView view,
                     frame::FrameView::open(slot.bytes, frame::CheckLevel::kDirectory));
    Checksum sums;
    if (reads_) {
        sums.add(view);
    }
    stream::OrderHash order;
    order.add(epoch, static_cast<std::uint64_t>(number), view.rowFiles(), view.rowNumbers());
    slots_.giveBack(slot.ticket);
    MutexLock lock(mutex_);
    if (!first_) {
        first_ = Clock::now();
    }
    orderHash_.add(order);
    if (reads_) {
        finished_.emplace(slot.ticket, std::move(sums));
        joinLocked();
    }
    return okStatus();
}

void SumSink::joinLocked() {
    for (auto next = finished_.begin(); next != finished_.end() && next->first == nextJoined_;
         next = finished_.begin()) {
        checksum_.merge(next->second);
        finished_.erase(next);
        ++nextJoined_;
    }
}

Status SumSink::endOfEpoch(std::uint32_t, std::int64_t, std::stop_token) {
    epochEnds_.push_back(Clock::now());
    return okStatus();
}

stream::OrderHash SumSink::orderHash() const {
    MutexLock lock(mutex_);
    return orderHash_;
}

std::optional<SumSink::Clock::time_point> SumSink::firstFrame() const {
    MutexLock lock(mutex_);
    return first_;
}

}  // namespace millrace::loader

#include "daemon/worker/loader/sinks.h"

#include <algorithm>
#include <tuple>

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

RingSink::RingSink(std::vector<Rank> ranks, int worldSize)
    : ranks_(std::move(ranks)), worldSize_(worldSize) {}

const RingSink::Rank* RingSink::rankOf(std::int64_t number) const {
    const auto wanted = static_cast<int>(number % worldSize_);
    const auto found = std::find_if(ranks_.begin(), ranks_.end(),
                                    [wanted](const Rank& rank) { return rank.rank == wanted; });
    return found == ranks_.end() ? nullptr : &*found;
}

bool RingSink::wants(std::uint32_t epoch, std::int64_t number) const {
    const Rank* rank = rankOf(number);
    if (rank == nullptr) {
        return false;
    }
    if (!rank->next) {
        return true;
    }
    return std::tie(epoch, number) >= std::tie(rank->next->epoch, rank->next->number);
}

Result<ring::FrameSlot> RingSink::reserve(std::uint64_t bytes, std::uint32_t epoch,
                                          std::int64_t number, std::stop_token stop) {
    Result<ring::FrameSlot> slot =
        rankOf(number)->ring->reserve(bytes, epoch, number, std::move(stop));
    RETURN_IF_ERROR(noted(slot.status()));
    return slot;
}

Status RingSink::commit(const ring::FrameSlot& slot, std::uint32_t epoch, std::int64_t number) {
    return noted(rankOf(number)->ring->commit(slot, epoch, number));
}

Status RingSink::segment(const stream::SegmentRecord& record, std::stop_token stop) {
    return all([&](ring::FrameSink& ring) { return ring.segment(record, stop); });
}

Status RingSink::endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) {
    return all([&](ring::FrameSink& ring) { return ring.endOfEpoch(epoch, total, stop); });
}

Status RingSink::endOfStream(std::stop_token stop) {
    return all([&](ring::FrameSink& ring) { return ring.endOfStream(stop); });
}

Status RingSink::error(const Status& why, std::stop_token stop) {
    for (const Rank& rank : ranks_) {
        RETURN_IF_ERROR(rank.ring->error(why, stop));  // a reader that goes now is no reason
    }
    return okStatus();
}

}  // namespace millrace::loader

#include "daemon/worker/loader/sinks.h"

#include <algorithm>

namespace millrace::loader {

Result<segment::SequenceSink::Place> SumSink::reserve(std::uint64_t bytes, std::uint32_t,
                                                      std::int64_t, std::stop_token) {
    return places_.take(bytes);
}

Status SumSink::commit(const Place& place, std::uint32_t epoch, std::int64_t number) {
    ASSIGN_OR_RETURN(const frame::FrameView view,
                     frame::FrameView::open(place.bytes, frame::CheckLevel::kDirectory));
    Checksum sums;
    if (reads_) {
        sums.add(view);
    }
    stream::OrderHash order;
    order.add(epoch, static_cast<std::uint64_t>(number), view.rowFiles(), view.rowNumbers());
    places_.giveBack(place.ticket);
    MutexLock lock(mutex_);
    if (!first_) {
        first_ = Clock::now();
    }
    orderHash_.add(order);
    if (reads_) {
        finished_.emplace(place.ticket, std::move(sums));
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

RingSink::RingSink(std::vector<Rank> ranks, int worldSize, CountNames names)
    : ranks_(std::move(ranks)), worldSize_(worldSize), names_(std::move(names)) {}

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
    return epoch != rank->next->epoch ? epoch > rank->next->epoch
                                      : static_cast<std::uint64_t>(number) >= rank->next->number;
}

Result<segment::SequenceSink::Place> RingSink::reserve(std::uint64_t bytes, std::uint32_t,
                                                       std::int64_t number, std::stop_token stop) {
    const Result<ring::Reservation> place = rankOf(number)->ring->reserve(bytes, stop);
    RETURN_IF_ERROR(noted(place.status()));
    return Place{place->bytes, place->ticket};
}

Status RingSink::commit(const Place& place, std::uint32_t epoch, std::int64_t number) {
    return noted(rankOf(number)->ring->commit({place.bytes, place.ticket}, epoch,
                                              static_cast<std::uint64_t>(number)));
}

Status RingSink::segment(const segment::SegmentRecord& from, std::stop_token stop) {
    ring::SegmentRecord record;
    record.epoch = from.epoch;
    record.segment = static_cast<std::uint64_t>(from.segment);
    record.first = static_cast<std::uint64_t>(from.first);
    record.count = static_cast<std::uint64_t>(from.count);
    record.tailRows = static_cast<std::uint64_t>(from.tailRows);
    record.rowsScanned = static_cast<std::uint64_t>(from.rowsScanned);
    record.rowsPruned = static_cast<std::uint64_t>(from.rowsPruned);
    record.rowsKept = static_cast<std::uint64_t>(from.rowsKept);
    record.numSteps =
        static_cast<std::uint32_t>(std::min(from.steps.size(), ring::SegmentRecord::kMaxSteps));
    for (std::size_t s = 0; s < record.numSteps; ++s) {
        record.steps[s] = {static_cast<std::uint64_t>(from.steps[s].rowsIn),
                           static_cast<std::uint64_t>(from.steps[s].rowsOut)};
    }
    names_.fill(from, record);
    return all([&](ring::FrameSink& ring) { return ring.segmentRecord(record, stop); });
}

Status RingSink::endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) {
    return all([&](ring::FrameSink& ring) {
        return ring.endOfEpoch(epoch, static_cast<std::uint64_t>(total), stop);
    });
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

#include "daemon/worker/loader/sinks.h"

namespace millrace::loader {

Result<ring::FrameSlot> SumSink::reserve(std::uint64_t bytes, std::uint32_t, std::int64_t,
                                         std::stop_token) {
    return slots_.take(bytes);
}

Status SumSink::commit(const ring::FrameSlot& slot, std::uint32_t epoch, std::int64_t number) {
    ASSIGN_OR_RETURN(const frame::FrameView view,
                     frame::FrameView::open(slot.bytes, frame::CheckLevel::kDirectory));
    Part part;
    part.epoch = epoch;
    part.number = number;
    part.rows = view.header().rows;
    if (reads_) {
        part.sums.add(view);
    }
    part.order.add(epoch, static_cast<std::uint64_t>(number), view.rowFiles(), view.rowNumbers());
    slots_.giveBack(slot.ticket);
    MutexLock lock(mutex_);
    if (!first_) {
        first_ = Clock::now();
    }
    finished_.emplace(slot.ticket, std::move(part));
    joinLocked();
    return okStatus();
}

void SumSink::joinLocked() {
    for (auto next = finished_.begin(); next != finished_.end() && next->first == nextJoined_;
         next = finished_.begin()) {
        addToStepLocked(std::move(next->second));
        finished_.erase(next);
        ++nextJoined_;
    }
}

void SumSink::addToStepLocked(Part part) {
    if (!step_.empty() && step_.back().epoch != part.epoch) {
        dropStepLocked();
    }
    step_.push_back(std::move(part));
    stream::StepMark mark;
    mark.number = step_.back().number + 1;
    mark.batches = static_cast<std::int64_t>(step_.size());
    for (const Part& one : step_) {
        mark.rows += one.rows;
    }
    const bool isWhole = mark.isWhole(rule_.stepBatches, rule_.microRows);
    if (isWhole || rule_.last == stream::LastStep::kKeep) {
        keepStepLocked();
    }
}

void SumSink::keepStepLocked() {
    for (const Part& part : step_) {
        orderHash_.add(part.order);
        if (reads_) {
            checksum_.merge(part.sums);
        }
    }
    step_.clear();
}

void SumSink::dropStepLocked() {
    for (const Part& part : step_) {
        leftOut_.rows += part.rows;
        ++leftOut_.batches;
    }
    step_.clear();
}

void SumSink::close() {
    MutexLock lock(mutex_);
    if (!step_.empty() && endedEpoch_ == step_.back().epoch) {
        dropStepLocked();
    }
    keepStepLocked();
}

SummedRows SumSink::leftOut() const {
    MutexLock lock(mutex_);
    return leftOut_;
}

Status SumSink::endOfEpoch(std::uint32_t epoch, std::int64_t, std::stop_token) {
    endedEpoch_ = epoch;
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

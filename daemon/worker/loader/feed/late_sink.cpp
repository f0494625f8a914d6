#include "daemon/worker/loader/feed/late_sink.h"

#include <utility>

namespace millrace::loader {

void LateSink::deliverTo(std::vector<ring::RingSink::Rank> ranks,
                         const ring::RingSink::Options& options) {
    MutexLock lock(mutex_);
    INVARIANT(sink_ == nullptr, "ranks come once");
    sink_ = std::make_unique<ring::RingSink>(std::move(ranks), options);
    news_.notifyAll();
}

bool LateSink::hasRanks() const {
    MutexLock lock(mutex_);
    return sink_ != nullptr;
}

void LateSink::abandon() {
    MutexLock lock(mutex_);
    isAbandoned_ = true;
    news_.notifyAll();
}

bool LateSink::hasLostReader() const {
    MutexLock lock(mutex_);
    return sink_ != nullptr && sink_->hasLostReader();
}

/// Null: it was abandoned before the ranks came.
ring::RingSink* LateSink::await() const {
    MutexLock lock(mutex_);
    while (sink_ == nullptr && !isAbandoned_) {
        news_.wait(mutex_);
    }
    return sink_.get();
}

template <class Call>
auto LateSink::with(Call call) const -> decltype(call(std::declval<ring::RingSink&>())) {
    ring::RingSink* const sink = await();
    if (sink == nullptr) {
        return cancelled("feed: no rank came");
    }
    return call(*sink);
}

bool LateSink::wants(std::uint32_t epoch, std::int64_t number) const {
    const ring::RingSink* const sink = await();
    return sink == nullptr || sink->wants(epoch, number);
}

Status LateSink::leftOut(std::uint32_t epoch, std::int64_t number, std::int64_t rows,
                         const Sum128& rowIds, std::stop_token stop) {
    return with([&](ring::RingSink& sink) {
        return sink.leftOut(epoch, number, rows, rowIds, std::move(stop));
    });
}

bool LateSink::takesParts() const {
    MutexLock lock(mutex_);
    return sink_ != nullptr ? sink_->takesParts() : ledger_ != nullptr && ledger_->hasRelays();
}

bool LateSink::takesPart(std::uint64_t worker, std::uint32_t epoch, std::int64_t number) const {
    MutexLock lock(mutex_);
    return sink_ != nullptr ? sink_->takesPart(worker, epoch, number)
                            : ledger_ != nullptr && ledger_->hasRelays();
}

Result<bool> LateSink::part(const stream::FramePart& part, std::shared_ptr<const void> owner,
                            std::uint32_t epoch, std::int64_t number, std::stop_token stop) {
    return with([&](ring::RingSink& sink) {
        return sink.part(part, std::move(owner), epoch, number, std::move(stop));
    });
}

Result<ring::FrameSlot> LateSink::reserve(std::uint64_t bytes, std::uint32_t epoch,
                                          std::int64_t number, std::stop_token stop) {
    return with(
        [&](ring::RingSink& sink) { return sink.reserve(bytes, epoch, number, std::move(stop)); });
}

Status LateSink::commit(const ring::FrameSlot& slot, std::uint32_t epoch, std::int64_t number) {
    return with([&](ring::RingSink& sink) { return sink.commit(slot, epoch, number); });
}

Status LateSink::segment(const stream::SegmentRecord& record, std::stop_token stop) {
    return with([&](ring::RingSink& sink) { return sink.segment(record, std::move(stop)); });
}

Status LateSink::endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) {
    return with(
        [&](ring::RingSink& sink) { return sink.endOfEpoch(epoch, total, std::move(stop)); });
}

Status LateSink::endOfStream(std::stop_token stop) {
    return with([&](ring::RingSink& sink) { return sink.endOfStream(std::move(stop)); });
}

Status LateSink::error(const Status& why, std::stop_token stop) {
    return with([&](ring::RingSink& sink) { return sink.error(why, std::move(stop)); });
}

}  // namespace millrace::loader

#include "daemon/worker/relay/parts_filler.h"

#include <algorithm>
#include <utility>

#include "backend/core/thread.h"
#include "backend/stream/state/order_hash.h"

namespace millrace::relay {

PartsFiller::PartsFiller(ring::RingWriter& to, FrameSource* source, Handlers handlers)
    : to_(to), source_(source), handlers_(std::move(handlers)) {
    thread_ = startThread("relay-fill", [this](const std::stop_token& stop) { run(stop); });
}

PartsFiller::~PartsFiller() {
    thread_.request_stop();
    thread_.join();
    MutexLock lock(inbox_->mutex);
    inbox_->waiting.clear();
}

std::uint64_t PartsFiller::framesBytes(std::span<const ring::RingPart> parts) {
    std::uint64_t bytes = 0;
    for (const ring::RingPart& part : parts) {
        bytes += part.isInline() ? part.frame.size() : part.reference.bytes;
    }
    return bytes;
}

Status PartsFiller::setColumns(std::span<const std::byte> frame) {
    ASSIGN_OR_RETURN(const frame::FrameView view,
                     frame::FrameView::open(frame, frame::CheckLevel::kDirectory));
    ASSIGN_OR_RETURN(layout_, frame::FrameLayout::of(view));
    return okStatus();
}

Status PartsFiller::add(const ring::FrameSlot& slot, const ring::FrameNumbers& numbers,
                        std::vector<ring::RingPart> parts, frame::FrameBuffer payload) {
    if (source_ == nullptr || !layout_) {
        return dataLoss("ring: parts of a frame came to a relay that fetches none");
    }
    Filling filling{slot, numbers, std::move(parts), std::move(payload), {}};
    for (const ring::RingPart& part : filling.parts) {
        filling.fetches.push_back(
            part.isInline()
                ? nullptr
                : source_->fetch(part.reference,
                                 {[inbox = inbox_] { inbox->tell(); },
                                  [inbox = inbox_](std::uint64_t worker, std::uint32_t connection) {
                                      {
                                          MutexLock lock(inbox->mutex);
                                          inbox->lost[worker] = connection;
                                      }
                                      inbox->tell();
                                  }}));
    }
    MutexLock lock(inbox_->mutex);
    inbox_->waiting.push_back(std::move(filling));
    inbox_->changed.notifyAll();
    return okStatus();
}

void PartsFiller::run(const std::stop_token& stop) {
    Inbox& inbox = *inbox_;
    const std::stop_callback wake(stop, [&inbox] { inbox.tell(); });
    for (;;) {
        std::optional<Filling> next;
        {
            MutexLock lock(inbox.mutex);
            while (inbox.waiting.empty() && !stop.stop_requested()) {
                inbox.changed.wait(inbox.mutex);
            }
            if (stop.stop_requested()) {
                return;
            }
            next.emplace(std::move(inbox.waiting.front()));
            inbox.waiting.pop_front();
        }
        const Status status = fill(*next, stop);
        if (!status.ok()) {
            if (!stop.stop_requested()) {
                handlers_.onBroken(status, worker_);
            }
            return;
        }
    }
}

void PartsFiller::tellLost() {
    std::map<std::uint64_t, std::uint32_t> lost;
    {
        MutexLock lock(inbox_->mutex);
        lost.swap(inbox_->lost);
    }
    for (const auto& [worker, connection] : lost) {
        handlers_.onLost(worker, connection);
    }
}

Result<segment::CodedFrame> PartsFiller::await(FrameFetch& fetch, const std::stop_token& stop) {
    Inbox& inbox = *inbox_;
    for (;;) {
        {
            MutexLock lock(inbox.mutex);
            inbox.hasNews = false;
        }
        tellLost();
        if (auto coded = fetch.take()) {
            return *std::move(coded);
        }
        MutexLock lock(inbox.mutex);
        while (!inbox.hasNews && !stop.stop_requested()) {
            inbox.changed.wait(inbox.mutex);
        }
        if (stop.stop_requested()) {
            return cancelled("the ring ends");
        }
    }
}

Result<frame::FrameView> PartsFiller::decode(const stream::FramePart& part,
                                             std::span<const std::byte> coded,
                                             std::span<std::byte> slot,
                                             frame::FrameBuffer& scratch) {
    const auto refused = [&](std::string_view what) {
        return dataLoss("frame ", part.frame, " of segment ", part.name.segment, " of epoch ",
                        part.name.epoch, " from data worker ", worker_, ": ", what);
    };
    const auto bytes = frame::FrameDecoder::frameBytes(coded, part.bytes);
    if (!bytes.ok()) {
        return refused(messageOf(bytes.status()));
    }
    if (*bytes != part.bytes) {
        return refused("it has another size than its reference says");
    }
    const auto plain = slot.empty() ? frame::FrameDecoder::plainFrame(coded) : std::nullopt;
    if (!plain && slot.empty()) {
        scratch = scratch.size() < part.bytes ? frame::FrameBuffer(part.bytes) : std::move(scratch);
        slot = scratch.bytes().first(part.bytes);
    }
    const Status decoded = plain ? okStatus() : decoder_.decodeSummed(coded, slot);
    const auto view = plain ? frame::FrameView::open(*plain)
                            : frame::FrameView::open(slot, frame::CheckLevel::kDirectory);
    if (!decoded.ok() || !view.ok()) {
        return refused(messageOf(decoded.ok() ? view.status() : decoded));
    }
    if (view->rows() != part.rows || !layout_->isOf(*view) ||
        stream::rowIdsHash(view->rowFiles(), view->rowNumbers()) != part.rowIds) {
        return refused("it has other rows than its reference says, or is of another stream");
    }
    return *view;
}

Status PartsFiller::fill(Filling& filling, const std::stop_token& stop) {
    const bool isWhole = filling.parts.size() == 1 && !filling.parts.front().isInline() &&
                         filling.parts.front().reference.isWhole();
    std::uint64_t numFetched = 0, bytes = framesBytes(filling.parts);
    std::vector<segment::CodedFrame> coded(filling.parts.size());  // views may be inside them
    std::vector<frame::FrameView> views;
    std::vector<frame::RowRange> ranges;
    views.reserve(filling.parts.size());
    scratch_.resize(std::max(scratch_.size(), filling.parts.size()));
    for (std::size_t p = 0; p < filling.parts.size(); ++p) {
        const ring::RingPart& part = filling.parts[p];
        worker_ = part.reference.worker;
        if (part.isInline()) {
            ASSIGN_OR_RETURN(views.emplace_back(),
                             frame::FrameView::open(part.frame, frame::CheckLevel::kDirectory));
            ranges.push_back({&views.back(), 0, views.back().rows()});
            continue;
        }
        ASSIGN_OR_RETURN(coded[p], await(*filling.fetches[p], stop));
        worker_ = filling.fetches[p]->worker();
        ASSIGN_OR_RETURN(views.emplace_back(),
                         decode(part.reference, coded[p].bytes,
                                isWhole ? filling.slot.bytes.first(bytes) : std::span<std::byte>(),
                                scratch_[p]));
        ranges.push_back({&views.back(), part.reference.from, part.reference.to});
        filling.fetches[p].reset();
        ++numFetched;
    }
    worker_ = 0;
    if (!isWhole) {
        ASSIGN_OR_RETURN(bytes, ring::joinFrames(*layout_, ranges, filling.slot.bytes));
    }
    RETURN_IF_ERROR(to_.commitJoined(filling.slot, filling.numbers, bytes));
    numWritten_ += numFetched;
    handlers_.onWritten(numWritten_);
    return okStatus();
}

}  // namespace millrace::relay

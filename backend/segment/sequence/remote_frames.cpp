#include "backend/segment/sequence/remote_frames.h"

#include <algorithm>
#include <utility>

namespace millrace::segment {

Result<std::shared_ptr<RemoteFrames>> RemoteFrames::make(const StreamShape& shape,
                                                         stream::SegmentOrder order,
                                                         SegmentReport facts,
                                                         std::shared_ptr<FrameHolder> holder) {
    RETURN_IF_ERROR(checkFacts(facts, order, shape));
    return std::shared_ptr<RemoteFrames>(
        new RemoteFrames(shape, std::move(order), std::move(facts), std::move(holder)));
}

RemoteFrames::RemoteFrames(const StreamShape& shape, stream::SegmentOrder order,
                           SegmentReport facts, std::shared_ptr<FrameHolder> holder)
    : shape_(shape),
      order_(std::move(order)),
      facts_(std::move(facts)),
      holder_(std::move(holder)),
      place_(holder_->place()),
      coded_(static_cast<std::size_t>(numFrames())) {}

RemoteFrames::~RemoteFrames() {
    holder_->release(order_);
}

std::int64_t RemoteFrames::numFrames() const {
    return std::ssize(facts_.frames) + (facts_.tailRows > 0 ? 1 : 0);
}

std::int64_t RemoteFrames::indexOf(std::int64_t frame) const {
    INVARIANT(frame != FrameRows::kLead, "a segment with a lead is computed here");
    return frame == FrameRows::kTail ? std::ssize(facts_.frames) : frame;
}

const FrameReport& RemoteFrames::factsOf(std::int64_t index) const {
    return index < std::ssize(facts_.frames) ? facts_.frames[static_cast<std::size_t>(index)]
                                             : facts_.tail;
}

void RemoteFrames::ask(const FrameSpan& span) {
    {
        MutexLock lock(mutex_);
        askedEnd_ = std::max(askedEnd_, span.first + span.count);
    }
    holder_->take(order_, span, shared_from_this());
}

// Checks the checksum of a frame that travelled on the thread that received it, so that a damaged
// frame never enters the sequence.
Status RemoteFrames::came(std::int64_t frame, CodedFrame coded) {
    const auto refused = [&](const std::string& what) {
        return dataLoss("frame ", frame, " of segment ", order_.name.segment, " of epoch ",
                        order_.name.epoch, ": ", what);
    };
    {
        MutexLock lock(mutex_);
        if (frame < 0 || frame >= askedEnd_) {
            return refused("nobody asked for it");
        }
    }
    const FrameReport& facts = factsOf(frame);
    const auto bytes = coded.isShared() ? frame::FrameDecoder::sharedBytes(coded.bytes, facts.bytes)
                                        : frame::FrameDecoder::frameBytes(coded.bytes, facts.bytes);
    if (!bytes.ok()) {
        return refused(std::string(messageOf(bytes.status())));
    }
    if (*bytes != facts.bytes || coded.bytes.size() != facts.codedBytes) {
        return refused(strCat(coded.bytes.size(), " bytes of ", *bytes, " came, ", facts.codedBytes,
                              " of ", facts.bytes, " were announced"));
    }
    {
        MutexLock lock(mutex_);
        CodedFrame& place = coded_[static_cast<std::size_t>(frame)];
        if (place.owner == nullptr) {
            place = std::move(coded);
        }
    }
    notifier_.tell();
    return okStatus();
}

void RemoteFrames::drop(std::int64_t frame) {
    CodedFrame dropped;  // frees its memory without the lock
    MutexLock lock(mutex_);
    std::swap(coded_[static_cast<std::size_t>(frame)], dropped);
}

std::int64_t RemoteFrames::rowsHeld() const {
    return order_.lastRows > 0 ? facts_.tailRows : facts_.counts.rowsKept;
}

bool RemoteFrames::isAtHand(std::int64_t frame) const {
    return codedAt(indexOf(frame)).owner != nullptr;
}

CodedFrame RemoteFrames::codedAt(std::int64_t index) const {
    MutexLock lock(mutex_);
    return coded_[static_cast<std::size_t>(index)];
}

Result<std::uint64_t> RemoteFrames::measure(const FrameRows& rows, FrameTools&) const {
    return factsOf(indexOf(rows.frame)).bytes;
}

Status RemoteFrames::write(const FrameRows& rows, FrameTools& tools, std::span<std::byte> memory,
                           const frame::FrameId& id) const {
    const CodedFrame coded = codedAt(indexOf(rows.frame));
    INVARIANT(coded.owner != nullptr, "frames are written once they are at hand");
    RETURN_IF_ERROR(coded.isShared() ? tools.decoder().decodeShared(coded.bytes, memory)
                                     : tools.decoder().decodeSummed(coded.bytes, memory));
    if (coded.isShared() && !coded.place.isStill()) {
        return dataLoss("frame ", rows.frame, " of segment ", order_.name.segment, " of epoch ",
                        order_.name.epoch, ": its worker let go of it before it was released");
    }
    ASSIGN_OR_RETURN(const auto view,
                     frame::FrameView::open(memory, frame::CheckLevel::kDirectory));
    if (view.id() != id || view.rows() != rows.rows || !shape_.layout.isOf(view)) {
        return dataLoss("frame ", rows.frame, " of segment ", order_.name.segment, " of epoch ",
                        order_.name.epoch, ": it is a frame of other rows or another stream");
    }
    return okStatus();
}

BatchMix RemoteFrames::mix(const FrameRows& rows, FrameTools&) const {
    return factsOf(indexOf(rows.frame)).mix(rows.rows);
}

FrameKeys RemoteFrames::keys(const FrameRows&, FrameTools&) const {
    return {facts_.tailRequestKeys, facts_.tailUserKeys};
}

std::optional<stream::FramePart> RemoteFrames::part(std::int64_t frame) const {
    if (place_.worker == 0) {
        return std::nullopt;
    }
    const FrameReport& facts = factsOf(indexOf(frame));
    stream::FramePart part;
    part.worker = place_.worker;
    part.name = order_.name;
    part.generation = place_.generation;
    part.frame = frame;
    part.rows = part.to = static_cast<std::uint32_t>(shape_.microRows);
    part.bytes = facts.bytes;
    part.codedBytes = facts.codedBytes;
    part.rowIds = facts.rowIds;
    return part;
}

Sum128 RemoteFrames::rowIds(const FrameRows& rows, FrameTools&) const {
    return factsOf(indexOf(rows.frame)).rowIds;
}

}  // namespace millrace::segment

#include "backend/ring/ring_sink.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "backend/frame/format.h"

namespace millrace::ring {
namespace {

struct FrameRows {
    std::int64_t rows = 0;
    Sum128 ids;
};

/// Row count and hash of a frame that was just written, from its first two columns. The memory is
/// shared with the reader, so the values read are checked.
Result<FrameRows> rowsOf(std::span<const std::byte> bytes) {
    constexpr std::size_t kColumns = 2;
    frame::FrameHeader header;
    frame::ColumnEntry entries[kColumns];
    if (bytes.size() < sizeof header + sizeof entries) {
        return invalidArgument("ring: a frame without row ids");
    }
    std::memcpy(&header, bytes.data(), sizeof header);
    std::memcpy(&entries, bytes.data() + sizeof header, sizeof entries);
    const std::uint64_t rows = header.rows;
    const auto isInside = [&](const frame::ColumnEntry& entry, std::uint64_t width) {
        return entry.data.offset <= bytes.size() && entry.data.offset % width == 0 &&
               rows * width <= bytes.size() - entry.data.offset;
    };
    if (!isInside(entries[0], sizeof(std::uint32_t)) ||
        !isInside(entries[1], sizeof(std::uint64_t))) {
        return dataLoss("ring: a frame's row ids are outside of it");
    }
    const auto* files = bytes.data() + entries[0].data.offset;
    const auto* numbers = bytes.data() + entries[1].data.offset;
    return FrameRows{static_cast<std::int64_t>(rows),
                     stream::rowIdsHash({reinterpret_cast<const std::uint32_t*>(files), rows},
                                        {reinterpret_cast<const std::uint64_t*>(numbers), rows})};
}

}  // namespace

RingSink::RingSink(std::vector<Rank> ranks, const Options& options)
    : ranks_(std::move(ranks)),
      worldSize_(options.worldSize),
      perStep_(options.perStep),
      microRows_(options.microRows),
      last_(options.last),
      layout_(options.layout),
      ledger_(options.ledger),
      memory_(options.budget),
      orderHash_(options.orderHash),
      rowsDelivered_(options.rowsDelivered),
      rowsLeftOut_(options.rowsLeftOut) {
    INVARIANT(worldSize_ >= 1 && perStep_ >= 1, "there is a rank and a step has a micro-batch");
    const bool isJoined = std::ranges::any_of(ranks_, [](const Rank& rank) { return rank.join; });
    INVARIANT(!isJoined || layout_ != nullptr, "frames are joined by their layout");
    INVARIANT((!isJoined && last_ == stream::LastStep::kKeep) || microRows_ >= 1,
              "a whole step is known by its rows");
}

Status RingSink::begin(const std::stop_token& stop) {
    if (isBegun_ || layout_ == nullptr) {
        return okStatus();
    }
    frame::FrameWriter writer(*layout_);
    const std::vector<std::uint64_t> none(layout_->numColumns());
    ASSIGN_OR_RETURN(const std::uint64_t bytes, writer.declare(0, none));
    frame::FrameBuffer frame(bytes);
    RETURN_IF_ERROR(writer.bind(frame.bytes(), {}));
    isBegun_ = true;
    for (const Rank& rank : ranks_) {
        RETURN_IF_ERROR(noted(rank.ring->columns(frame.bytes(), stop)));
    }
    return okStatus();
}

/// The index of the ring for a micro-batch; the number of rings if it is not served here.
std::size_t RingSink::ringOf(std::int64_t number) const {
    const auto wanted = static_cast<int>(number % worldSize_);
    const auto found =
        std::ranges::find_if(ranks_, [wanted](const Rank& rank) { return rank.rank == wanted; });
    return static_cast<std::size_t>(found - ranks_.begin());
}

bool RingSink::wants(std::uint32_t epoch, std::int64_t number) const {
    const std::size_t ring = ringOf(number);
    if (ring == ranks_.size()) {
        return false;
    }
    const std::optional<FeedPosition>& next = ranks_[ring].next;
    return (!next || std::tie(epoch, number) >= std::tie(next->epoch, next->number)) &&
           ranks_[ring].ring->wants(epoch, number);
}

// Closes the open step: reserves slots for its joined frames and its mark in every ring. They are
// filled there once everything before the mark was committed.
Status RingSink::closeStep(bool isLast, const std::stop_token& stop) {
    std::vector<std::shared_ptr<Joint>> joints;
    {
        MutexLock lock(mutex_);
        Step& step = steps_.back();
        step.mark.isLast = isLast;
        const bool isCut = isLast && step.mark.number < step.end;
        if (last_ == stream::LastStep::kDrop && step.fate == FrameState::kOpen &&
            (isCut || !isLast)) {
            step.fate = isCut ? FrameState::kLeftOut : FrameState::kDelivered;
        }
        RETURN_IF_ERROR(settleLocked(step));
        joints = step.joints;
    }
    const auto isWanted = [this](const Joint& joint) {
        MutexLock lock(mutex_);
        return joint.fate != FrameState::kLeftOut;
    };
    std::vector<FrameSlot> slots;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (joints[r] != nullptr && !joints[r]->parts.empty() && isWanted(*joints[r])) {
            std::uint64_t bytes = joints[r]->bytes;
            if (joints[r]->numReferences > 0) {
                bytes = partsBytes(partsOf(*joints[r]));
            }
            Result<FrameSlot> slot = ranks_[r].ring->reserve(bytes, 0, 0, stop);
            RETURN_IF_ERROR(noted(slot.status()));
            MutexLock lock(mutex_);
            joints[r]->slot = *slot;
        }
        Result<FrameSlot> slot = ranks_[r].ring->reserveStep(stop);
        RETURN_IF_ERROR(noted(slot.status()));
        slots.push_back(*slot);
    }
    isOpen_ = false;
    openParts_ = 0;
    {
        MutexLock lock(mutex_);
        steps_.back().slots = std::move(slots);
        RETURN_IF_ERROR(fillMarksLocked());
    }
    for (const std::shared_ptr<Joint>& joint : joints) {
        if (joint != nullptr) {
            RETURN_IF_ERROR(writeJoint(*joint));
        }
    }
    return okStatus();
}

Status RingSink::closeBefore(std::uint32_t epoch, std::int64_t number,
                             const std::stop_token& stop) {
    RETURN_IF_ERROR(begin(stop));
    if (isOpen_ && number >= openEnd_) {
        RETURN_IF_ERROR(closeStep(false, stop));
    }
    if (!isOpen_) {
        isOpen_ = true;
        openEnd_ = (number / perStep_ + 1) * perStep_;
        Step step;
        step.mark.epoch = epoch;
        step.mark.number = number;
        step.end = openEnd_;
        step.fate = last_ == stream::LastStep::kKeep ? FrameState::kDelivered : FrameState::kOpen;
        step.shares.resize(ranks_.size());
        step.joints.resize(ranks_.size());
        MutexLock lock(mutex_);
        steps_.push_back(std::move(step));
    }
    return okStatus();
}

/// Adds a micro-batch to the open step.
void RingSink::give(std::uint32_t epoch, std::int64_t number) {
    MutexLock lock(mutex_);
    Step& step = steps_.back();
    INVARIANT(step.mark.epoch == epoch && step.mark.number == number,
              "micro-batches come in the order of their numbers");
    ++step.mark.number;
    ++step.mark.batches;
    ++step.missing;
}

RingSink::Step& RingSink::stepOfLocked(std::uint32_t epoch, std::int64_t number) {
    const auto step = std::ranges::find_if(steps_, [&](const Step& s) {
        return std::tie(epoch, number) < std::tie(s.mark.epoch, s.mark.number);
    });
    INVARIANT(step != steps_.end() && step->missing > 0, "it was given before");
    return *step;
}

Status RingSink::count(std::uint32_t epoch, std::int64_t number, std::int64_t rows,
                       const Sum128& rowIds) {
    const Sum128 hash = stream::batchHash(epoch, static_cast<std::uint64_t>(number), rowIds);
    const std::size_t ring = ringOf(number);
    MutexLock lock(mutex_);
    Step& step = stepOfLocked(epoch, number);
    --step.missing;
    step.hash += hash;
    step.mark.rows += rows;
    if (ring < ranks_.size()) {
        stream::StepMark::Share& share = step.shares[ring];
        ++share.batches;
        share.rows += rows;
        share.hash += hash;
    }
    RETURN_IF_ERROR(settleLocked(step));
    return fillMarksLocked();
}

/// Decides whether the step is delivered, as far as that is known. closeStep() decides for a step
/// that an epoch's end cut short or that another step follows.
Status RingSink::settleLocked(Step& step) {
    if (step.fate == FrameState::kOpen && step.missing == 0 && step.mark.number == step.end) {
        step.fate =
            step.mark.isWhole(perStep_, microRows_) ? FrameState::kDelivered : FrameState::kLeftOut;
    }
    if (step.fate == FrameState::kOpen) {
        return okStatus();
    }
    for (const std::shared_ptr<Joint>& joint : step.joints) {
        if (joint != nullptr && joint->fate == FrameState::kOpen) {
            joint->fate = step.fate;
            RETURN_IF_ERROR(settleJointLocked(*joint));
        }
    }
    return okStatus();
}

/// Publishes a written frame once it is known whether it is delivered.
Status RingSink::settleJointLocked(Joint& joint) {
    if (!joint.isWritten) {
        return okStatus();
    }
    StepSink& ring = *ranks_[joint.ring].ring;
    switch (joint.fate) {
        case FrameState::kDelivered:
            for (Part& part : joint.parts) {
                part.debt.keep();  // before the commit: the acknowledgement may come at once
            }
            return noted(joint.numReferences > 0
                             ? ring.commitParts(*joint.slot, joint.numbers, joint.bytes)
                             : ring.commitJoined(*joint.slot, joint.numbers, joint.bytes));
        case FrameState::kLeftOut:
            return noted(ring.commitNothing(*joint.slot));
        default:
            return noted(ring.park(*joint.slot));
    }
}

Status RingSink::fillMarksLocked() {
    while (!steps_.empty() && steps_.front().missing == 0 && !steps_.front().slots.empty()) {
        Step& step = steps_.front();
        step.mark.isLeftOut = step.fate == FrameState::kLeftOut && step.mark.batches > 0;
        if (step.mark.isLeftOut) {
            rowsLeftOut_ += step.mark.rows;
        } else {
            orderHash_.add(stream::OrderHash(step.hash));
            rowsDelivered_ += step.mark.rows;
        }
        step.mark.orderHash = orderHash_;
        step.mark.rowsDelivered = rowsDelivered_;
        step.mark.rowsLeftOut = rowsLeftOut_;
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            const bool hasFrames = !step.mark.isLeftOut || !ranks_[r].join;
            step.mark.own = hasFrames ? step.shares[r] : stream::StepMark::Share{};
            RETURN_IF_ERROR(noted(ranks_[r].ring->commitStep(step.slots[r], step.mark)));
        }
        steps_.pop_front();
    }
    return okStatus();
}

Status RingSink::leftOut(std::uint32_t epoch, std::int64_t number, std::int64_t rows,
                         const Sum128& rowIds, std::stop_token stop) {
    RETURN_IF_ERROR(closeBefore(epoch, number, stop));
    give(epoch, number);
    return count(epoch, number, rows, rowIds);
}

bool RingSink::takesParts() const {
    return ledger_ != nullptr &&
           std::ranges::any_of(ranks_, [](const Rank& rank) { return rank.ledgerRing != 0; });
}

bool RingSink::takesPart(std::uint64_t worker, std::uint32_t, std::int64_t number) const {
    const std::size_t ring = ringOf(number);
    return ledger_ != nullptr && ring < ranks_.size() && ranks_[ring].ledgerRing != 0 &&
           ledger_->mayRefer(ranks_[ring].ledgerRing, worker);
}

Result<bool> RingSink::part(const stream::FramePart& part, std::shared_ptr<const void> owner,
                            std::uint32_t epoch, std::int64_t number, std::stop_token stop) {
    RETURN_IF_ERROR(closeBefore(epoch, number, stop));
    const std::size_t r = ringOf(number);
    const Rank& rank = ranks_[r];
    const std::shared_ptr<Joint> joint = rank.join ? openJoint(r, number) : nullptr;
    auto owed = ledger_->owe(rank.ledgerRing, part, std::move(owner),
                             joint ? joint->numReferences : 0, stop);
    RETURN_IF_ERROR(noted(owed.status()));
    std::optional<FrameLedger::Debt> debt = *std::move(owed);
    if (!debt) {
        return false;
    }
    if (joint != nullptr) {
        MutexLock lock(mutex_);
        addToJoint(*joint, number, {std::nullopt, part, std::move(*debt)}, part.bytes);
        ++joint->numReferences;
    } else {
        const RingPart one{part, {}};
        const std::uint64_t bytes = partsBytes({&one, 1});
        Result<FrameSlot> slot = rank.ring->reserve(bytes, epoch, number, stop);
        RETURN_IF_ERROR(noted(slot.status()));
        writeParts({&one, 1}, slot->bytes);
        debt->keep();  // before the commit: the acknowledgement may come at once
        RETURN_IF_ERROR(noted(rank.ring->commitParts(*slot, {epoch, number, 1, 1}, bytes)));
    }
    give(epoch, number);
    RETURN_IF_ERROR(count(epoch, number, part.rows, part.rowIds));
    return true;
}

Result<FrameSlot> RingSink::reserve(std::uint64_t bytes, std::uint32_t epoch, std::int64_t number,
                                    std::stop_token stop) {
    RETURN_IF_ERROR(closeBefore(epoch, number, stop));
    const std::size_t ring = ringOf(number);
    Result<FrameSlot> slot = ranks_[ring].join
                                 ? reserveJoined(bytes, ring, number, stop)
                                 : ranks_[ring].ring->reserve(bytes, epoch, number, stop);
    RETURN_IF_ERROR(noted(slot.status()));
    give(epoch, number);
    return slot;
}

/// Reserves in the ring if this is all that the ring can get of the step, otherwise in memory_.
Result<FrameSlot> RingSink::reserveJoined(std::uint64_t bytes, std::size_t ring,
                                          std::int64_t number, const std::stop_token& stop) {
    const std::shared_ptr<Joint> joint = openJoint(ring, number);
    FrameSlot slot;
    if (joint->parts.empty() && number + worldSize_ >= openEnd_) {
        ASSIGN_OR_RETURN(slot, ranks_[ring].ring->reserve(bytes, 0, number, stop));
        MutexLock lock(mutex_);
        joint->numbers.count = 1;
        joint->bytes = bytes;
        joint->slot = slot;
        return slot;
    }
    ASSIGN_OR_RETURN(JoinMemory::Buffer part, memory_.take(bytes, openParts_, stop));
    ++openParts_;
    slot.bytes = part.bytes().first(bytes);
    MutexLock lock(mutex_);
    addToJoint(*joint, number, {std::move(part), {}, {}}, bytes);
    ++joint->missing;
    return slot;
}

/// The joined frame of the ring in the open step.
std::shared_ptr<RingSink::Joint> RingSink::openJoint(std::size_t ring, std::int64_t number) {
    MutexLock lock(mutex_);
    std::shared_ptr<Joint>& joint = steps_.back().joints[ring];
    if (joint == nullptr) {
        joint = std::make_shared<Joint>();
        joint->ring = ring;
        joint->numbers = {steps_.back().mark.epoch, number, worldSize_, 0};
        joint->fate = steps_.back().fate;
    }
    return joint;
}

/// Call it with mutex_.
void RingSink::addToJoint(Joint& joint, std::int64_t number, Part part, std::uint64_t bytes) {
    INVARIANT(number == joint.numbers.first + joint.numbers.count * joint.numbers.stride,
              "a ring's numbers of a step are one stride apart");
    joint.parts.push_back(std::move(part));
    joint.bytes += bytes;
    ++joint.numbers.count;
}

Status RingSink::commit(const FrameSlot& slot, std::uint32_t epoch, std::int64_t number) {
    // Before the commit: afterwards the reader may change the frame.
    ASSIGN_OR_RETURN(const FrameRows of, rowsOf(slot.bytes));
    const std::size_t ring = ringOf(number);
    if (ranks_[ring].ledgerRing != 0) {
        ledger_->carried(ranks_[ring].ledgerRing, slot.bytes.size());
    }
    if (!ranks_[ring].join) {
        RETURN_IF_ERROR(noted(ranks_[ring].ring->commit(slot, epoch, number)));
        return count(epoch, number, of.rows, of.ids);
    }
    std::shared_ptr<Joint> joint;
    {
        MutexLock lock(mutex_);
        joint = stepOfLocked(epoch, number).joints[ring];
    }
    // After this the step may be gone, and its mark be in all rings: readers see nothing behind a
    // place that is not filled.
    RETURN_IF_ERROR(count(epoch, number, of.rows, of.ids));
    return commitPart(joint);
}

Status RingSink::commitPart(const std::shared_ptr<Joint>& joint) {
    {
        MutexLock lock(mutex_);
        if (joint->parts.empty()) {
            joint->isWritten = true;
            return settleJointLocked(*joint);
        }
        --joint->missing;
    }
    return writeJoint(*joint);
}

/// Runs once, on the thread that finds all parts committed and a slot reserved.
Status RingSink::writeJoint(Joint& joint) {
    bool isWanted = true;
    {
        MutexLock lock(mutex_);
        if (joint.isTaken || joint.missing > 0 || !joint.slot || joint.parts.empty()) {
            return okStatus();
        }
        joint.isTaken = true;
        isWanted = joint.fate != FrameState::kLeftOut;
    }
    std::uint64_t bytes = 0;
    if (isWanted) {
        ASSIGN_OR_RETURN(bytes, join(joint));
    }
    for (Part& part : joint.parts) {
        part.memory.reset();
    }
    MutexLock lock(mutex_);
    joint.bytes = bytes;
    joint.isWritten = true;
    return settleJointLocked(joint);
}

/// Inline frames are those in the parts' memory; their sizes are known once they are written.
std::vector<RingPart> RingSink::partsOf(Joint& joint) {
    std::vector<RingPart> parts;
    parts.reserve(joint.parts.size());
    for (Part& part : joint.parts) {
        RingPart& listed = parts.emplace_back(RingPart{part.reference, {}});
        if (listed.isInline()) {
            listed.frame = part.memory->bytes();
        }
    }
    return parts;
}

/// Joins the parts, or lists them for the relay that does; returns the bytes in the slot.
Result<std::uint64_t> RingSink::join(Joint& joint) const {
    std::vector<RingPart> parts = partsOf(joint);
    std::vector<frame::FrameView> views;
    std::vector<frame::RowRange> ranges;
    views.reserve(parts.size());
    for (RingPart& part : parts) {
        if (!part.isInline()) {
            continue;
        }
        frame::FrameHeader header;
        std::memcpy(&header, part.frame.data(), sizeof header);
        if (header.totalBytes > part.frame.size()) {
            return dataLoss("ring: a micro-batch that is larger than its place");
        }
        part.frame = part.frame.first(header.totalBytes);
        ASSIGN_OR_RETURN(frame::FrameView view,
                         frame::FrameView::open(part.frame, frame::CheckLevel::kDirectory));
        views.push_back(view);
        ranges.push_back({&views.back(), 0, view.rows()});
    }
    if (joint.numReferences > 0) {
        writeParts(parts, joint.slot->bytes);
        return partsBytes(parts);
    }
    return joinFrames(*layout_, ranges, joint.slot->bytes);
}

Status RingSink::segment(const stream::SegmentRecord& record, std::stop_token stop) {
    RETURN_IF_ERROR(begin(stop));
    if (isOpen_ && record.first >= openEnd_ && record.count > 0) {
        RETURN_IF_ERROR(closeStep(false, stop));
    }
    return all([&](FrameSink& ring) { return ring.segment(record, stop); });
}

Status RingSink::endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) {
    if (!isOpen_) {
        RETURN_IF_ERROR(closeBefore(epoch, total, stop));  // a mark without micro-batches
    }
    RETURN_IF_ERROR(closeStep(true, stop));
    return all([&](FrameSink& ring) { return ring.endOfEpoch(epoch, total, stop); });
}

Status RingSink::endOfStream(std::stop_token stop) {
    return all([&](FrameSink& ring) { return ring.endOfStream(stop); });
}

Status RingSink::error(const Status& why, std::stop_token stop) {
    Status status;
    for (const Rank& rank : ranks_) {
        const Status told = rank.ring->error(why, stop);
        // A reader that is gone must not keep the others from getting the error.
        status = status.ok() && told.code() != absl::StatusCode::kUnavailable ? told : status;
    }
    return status;
}

}  // namespace millrace::ring

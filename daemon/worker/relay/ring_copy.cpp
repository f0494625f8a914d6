#include "daemon/worker/relay/ring_copy.h"

#include <utility>
#include <vector>

#include "daemon/worker/relay/ring_entries.h"

namespace millrace::relay {
namespace {

// A step's records, and the frames of it that come inline.
constexpr std::uint64_t kPartsBytesMost = std::uint64_t{4} << 30;

/// Entries that are sent to relays; other kinds belong to one ring only.
bool isKnown(std::uint32_t kind) {
    switch (static_cast<ring::EntryKind>(kind)) {
        case ring::EntryKind::kFrame:
        case ring::EntryKind::kSegment:
        case ring::EntryKind::kEndOfEpoch:
        case ring::EntryKind::kEndOfStream:
        case ring::EntryKind::kError:
        case ring::EntryKind::kStep:
        case ring::EntryKind::kColumns:
        case ring::EntryKind::kParts:
            return true;
        case ring::EntryKind::kContinue:
        case ring::EntryKind::kNothing:
            break;
    }
    return false;
}

bool isParts(std::uint32_t kind) {
    return kind == static_cast<std::uint32_t>(ring::EntryKind::kParts);
}

bool isEnd(std::uint32_t kind) {
    return kind == static_cast<std::uint32_t>(ring::EntryKind::kEndOfStream) ||
           kind == static_cast<std::uint32_t>(ring::EntryKind::kError);
}

}  // namespace

Status RingCopy::begin(const v1::RingEntry& entry, const std::stop_token& stop) {
    if (hasEnd_ || !isKnown(entry.kind())) {
        return dataLoss("ring: an entry of kind ", entry.kind(), " came ",
                        hasEnd_ ? "behind the end" : "from the leading feed");
    }
    Open& open = open_.emplace(Open());
    open.entry.kind = entry.kind();
    open.entry.epoch = entry.epoch();
    open.entry.number = entry.number();
    open.entry.bytes = entry.bytes();
    open.entry.stride = entry.stride();
    open.entry.count = entry.count();
    hasBegun_ = true;
    if (isParts(entry.kind())) {
        if (entry.bytes() > kPartsBytesMost) {
            return dataLoss("ring: parts of ", entry.bytes(), " bytes came");
        }
        open.payload = frame::FrameBuffer(entry.bytes());
        open.slot.bytes = open.payload.bytes();
        return okStatus();
    }
    ASSIGN_OR_RETURN(open.slot, to_.reserve(entry.bytes(), entry.epoch(),
                                            static_cast<std::int64_t>(entry.number()), stop));
    return okStatus();
}

/// The open entry's payload is here.
Status RingCopy::end(PartsFiller& filler, const std::stop_token& stop) {
    const ring::RingEntry& entry = open_->entry;
    if (isParts(entry.kind)) {
        ASSIGN_OR_RETURN(std::vector<ring::RingPart> parts, ring::readParts(open_->slot.bytes));
        const auto number = static_cast<std::int64_t>(entry.number);
        ASSIGN_OR_RETURN(const ring::FrameSlot slot,
                         to_.reserve(PartsFiller::framesBytes(parts), entry.epoch, number, stop));
        ring::FrameNumbers numbers{entry.epoch, number, 1, 1};
        if (entry.count > 1) {
            numbers.stride = static_cast<std::int64_t>(entry.stride);
            numbers.count = static_cast<std::int64_t>(entry.count);
        }
        return filler.add(slot, numbers, std::move(parts), std::move(open_->payload));
    }
    if (entry.kind == static_cast<std::uint32_t>(ring::EntryKind::kColumns)) {
        RETURN_IF_ERROR(filler.setColumns(open_->slot.bytes));
    }
    hasEnd_ = isEnd(entry.kind);
    return to_.commitAs(open_->slot, entry);
}

Status RingCopy::take(const grpc::ByteBuffer& message, PartsFiller& filler,
                      const std::stop_token& stop) {
    EntriesReader reader(message);
    for (;;) {
        ASSIGN_OR_RETURN(const std::optional<v1::RingEntry> entry, reader.next());
        if (!entry) {
            return okStatus();
        }
        if (!open_) {
            RETURN_IF_ERROR(begin(*entry, stop));
        }
        const std::size_t piece = reader.pieceBytes();
        if (entry->kind() != open_->entry.kind || entry->number() != open_->entry.number ||
            entry->offset() != open_->come || piece > open_->entry.bytes - open_->come) {
            return dataLoss("ring: ", piece, " bytes came at ", entry->offset(), " of ",
                            open_->entry.bytes, "; ", open_->come, " were there");
        }
        RETURN_IF_ERROR(reader.copyTo(open_->slot.bytes.subspan(open_->come, piece)));
        open_->come += piece;
        if (open_->come == open_->entry.bytes) {
            RETURN_IF_ERROR(end(filler, stop));
            open_.reset();
        }
    }
}

}  // namespace millrace::relay

#include "daemon/worker/relay/ring_copy.h"

#include "daemon/worker/relay/ring_entries.h"

namespace millrace::relay {
namespace {

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
            return true;
        case ring::EntryKind::kContinue:
        case ring::EntryKind::kNothing:
            break;
    }
    return false;
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
    ASSIGN_OR_RETURN(open.slot, to_.reserve(entry.bytes(), entry.epoch(),
                                            static_cast<std::int64_t>(entry.number()), stop));
    return okStatus();
}

Status RingCopy::take(const grpc::ByteBuffer& message, const std::stop_token& stop) {
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
            RETURN_IF_ERROR(to_.commitAs(open_->slot, open_->entry));
            hasEnd_ = isEnd(open_->entry.kind);
            open_.reset();
        }
    }
}

}  // namespace millrace::relay


#include "backend/frame/frame.h"

namespace millrace::frame {

Result<FrameView> FrameView::open(std::span<const std::byte> bytes, CheckLevel level) {
    if (const char* wrong = checkFrame(bytes.data(), bytes.size(), level)) {
        return dataLoss("frame: ", wrong);
    }
    FrameView view;
    view.bytes_ = bytes;
    view.header_ = reinterpret_cast<const FrameHeader*>(bytes.data());
    view.entries_ = reinterpret_cast<const ColumnEntry*>(bytes.data() + sizeof(FrameHeader));
    view.names_ = reinterpret_cast<const char*>(view.entries_ + view.header_->columns);
    for (std::size_t c = 0; c < view.numColumns(); ++c) {
        if (view.entries_[c].role == Role::kInverse) {
            view.inverse_ = static_cast<int>(c);
        }
    }
    return view;
}

std::string_view FrameView::name(std::size_t column) const {
    const ColumnEntry& e = entries_[column];
    return {names_ + e.nameOffset, e.nameBytes};
}

int FrameView::find(Role role, std::string_view wanted) const {
    for (std::size_t c = 0; c < numColumns(); ++c) {
        if (entries_[c].role == role && name(c) == wanted) {
            return static_cast<int>(c);
        }
    }
    return -1;
}

std::span<const std::int64_t> FrameView::offsets(std::size_t column) const {
    const ColumnEntry& e = entries_[column];
    if (e.encoding != Encoding::kLists) {
        return {};
    }
    return {reinterpret_cast<const std::int64_t*>(bytes_.data() + e.offsets.offset),
            std::size_t{e.items} + 1};
}

std::span<const float> FrameView::weights(std::size_t column) const {
    const ColumnEntry& e = entries_[column];
    if (e.role != Role::kWeighted) {
        return {};
    }
    return {reinterpret_cast<const float*>(bytes_.data() + e.weights.offset), e.values};
}

std::uint32_t FrameView::itemOf(std::size_t column, std::uint32_t row) const {
    const bool dedup = (entries_[column].flags & kDedup) != 0;
    return dedup ? values<std::uint32_t>(static_cast<std::size_t>(inverse_))[row] : row;
}

void seal(std::span<std::byte> frame) {
    auto* header = reinterpret_cast<FrameHeader*>(frame.data());
    INVARIANT(frame.size() >= sizeof *header && header->totalBytes == frame.size(),
              "only a whole frame is sealed");
    header->flags |= kSealed;
    header->checksum = frameChecksum(frame.data(), frame.size());
}

}  // namespace millrace::frame

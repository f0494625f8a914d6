#include "backend/feed/feed_batch.h"

#include <algorithm>
#include <cstring>

#include "backend/feed/feed_structs.h"

namespace millrace::ring {

/// The bytes that are checked must be those used later, and the writer may change those in the
/// ring.
const char* FrameDirectory::copy(const unsigned char* frame, std::uint64_t bytes) {
    constexpr const char* kOutside = "the column directory is outside the frame";
    frame::FrameHeader header;
    if (bytes < sizeof header) {
        return "the frame is cut off or too long";
    }
    std::memcpy(&header, frame, sizeof header);
    const std::uint64_t rest = bytes - sizeof header;
    if (header.directoryBytes > rest) {
        return kOutside;
    }
    words_.resize((sizeof header + header.directoryBytes + 7) / 8);
    std::memcpy(words_.data(), &header, sizeof header);
    std::memcpy(reinterpret_cast<unsigned char*>(words_.data()) + sizeof header,
                frame + sizeof header, header.directoryBytes);
    // At this level nothing behind the directory is read.
    const char* wrong = frame::checkFrame(words_.data(), bytes, frame::CheckLevel::kDirectory);
    inverse_ = 0;
    for (std::uint32_t c = 0; wrong == nullptr && c < header.columns; ++c) {
        inverse_ = entries()[c].role == frame::Role::kInverse ? c : inverse_;
    }
    return wrong;
}

millrace_column FrameDirectory::column(std::size_t index, unsigned char* frame) const {
    const frame::ColumnEntry& e = entries()[index];
    const auto at = [&](const frame::Extent& extent) { return frame + extent.offset; };
    millrace_column column{};
    column.name = names() + e.nameOffset;
    column.name_bytes = e.nameBytes;
    column.role = static_cast<std::uint32_t>(e.role);
    column.dtype = static_cast<std::uint32_t>(e.dtype);
    column.width = e.width;
    column.items = e.items;
    column.num_values = e.values;
    column.is_list = e.encoding == frame::Encoding::kLists ? 1 : 0;
    if (frame == nullptr) {
        return column;
    }
    column.data = at(e.data);
    if (e.encoding == frame::Encoding::kLists) {
        column.offsets = reinterpret_cast<const std::int64_t*>(at(e.offsets));
    }
    if (e.role == frame::Role::kWeighted) {
        column.weights = reinterpret_cast<const float*>(at(e.weights));
    }
    if ((e.flags & frame::kDedup) != 0) {
        column.inverse = reinterpret_cast<const std::uint32_t*>(at(entries()[inverse_].data));
    }
    return column;
}

int FrameDirectory::columns(unsigned char* frame, millrace_column* to, std::size_t max,
                            std::size_t* count) const {
    constexpr std::size_t kWord = alignof(millrace_column);
    if (count == nullptr || (max > 0 && (!isKnownSize(to) || to->struct_size % kWord != 0))) {
        return MILLRACE_FEED_INVALID;
    }
    *count = header().columns;
    const std::uint32_t stride = max > 0 ? to->struct_size : 0;
    unsigned char* at = reinterpret_cast<unsigned char*>(to);
    for (std::size_t c = 0; c < std::min<std::size_t>(max, *count); ++c, at += stride) {
        auto* one = reinterpret_cast<millrace_column*>(at);
        one->struct_size = stride;
        fill(column(c, frame), one);
    }
    return 0;
}

}  // namespace millrace::ring

std::uint64_t millrace_batch_number(const millrace_batch* batch) {
    return batch->number;
}

std::uint64_t millrace_batch_rows(const millrace_batch* batch) {
    return batch->directory.header().rows;
}

std::uint64_t millrace_batch_bytes(const millrace_batch* batch) {
    return batch->size;
}

const void* millrace_batch_memory(const millrace_batch* batch) {
    return batch->bytes;
}

std::size_t millrace_batch_columns(const millrace_batch* batch) {
    return batch->directory.header().columns;
}

int millrace_batch_column(const millrace_batch* batch, std::size_t index, millrace_column* column) {
    const bool isFilled =
        index < batch->directory.header().columns &&
        millrace::ring::fill(batch->directory.column(index, batch->bytes), column);
    return isFilled ? 0 : MILLRACE_FEED_INVALID;
}

int millrace_batch_all_columns(const millrace_batch* batch, millrace_column* columns,
                               std::size_t max, std::size_t* count) {
    return batch->directory.columns(batch->bytes, columns, max, count);
}

int millrace_batch_find(const millrace_batch* batch, std::uint32_t role, const char* name,
                        millrace_column* column) {
    const std::size_t bytes = name == nullptr ? 0 : std::strlen(name);
    const millrace::ring::FrameDirectory& directory = batch->directory;
    for (std::uint32_t c = 0; c < directory.header().columns; ++c) {
        const millrace::frame::ColumnEntry& e = directory.entries()[c];
        const bool isNamed =
            name == nullptr || (e.nameBytes == bytes &&
                                std::memcmp(directory.names() + e.nameOffset, name, bytes) == 0);
        if (static_cast<std::uint32_t>(e.role) == role && isNamed) {
            return millrace_batch_column(batch, c, column);
        }
    }
    return MILLRACE_FEED_INVALID;
}

void millrace_batch_release(millrace_batch* batch) {
    // In a forked child everything here belongs to the parent, so the child only changes its copy
    // of the count. Asking for the owner costs a system call.
    if (batch != nullptr && batch->references.fetch_sub(1, std::memory_order_acq_rel) == 1 &&
        batch->ring->isOwn()) {
        batch->ring->release(batch->index);
        batch->held->fetch_sub(1);
        delete batch;
    }
}

#include <cstring>

#include "backend/frame/frame.h"

namespace millrace::frame {

FrameWriter::FrameWriter(const FrameLayout& layout) : layout_(layout) {
    entries_.resize(layout.numColumns());
    for (std::size_t c = 0; c < entries_.size(); ++c) {
        const ColumnSpec& spec = layout.columns()[c];
        ColumnEntry& e = entries_[c];
        e = ColumnEntry{};
        e.role = spec.role;
        e.dtype = spec.dtype;
        e.encoding = spec.encoding;
        e.flags = spec.dedup ? kDedup : 0;
        e.group = spec.group;
        e.width = spec.width;
        e.nameOffset = layout.nameOffsets_[c];
        e.nameBytes = static_cast<std::uint32_t>(spec.name.size());
    }
}

Result<std::uint64_t> FrameWriter::declare(std::uint32_t rows,
                                           std::span<const std::uint64_t> values,
                                           std::uint32_t requests) {
    memory_ = nullptr;
    if (rows > kMaxRows || requests > kMaxRows || values.size() != entries_.size()) {
        return invalidArgument("frame: ", rows, " rows and ", values.size(), " column sizes for ",
                               entries_.size(), " columns");
    }
    rows_ = rows;
    requests_ = requests;
    for (std::size_t c = 0; c < entries_.size(); ++c) {
        ColumnEntry& e = entries_[c];
        e.items = (e.flags & kDedup) != 0 ? requests : rows;
        e.values = e.encoding == Encoding::kLists ? values[c] : std::uint64_t{e.items} * e.width;
        if (e.values > std::uint64_t{1} << 40) {
            return invalidArgument("frame: column '", layout_.columns()[c].name, "' has ", e.values,
                                   " values");
        }
    }
    return place();
}

/// Packed columns come after everything else; the row ids come first.
Result<std::uint64_t> FrameWriter::place() {
    std::uint64_t at = alignUp(sizeof(FrameHeader) + layout_.directoryBytes_);
    const auto behind = [&at](std::uint64_t bytes) {
        const Extent extent{at, bytes};
        at += bytes;
        return extent;
    };
    for (std::size_t c = 0; c < entries_.size(); ++c) {
        ColumnEntry& e = entries_[c];
        if (!isPacked(e.role)) {
            e.data = behind(e.values * sizeOf(e.dtype));
            at = alignUp(at);
        }
        const std::uint32_t owner = layout_.offsetsOwner_[c];
        if (e.encoding != Encoding::kLists) {
            continue;
        }
        if (owner == c) {
            e.offsets = behind((std::uint64_t{e.items} + 1) * sizeof(std::int64_t));
            at = alignUp(at);
        } else if (entries_[owner].values != e.values) {
            return invalidArgument("frame: columns '", layout_.columns()[owner].name, "' and '",
                                   layout_.columns()[c].name, "' of one group differ in length");
        } else {
            e.offsets = entries_[owner].offsets;
        }
    }
    for (ColumnEntry& e : entries_) {
        e.data = isPacked(e.role) ? behind(e.values * sizeOf(e.dtype)) : e.data;
    }
    at = alignUp(at);
    for (ColumnEntry& e : entries_) {
        e.weights = e.role == Role::kWeighted ? behind(e.values * sizeof(float)) : Extent{};
    }
    totalBytes_ = alignUp(at);
    return totalBytes_;
}

Status FrameWriter::bind(std::span<std::byte> memory, const FrameId& id) {
    if (totalBytes_ == 0 || memory.size() < totalBytes_ ||
        reinterpret_cast<std::uintptr_t>(memory.data()) % kPayloadAlignment != 0) {
        return invalidArgument("frame: ", totalBytes_, " bytes do not fit into ", memory.size(),
                               ", or they are not aligned to 64");
    }
    memory_ = memory.data();
    FrameHeader header{};
    header.magic = kFrameMagic;
    header.version = kFrameVersion;
    header.headerBytes = sizeof header;
    header.totalBytes = totalBytes_;
    header.rows = rows_;
    header.columns = static_cast<std::uint32_t>(entries_.size());
    header.epoch = id.epoch;
    header.segment = id.segment;
    header.index = id.index;
    header.requests = requests_;
    std::memcpy(header.streamHash, layout_.streamHash_, sizeof header.streamHash);
    header.directoryBytes = layout_.directoryBytes_;
    std::memcpy(memory_, &header, sizeof header);

    std::byte* at = memory_ + sizeof header;
    const std::size_t entryBytes = entries_.size() * sizeof(ColumnEntry);
    std::memcpy(at, entries_.data(), entryBytes);
    std::memcpy(at + entryBytes, layout_.names_.data(), layout_.names_.size());
    const std::size_t used = entryBytes + layout_.names_.size();
    std::memset(at + used, 0,
                alignUp(sizeof header + layout_.directoryBytes_) - sizeof header - used);

    // For packed columns this also clears the start of the next column, which is filled later.
    const auto pad = [this](const Extent& extent) {
        const std::uint64_t end = extent.offset + extent.bytes;
        std::memset(memory_ + end, 0, alignUp(end) - end);
    };
    for (std::size_t c = 0; c < entries_.size(); ++c) {
        const ColumnEntry& e = entries_[c];
        pad(e.data);
        if (e.encoding == Encoding::kLists) {
            pad(e.offsets);
            const std::span<std::int64_t> o = offsets(c);
            o[e.items] = static_cast<std::int64_t>(e.values);
            o[0] = 0;
        }
        if (e.role == Role::kWeighted) {
            pad(e.weights);
        }
    }
    return okStatus();
}

std::span<std::int64_t> FrameWriter::offsets(std::size_t column) const {
    const ColumnEntry& e = entries_[column];
    INVARIANT(memory_ != nullptr, "bound before filled");
    if (e.encoding != Encoding::kLists) {
        return {};
    }
    return {reinterpret_cast<std::int64_t*>(memory_ + e.offsets.offset), std::size_t{e.items} + 1};
}

std::span<float> FrameWriter::weights(std::size_t column) const {
    const ColumnEntry& e = entries_[column];
    INVARIANT(memory_ != nullptr, "bound before filled");
    if (e.role != Role::kWeighted) {
        return {};
    }
    return {reinterpret_cast<float*>(memory_ + e.weights.offset), e.values};
}

}  // namespace millrace::frame

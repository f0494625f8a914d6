#include "backend/ring/frame_parts.h"

#include <cstring>
#include <limits>

#include "backend/feed/ring_layout.h"

namespace millrace::ring {
namespace {

struct PartsHeader {
    std::uint32_t parts = 0, reserved = 0;
};

struct PartRecord {
    std::uint64_t worker = 0;  // 0: inline
    std::uint32_t epoch = 0, generation = 0;
    std::uint64_t segment = 0, frame = 0;
    std::uint32_t from = 0, to = 0, rows = 0, reserved = 0;
    std::uint64_t bytes = 0;       // of the frame in memory
    std::uint64_t codedBytes = 0;  // inline: 0
    std::uint64_t rowIdsLow = 0, rowIdsHigh = 0;
    std::uint64_t offset = 0;  // inline: of the frame in the payload
    std::uint64_t reserved2 = 0;
};
static_assert(sizeof(PartRecord) == 96);

// A step of a million micro-batches would be larger than any ring's entry.
constexpr std::uint32_t kPartsMost = 1 << 20;

std::uint64_t headBytes(std::size_t parts) {
    return alignData(sizeof(PartsHeader) + parts * sizeof(PartRecord));
}

Status broken() {
    return dataLoss("ring: what came from the leading feed are not parts of a frame");
}

PartRecord recordOf(const RingPart& part) {
    const stream::FramePart& of = part.reference;
    PartRecord record;
    record.worker = of.worker;
    record.epoch = of.name.epoch;
    record.generation = of.generation;
    record.segment = static_cast<std::uint64_t>(of.name.segment);
    record.frame = static_cast<std::uint64_t>(of.frame);
    record.from = of.from;
    record.to = of.to;
    record.rows = of.rows;
    record.bytes = part.isInline() ? part.frame.size() : of.bytes;
    record.codedBytes = of.codedBytes;
    record.rowIdsLow = of.rowIds.low;
    record.rowIdsHigh = of.rowIds.high;
    return record;
}

Result<RingPart> partOf(const PartRecord& record, std::span<const std::byte> payload) {
    RingPart part;
    if (record.worker == 0) {
        if (record.offset > payload.size() || record.bytes > payload.size() - record.offset ||
            record.offset % kDataAlignment != 0) {
            return broken();
        }
        part.frame = payload.subspan(record.offset, record.bytes);
        return part;
    }
    constexpr auto kMost = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (record.segment > kMost || record.frame > kMost || record.from > record.to ||
        record.to > record.rows) {
        return broken();
    }
    stream::FramePart& of = part.reference;
    of.worker = record.worker;
    of.name = {record.epoch, static_cast<std::int64_t>(record.segment)};
    of.generation = record.generation;
    of.frame = static_cast<std::int64_t>(record.frame);
    of.from = record.from;
    of.to = record.to;
    of.rows = record.rows;
    of.bytes = record.bytes;
    of.codedBytes = record.codedBytes;
    of.rowIds = {record.rowIdsLow, record.rowIdsHigh};
    return part;
}

}  // namespace

std::uint64_t partsBytes(std::span<const RingPart> parts) {
    std::uint64_t bytes = headBytes(parts.size());
    for (const RingPart& part : parts) {
        bytes += alignData(part.frame.size());
    }
    return bytes;
}

void writeParts(std::span<const RingPart> parts, std::span<std::byte> to) {
    const PartsHeader header{static_cast<std::uint32_t>(parts.size()), 0};
    std::memcpy(to.data(), &header, sizeof header);
    std::uint64_t at = sizeof header, offset = headBytes(parts.size());
    std::memset(to.data() + at, 0, offset - at);
    for (const RingPart& part : parts) {
        PartRecord record = recordOf(part);
        if (part.isInline()) {
            record.offset = offset;
            std::memcpy(to.data() + offset, part.frame.data(), part.frame.size());
            offset += alignData(part.frame.size());
        }
        std::memcpy(to.data() + at, &record, sizeof record);
        at += sizeof record;
    }
}

Result<std::vector<RingPart>> readParts(std::span<const std::byte> payload) {
    PartsHeader header;
    if (payload.size() < sizeof header) {
        return broken();
    }
    std::memcpy(&header, payload.data(), sizeof header);
    if (header.parts == 0 || header.parts > kPartsMost ||
        payload.size() < headBytes(header.parts)) {
        return broken();
    }
    std::vector<RingPart> parts;
    parts.reserve(header.parts);
    for (std::size_t p = 0; p < header.parts; ++p) {
        PartRecord record;
        std::memcpy(&record, payload.data() + sizeof header + p * sizeof record, sizeof record);
        ASSIGN_OR_RETURN(parts.emplace_back(), partOf(record, payload));
    }
    return parts;
}

Result<std::uint64_t> joinFrames(const frame::FrameLayout& layout,
                                 std::span<const frame::RowRange> ranges, std::span<std::byte> to) {
    ASSIGN_OR_RETURN(frame::FrameConcat all, frame::FrameConcat::make(layout, ranges));
    if (all.totalBytes() > to.size()) {
        return dataLoss("ring: a joined frame that is larger than its place");
    }
    RETURN_IF_ERROR(all.write(to, ranges.front().frame->id()));
    return all.totalBytes();
}

}  // namespace millrace::ring

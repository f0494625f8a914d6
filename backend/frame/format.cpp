#include "backend/frame/format.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace millrace::frame {
namespace {

bool isKnownDType(DType type) {
    return sizeOf(type) != 0;
}

/// Checks the rules of a role, beyond those of every column.
const char* checkRole(const ColumnEntry& e) {
    const bool lists = e.encoding == Encoding::kLists;
    const auto is = [&](DType type, bool wantLists) {
        return e.dtype == type && lists == wantLists;
    };
    switch (e.role) {
        case Role::kRowFile:
        case Role::kInverse:
            return is(DType::kUint32, false) && e.width == 1 ? nullptr : "must be uint32";
        case Role::kRowNumber:
            return is(DType::kUint64, false) && e.width == 1 ? nullptr : "must be uint64";
        case Role::kDense:
        case Role::kVector:
            return is(DType::kFloat32, false) ? nullptr : "must be float32";
        case Role::kId:
            return is(DType::kInt64, false) && e.width == 1 ? nullptr : "must be int64";
        case Role::kList:
        case Role::kWeighted:
            return is(DType::kInt64, true) ? nullptr : "must be int64 lists";
        case Role::kSequence:
            return lists && e.dtype != DType::kString ? nullptr : "must be lists of numbers";
        case Role::kLabel:
        case Role::kWeight:
            return is(DType::kFloat32, false) && e.width == 1 ? nullptr : "must be float32";
        case Role::kMask:
            return e.dtype == DType::kUint8 && e.width == 1 ? nullptr : "must be uint8";
        case Role::kCarry:
            return nullptr;
    }
    return "has an unknown role";
}

bool isInside(const Extent& extent, std::uint64_t from, std::uint64_t total,
              std::uint64_t alignment = kPayloadAlignment) {
    return extent.offset % alignment == 0 && extent.offset >= from && extent.offset <= total &&
           extent.bytes <= total - extent.offset;
}

bool isAbsent(const Extent& extent) {
    return extent.offset == 0 && extent.bytes == 0;
}

const char* checkSizes(const FrameHeader& h, const ColumnEntry& e) {
    const std::uint64_t first = sizeof(FrameHeader) + h.directoryBytes;
    const bool lists = e.encoding == Encoding::kLists;
    if (e.items != ((e.flags & kDedup) != 0 ? h.requests : h.rows)) {
        return "a column's items are not the frame's rows or requests";
    }
    if (e.values > h.totalBytes || e.data.bytes != e.values * sizeOf(e.dtype) ||
        !isInside(e.data, first, h.totalBytes,
                  isPacked(e.role) ? sizeOf(e.dtype) : kPayloadAlignment)) {
        return "a column's values are outside the frame";
    }
    if (!lists) {
        const bool fits = e.width > 0 && e.values == std::uint64_t{e.items} * e.width;
        return fits && isAbsent(e.offsets) && isAbsent(e.weights)
                   ? nullptr
                   : "a fixed column's values are not items x width";
    }
    if (e.width != 1 || e.offsets.bytes != (std::uint64_t{e.items} + 1) * sizeof(std::int64_t) ||
        !isInside(e.offsets, first, h.totalBytes)) {
        return "a list column's offsets are outside the frame";
    }
    if (e.role != Role::kWeighted) {
        return isAbsent(e.weights) ? nullptr : "a column without weights has some";
    }
    return e.weights.bytes == e.values * sizeof(float) &&
                   isInside(e.weights, first, h.totalBytes, sizeof(float))
               ? nullptr
               : "a list column's weights are outside the frame";
}

const char* checkEntry(const FrameHeader& h, const ColumnEntry& e) {
    if (!isKnownDType(e.dtype) || e.encoding > Encoding::kLists || e.codec != 0 ||
        (e.flags & ~kDedup) != 0) {
        return "a column has an unknown type, encoding, codec or flag";
    }
    if (e.dtype == DType::kString && e.encoding != Encoding::kLists) {
        return "a string column has no offsets";
    }
    if (checkRole(e) != nullptr) {
        return "a column's type does not fit its role";
    }
    const std::uint64_t names = h.directoryBytes - h.columns * sizeof(ColumnEntry);
    if (e.nameOffset > names || e.nameBytes > names - e.nameOffset) {
        return "a column's name is outside the directory";
    }
    return checkSizes(h, e);
}

const char* checkHeader(const FrameHeader& h, std::size_t size) {
    if (h.magic != kFrameMagic) {
        return "not a frame: the magic number is wrong";
    }
    if (h.version != kFrameVersion || h.headerBytes != sizeof(FrameHeader)) {
        return "a frame of another version";
    }
    if (h.totalBytes != size || size % kPayloadAlignment != 0) {
        return "the frame is cut off or too long";
    }
    if (h.rows > kMaxRows || h.requests > kMaxRows || h.columns < 2 || h.columns > kMaxColumns ||
        (h.flags & ~kSealed) != 0) {
        return "the frame's header holds impossible counts or unknown flags";
    }
    if (h.directoryBytes < h.columns * sizeof(ColumnEntry) ||
        h.directoryBytes > size - sizeof(FrameHeader)) {
        return "the column directory is outside the frame";
    }
    return nullptr;
}

const char* checkOffsets(const unsigned char* base, const ColumnEntry& e) {
    const auto* offsets = reinterpret_cast<const std::int64_t*>(base + e.offsets.offset);
    if (offsets[0] != 0 || offsets[e.items] != static_cast<std::int64_t>(e.values)) {
        return "a list column's offsets do not span its values";
    }
    bool rising = true;
    for (std::uint32_t i = 0; i < e.items; ++i) {
        rising &= offsets[i] <= offsets[i + 1];
    }
    return rising ? nullptr : "a list column's offsets fall";
}

const char* checkInverse(const unsigned char* base, const FrameHeader& h, const ColumnEntry& e) {
    const auto* inverse = reinterpret_cast<const std::uint32_t*>(base + e.data.offset);
    bool inside = true;
    for (std::uint32_t i = 0; i < e.items; ++i) {
        inside &= inverse[i] < h.requests;
    }
    return inside ? nullptr : "the inverse index points beyond the requests";
}

const char* checkDirectory(const unsigned char* base, CheckLevel level) {
    const auto& h = *reinterpret_cast<const FrameHeader*>(base);
    const auto* entries = reinterpret_cast<const ColumnEntry*>(base + sizeof(FrameHeader));
    int inverses = 0;
    bool dedup = false;
    for (std::uint32_t c = 0; c < h.columns; ++c) {
        const ColumnEntry& e = entries[c];
        if (const char* wrong = checkEntry(h, e)) {
            return wrong;
        }
        if ((e.role == Role::kRowFile) != (c == 0) || (e.role == Role::kRowNumber) != (c == 1)) {
            return "the first two columns are not the row ids";
        }
        dedup |= (e.flags & kDedup) != 0;
        inverses += e.role == Role::kInverse ? 1 : 0;
        if ((e.flags & kDedup) != 0 && c < 2) {
            return "the row ids are stored once a request";
        }
        const char* wrong = nullptr;
        if (level == CheckLevel::kFull && e.encoding == Encoding::kLists) {
            wrong = checkOffsets(base, e);
        } else if (level == CheckLevel::kFull && e.role == Role::kInverse) {
            wrong = (e.flags & kDedup) != 0 ? "the inverse index is stored once a request"
                                            : checkInverse(base, h, e);
        }
        if (wrong != nullptr) {
            return wrong;
        }
    }
    if (inverses > 1 || (dedup && inverses == 0)) {
        return "deduplicated columns need one inverse index";
    }
    return nullptr;
}

}  // namespace

const char* checkFrame(const void* bytes, std::size_t size, CheckLevel level) {
    if (size < sizeof(FrameHeader)) {
        return "the frame is cut off or too long";
    }
    if (reinterpret_cast<std::uintptr_t>(bytes) % 8 != 0) {
        return "the frame is not aligned to 8 bytes";
    }
    const auto* base = static_cast<const unsigned char*>(bytes);
    const auto& header = *reinterpret_cast<const FrameHeader*>(base);
    if (const char* wrong = checkHeader(header, size)) {
        return wrong;
    }
    if (level == CheckLevel::kFull && (header.flags & kSealed) != 0 &&
        header.checksum != frameChecksum(bytes, size)) {
        return "the frame's checksum does not hold";
    }
    return checkDirectory(base, level);
}

std::uint64_t frameChecksum(const void* bytes, std::size_t size) {
    FrameHeader header;
    std::memcpy(&header, bytes, sizeof header);
    header.checksum = 0;
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, &header, sizeof header);
    XXH3_64bits_update(&state, static_cast<const unsigned char*>(bytes) + sizeof header,
                       size - sizeof header);
    return XXH3_64bits_digest(&state);
}

}  // namespace millrace::frame

#include "backend/table/hybrid_indices.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <arrow/buffer_builder.h>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::table {

namespace {

constexpr std::size_t kGroup = 8;     // indices are packed in groups
constexpr std::size_t kLongRun = 32;  // shortest repetition that is written as a run

Status reserve(arrow::BufferBuilder& out, std::size_t bytes) {
    return arrays::fromArrow(out.Reserve(static_cast<std::int64_t>(bytes)), "parquet page");
}

/// Fills the last group with zeros.
Status appendPacked(std::span<const std::uint32_t> indices, int width, arrow::BufferBuilder& out) {
    const std::size_t groups = (indices.size() + kGroup - 1) / kGroup;
    RETURN_IF_ERROR(appendVarint(std::uint64_t{groups} << 1 | 1, out));
    const std::size_t bytes = groups * static_cast<std::size_t>(width);
    RETURN_IF_ERROR(reserve(out, bytes + sizeof(std::uint64_t)));
    std::uint8_t* at = out.mutable_data() + out.length();
    std::uint64_t word = 0;
    int filled = 0;
    for (const std::uint32_t index : indices) {
        word |= std::uint64_t{index} << filled;
        filled += width;
        if (filled >= 32) {
            const auto low = static_cast<std::uint32_t>(word);
            std::memcpy(at, &low, sizeof low);
            at += sizeof low;
            word >>= 32;
            filled -= 32;
        }
    }
    const std::uint8_t* const end = out.mutable_data() + out.length() + bytes;
    for (; at < end; ++at, word >>= 8) {
        *at = static_cast<std::uint8_t>(word);
    }
    out.UnsafeAdvance(static_cast<std::int64_t>(bytes));
    return okStatus();
}

Status appendRun(std::uint32_t index, std::size_t count, int width, arrow::BufferBuilder& out) {
    RETURN_IF_ERROR(appendVarint(std::uint64_t{count} << 1, out));
    return arrays::fromArrow(out.Append(&index, (width + 7) / 8), "parquet page");
}

}  // namespace

int widthOfIndices(std::size_t count) {
    return std::max(1, static_cast<int>(std::bit_width(count - (count > 0 ? 1U : 0U))));
}

Status appendVarint(std::uint64_t value, arrow::BufferBuilder& out) {
    std::uint8_t bytes[10];
    std::size_t size = 0;
    for (; value >= 0x80; value >>= 7) {
        bytes[size++] = static_cast<std::uint8_t>(value | 0x80);
    }
    bytes[size++] = static_cast<std::uint8_t>(value);
    return arrays::fromArrow(out.Append(bytes, static_cast<std::int64_t>(size)), "parquet page");
}

Status appendHybrid(std::span<const std::uint32_t> indices, int width, arrow::BufferBuilder& out) {
    std::size_t packed = 0;  // start of the indices not yet written
    for (std::size_t begin = 0, end = 0; begin < indices.size(); begin = end) {
        while (end < indices.size() && indices[end] == indices[begin]) {
            ++end;
        }
        // Only whole groups can precede a run: the run's first indices fill up the last group.
        const std::size_t given = (kGroup - (begin - packed) % kGroup) % kGroup;
        if (end - begin < kLongRun + given) {
            continue;
        }
        if (begin + given > packed) {
            RETURN_IF_ERROR(
                appendPacked(indices.subspan(packed, begin + given - packed), width, out));
        }
        RETURN_IF_ERROR(appendRun(indices[begin], end - begin - given, width, out));
        packed = end;
    }
    return packed == indices.size() ? okStatus()
                                    : appendPacked(indices.subspan(packed), width, out);
}

}  // namespace millrace::table

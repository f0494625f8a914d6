#include "backend/segment/row_records.h"

#include <algorithm>
#include <cstring>

#include "backend/segment/gather.h"

namespace millrace::segment {

namespace {

constexpr std::int64_t kStripRows = 16;  // a strip of records stays in the first-level cache

// Prefetches explicitly: more columns are read in parallel than the hardware prefetcher tracks.
void prefetchStrip(const void* values, std::size_t bytes) {
    prefetchBytes(values, kStripRows * bytes);
}

template <class T>
void writeValues(const std::byte* values, std::int64_t from, std::int64_t rows, std::size_t stride,
                 std::byte* out) {
    const T* const at = reinterpret_cast<const T*>(values) + from;
    prefetchStrip(at + rows, sizeof(T));
    for (std::int64_t r = 0; r < rows; ++r) {
        std::memcpy(out + r * stride, at + r, sizeof(T));
    }
}

void writeField(const std::byte* values, std::size_t bytes, std::int64_t from, std::int64_t rows,
                std::size_t stride, std::byte* out) {
    switch (bytes) {
        case 1:
            return writeValues<std::uint8_t>(values, from, rows, stride, out);
        case 2:
            return writeValues<std::uint16_t>(values, from, rows, stride, out);
        case 4:
            return writeValues<std::uint32_t>(values, from, rows, stride, out);
        default:
            return writeValues<std::uint64_t>(values, from, rows, stride, out);
    }
}

}  // namespace

RecordLayout::RecordLayout(const frame::FrameLayout& layout) {
    for (std::size_t c = 2; c < layout.numColumns(); ++c) {
        const frame::ColumnSpec& spec = layout.columns()[c];
        const std::size_t bytes = frame::sizeOf(spec.dtype) * spec.width;
        if (spec.role == frame::Role::kInverse) {
            continue;
        }
        if (spec.encoding == frame::Encoding::kLists) {
            lists_.push_back({c, 0, frame::sizeOf(spec.dtype)});
        } else if (spec.role == frame::Role::kDense) {
            dense_ = {c, 0, bytes};
        } else if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) {
            values_.push_back({c, 0, bytes});
        }
    }
    std::ranges::stable_sort(values_,
                             [](const Field& a, const Field& b) { return a.bytes > b.bytes; });
    stride_ = sizeof(std::uint64_t);  // the row's number
    for (Field& field : lists_) {
        field.offset = stride_;
        stride_ += sizeof(ListSlice);
    }
    for (Field& field : values_) {
        field.offset = stride_;
        stride_ += field.bytes;
    }
    stride_ = (stride_ + 7) / 8 * 8;
    dense_.offset = stride_;
    stride_ = (stride_ + dense_.bytes + 7) / 8 * 8;
}

bool RecordLayout::holds(std::size_t column) const {
    return (dense_.bytes > 0 && dense_.column == column) ||
           std::ranges::any_of(values_,
                               [column](const Field& field) { return field.column == column; });
}

void RecordLayout::writeLists(const Chunk& chunk, const Field& field, std::int64_t from,
                              std::int64_t rows, std::byte* out) const {
    const Chunk::Column& column = chunk.columns[field.column];
    prefetchStrip((column.items != nullptr ? column.items : column.offsets) + from + rows,
                  sizeof(std::int32_t));
    for (std::int64_t r = 0; r < rows; ++r) {
        const ListSlice slice = column.slice(from + r);
        std::memcpy(out + r * stride_ + field.offset, &slice, sizeof(slice));
    }
}

void RecordLayout::write(const Chunk& chunk, std::byte* out) const {
    for (std::int64_t from = 0; from < chunk.rows; from += kStripRows) {
        const std::int64_t rows = std::min(kStripRows, chunk.rows - from);
        std::byte* const strip = out + from * stride_;
        writeField(reinterpret_cast<const std::byte*>(chunk.rowNumbers), sizeof(std::uint64_t),
                   from, rows, stride_, strip + numberOffset());
        for (const Field& field : lists_) {
            writeLists(chunk, field, from, rows, strip);
        }
        for (const Field& field : values_) {
            writeField(chunk.columns[field.column].values, field.bytes, from, rows, stride_,
                       strip + field.offset);
        }
        if (dense_.bytes > 0) {
            for (const float* const column : chunk.dense) {
                prefetchStrip(column + from + rows, sizeof(float));
            }
            copyDense(chunk.dense, from, rows, reinterpret_cast<float*>(strip + dense_.offset),
                      stride_ / sizeof(float));
        }
    }
}

}  // namespace millrace::segment

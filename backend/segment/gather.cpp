#include "backend/segment/gather.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <immintrin.h>

namespace millrace::segment {

namespace {

constexpr std::int64_t kStripRows = 32;
constexpr std::size_t kStripPicks = 16;
constexpr std::size_t kAhead = 6;          // picks that are prefetched at a time
constexpr std::size_t kAheadBytes = 512;   // bytes of a list that are prefetched
constexpr std::size_t kColumnsAhead = 16;  // columns of a strip that are prefetched at a time

inline const std::byte* recordOf(std::span<const Chunk> chunks, const RowPick& pick,
                                 std::size_t stride) {
    return chunks[pick.chunk].records + std::size_t{pick.row} * stride;
}

// Transposes four rows of four columns. SSE is part of the base instruction set.
inline void copyBlock(const float* const* columns, std::int64_t row, float* out,
                      std::size_t width) {
    __m128 a = _mm_loadu_ps(columns[0] + row);
    __m128 b = _mm_loadu_ps(columns[1] + row);
    __m128 c = _mm_loadu_ps(columns[2] + row);
    __m128 d = _mm_loadu_ps(columns[3] + row);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(out, a);
    _mm_storeu_ps(out + width, b);
    _mm_storeu_ps(out + 2 * width, c);
    _mm_storeu_ps(out + 3 * width, d);
}

/// Address of a column's values in the strip, for prefetching. A `column` past the last one means
/// the next strip, if there is a whole one (`isNext`). Null: nothing to prefetch.
const float* valuesAhead(std::span<const float* const> columns, std::size_t column,
                         std::int64_t from, bool isNext) {
    if (column < columns.size()) {
        return columns[column] + from;
    }
    column -= columns.size();
    return isNext && column < columns.size() ? columns[column] + from + kStripRows : nullptr;
}

// Prefetches explicitly: columns are far apart and little is read of each at a time, so the
// hardware prefetcher does not help.
void copyStrip(std::span<const float* const> columns, std::int64_t from, std::int64_t rows,
               float* out, std::size_t stride, bool isNext) {
    const std::size_t width = columns.size();
    const std::int64_t blockRows = rows / 4 * 4;
    std::size_t j = 0;
    for (; j + 4 <= width; j += 4) {
        for (std::size_t c = j + kColumnsAhead; rows == kStripRows && c < j + kColumnsAhead + 4;
             ++c) {
            if (const float* const values = valuesAhead(columns, c, from, isNext)) {
                prefetchBytes(values, kStripRows * sizeof(float));
            }
        }
        for (std::int64_t r = 0; r < blockRows; r += 4) {
            copyBlock(columns.data() + j, from + r, out + r * stride + j, stride);
        }
    }
    for (; j < width; ++j) {
        for (std::int64_t r = 0; r < blockRows; ++r) {
            out[r * stride + j] = columns[j][from + r];
        }
    }
    for (std::int64_t r = blockRows; r < rows; ++r) {
        for (j = 0; j < width; ++j) {
            out[r * stride + j] = columns[j][from + r];
        }
    }
}

// Copies one value of each record of a strip to adjacent places.
template <class T>
void takeValues(std::span<const std::byte* const> records, std::size_t offset, std::byte* out) {
    for (std::size_t k = 0; k < records.size(); ++k) {
        std::memcpy(out + k * sizeof(T), records[k] + offset, sizeof(T));
    }
}

void takeField(std::span<const std::byte* const> records, const RecordLayout::Field& field,
               std::byte* out) {
    switch (field.bytes) {
        case 1:
            return takeValues<std::uint8_t>(records, field.offset, out);
        case 2:
            return takeValues<std::uint16_t>(records, field.offset, out);
        case 4:
            return takeValues<std::uint32_t>(records, field.offset, out);
        default:
            return takeValues<std::uint64_t>(records, field.offset, out);
    }
}

}  // namespace

void copyDense(std::span<const float* const> columns, std::int64_t from, std::int64_t rows,
               float* out, std::size_t stride) {
    for (std::int64_t r = 0; r < rows; r += kStripRows) {
        copyStrip(columns, from + r, std::min(kStripRows, rows - r), out + r * stride, stride,
                  rows - r >= 2 * kStripRows);
    }
}

void gatherRecords(std::span<const Chunk> chunks, std::span<const RowPick> picks,
                   const RecordLayout& layout, const RecordTarget& target) {
    std::array<const std::byte*, kStripPicks> records;
    for (std::size_t first = 0; first < picks.size(); first += kStripPicks) {
        const auto strip = picks.subspan(first, std::min(kStripPicks, picks.size() - first));
        for (const RowPick& ahead :
             picks.subspan(first + strip.size(),
                           std::min(kStripPicks, picks.size() - first - strip.size()))) {
            prefetchBytes(recordOf(chunks, ahead, layout.stride()), layout.stride());
        }
        for (std::size_t k = 0; k < strip.size(); ++k) {
            records[k] = recordOf(chunks, strip[k], layout.stride());
            target.files[first + k] = chunks[strip[k].chunk].file;
            std::memcpy(target.numbers + first + k, records[k] + layout.numberOffset(),
                        sizeof(std::uint64_t));
        }
        const std::span<const std::byte* const> taken(records.data(), strip.size());
        for (std::size_t f = 0; f < layout.values().size(); ++f) {
            const RecordLayout::Field& field = layout.values()[f];
            takeField(taken, field, target.values[f] + first * field.bytes);
        }
        const RecordLayout::Field& dense = layout.dense();
        for (std::size_t k = 0; dense.bytes > 0 && k < strip.size(); ++k) {
            std::memcpy(target.dense + (first + k) * dense.bytes, records[k] + dense.offset,
                        dense.bytes);
        }
    }
}

void gatherSlices(std::span<const Chunk> chunks, std::span<const RowPick> picks,
                  std::span<const RecordLayout::Field> fields, std::size_t stride,
                  std::span<ListSlice* const> to) {
    if (fields.empty()) {
        return;
    }
    const std::size_t begin = fields.front().offset;
    const std::size_t bytes = fields.back().offset + sizeof(ListSlice) - begin;
    for (std::size_t k = 0; k < picks.size(); ++k) {
        if (k + kAhead < picks.size()) {
            prefetchBytes(recordOf(chunks, picks[k + kAhead], stride) + begin, bytes);
        }
        const std::byte* const record = recordOf(chunks, picks[k], stride);
        for (std::size_t f = 0; f < fields.size(); ++f) {
            std::memcpy(to[f] + k, record + fields[f].offset, sizeof(ListSlice));
        }
    }
}

void gatherWide(std::span<const Chunk> chunks, std::span<const RowPick> picks, std::size_t column,
                std::size_t bytes, std::byte* out) {
    for (const RowPick& pick : picks) {
        std::memcpy(out, chunks[pick.chunk].columns[column].values + pick.row * bytes, bytes);
        out += bytes;
    }
}

void gatherLists(std::span<const Chunk> chunks, std::span<const RowPick> picks,
                 std::span<const ListSlice> slices, std::size_t column, std::size_t bytes,
                 std::byte* out, std::int64_t* offsets) {
    const auto listAt = [&](std::size_t k) {
        return chunks[picks[k].chunk].columns[column].values + slices[k].begin * bytes;
    };
    std::int64_t end = 0;
    for (std::size_t k = 0; k < picks.size(); ++k) {
        if (k + kAhead < picks.size()) {
            const auto ahead = static_cast<std::size_t>(slices[k + kAhead].count) * bytes;
            prefetchBytes(listAt(k + kAhead), std::min(ahead, kAheadBytes));
        }
        const auto count = slices[k].count;
        if (count > 0) {
            std::memcpy(out + end * bytes, listAt(k), count * bytes);
        }
        end += slices[k].count;
        *++offsets = end;
    }
}

std::int64_t expandLists(const Chunk::Column& column, std::int64_t from, std::int64_t rows,
                         std::size_t bytes, std::byte* out, std::int64_t* offsets,
                         std::int64_t end) {
    for (std::int64_t r = from; r < from + rows; ++r) {
        const std::int64_t item = column.item(r), begin = column.offsets[item];
        const std::int64_t count = column.offsets[item + 1] - begin;
        if (count > 0) {
            std::memcpy(out + end * bytes, column.values + begin * bytes, count * bytes);
        }
        end += count;
        *++offsets = end;
    }
    return end;
}

void gatherWeights(std::span<const Chunk> chunks, std::span<const RowPick> picks,
                   std::span<const ListSlice> slices, std::size_t column, float* out) {
    for (std::size_t k = 0; k < picks.size(); ++k) {
        const float* const from = chunks[picks[k].chunk].columns[column].weights + slices[k].begin;
        out = std::copy_n(from, slices[k].count, out);
    }
}

}  // namespace millrace::segment

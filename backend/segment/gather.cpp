#include "backend/segment/gather.h"

#include <algorithm>
#include <cstring>

#include <immintrin.h>

namespace millrace::segment {

namespace {

constexpr std::int64_t kStripRows = 32;
constexpr std::size_t kAhead = 6;  // picks whose lists are on their way from memory

inline void prefetchList(const Chunk::Column& column, std::int64_t row, std::size_t bytes) {
    const std::int64_t item = column.item(row);
    const std::byte* const from =
        column.values + static_cast<std::size_t>(column.offsets[item]) * bytes;
    const std::byte* const to =
        column.values + static_cast<std::size_t>(column.offsets[item + 1]) * bytes;
    for (const std::byte* line = from; line < to && line < from + 512; line += 64) {
        _mm_prefetch(reinterpret_cast<const char*>(line), _MM_HINT_T0);
    }
}

// Four rows of four columns; SSE is part of the base the product is built for.
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

void copyStrip(std::span<const float* const> columns, std::int64_t from, std::int64_t rows,
               float* out) {
    const std::size_t width = columns.size();
    const std::int64_t blockRows = rows / 4 * 4;
    std::size_t j = 0;
    for (; j + 4 <= width; j += 4) {
        for (std::int64_t r = 0; r < blockRows; r += 4) {
            copyBlock(columns.data() + j, from + r, out + static_cast<std::size_t>(r) * width + j,
                      width);
        }
    }
    for (; j < width; ++j) {
        for (std::int64_t r = 0; r < blockRows; ++r) {
            out[static_cast<std::size_t>(r) * width + j] = columns[j][from + r];
        }
    }
    for (std::int64_t r = blockRows; r < rows; ++r) {
        for (j = 0; j < width; ++j) {
            out[static_cast<std::size_t>(r) * width + j] = columns[j][from + r];
        }
    }
}

template <class T>
void gatherValues(std::span<const Chunk> chunks, std::span<const RowPick> picks, std::size_t column,
                  std::byte* out) {
    T* to = reinterpret_cast<T*>(out);
    if (chunks.size() == 1) {
        const T* from = reinterpret_cast<const T*>(chunks[0].columns[column].values);
        for (const RowPick& pick : picks) {
            *to++ = from[pick.row];
        }
        return;
    }
    for (const RowPick& pick : picks) {
        *to++ = reinterpret_cast<const T*>(chunks[pick.chunk].columns[column].values)[pick.row];
    }
}

}  // namespace

void copyDense(std::span<const float* const> columns, std::int64_t from, std::int64_t rows,
               float* out) {
    for (std::int64_t r = 0; r < rows; r += kStripRows) {
        copyStrip(columns, from + r, std::min(kStripRows, rows - r),
                  out + static_cast<std::size_t>(r) * columns.size());
    }
}

void gatherDense(std::span<const Chunk> chunks, std::span<const RowPick> picks, std::size_t width,
                 float* out) {
    const bool isTurned = std::all_of(chunks.begin(), chunks.end(), [](const Chunk& chunk) {
        return chunk.denseRows != nullptr || chunk.rows == 0;
    });
    for (std::size_t r = 0; isTurned && r < picks.size(); ++r) {
        if (r + kAhead < picks.size()) {
            const RowPick& ahead = picks[r + kAhead];
            const float* const from = chunks[ahead.chunk].denseRows + ahead.row * width;
            for (std::size_t j = 0; j < width; j += 16) {
                _mm_prefetch(reinterpret_cast<const char*>(from + j), _MM_HINT_T0);
            }
        }
        std::memcpy(out + r * width, chunks[picks[r].chunk].denseRows + picks[r].row * width,
                    width * sizeof(float));
    }
    for (std::size_t r0 = 0; !isTurned && r0 < picks.size(); r0 += kStripRows) {
        const auto strip = picks.subspan(r0, std::min<std::size_t>(kStripRows, picks.size() - r0));
        for (std::size_t j = 0; j < width; ++j) {
            float* to = out + r0 * width + j;
            for (const RowPick& pick : strip) {
                *to = chunks[pick.chunk].dense[j][pick.row];
                to += width;
            }
        }
    }
}

void gatherFixed(std::span<const Chunk> chunks, std::span<const RowPick> picks, std::size_t column,
                 std::size_t bytes, std::byte* out) {
    switch (bytes) {
        case 1:
            return gatherValues<std::uint8_t>(chunks, picks, column, out);
        case 2:
            return gatherValues<std::uint16_t>(chunks, picks, column, out);
        case 4:
            return gatherValues<std::uint32_t>(chunks, picks, column, out);
        case 8:
            return gatherValues<std::uint64_t>(chunks, picks, column, out);
        default:
            break;
    }
    for (const RowPick& pick : picks) {
        std::memcpy(out, chunks[pick.chunk].columns[column].values + pick.row * bytes, bytes);
        out += bytes;
    }
}

void gatherLists(std::span<const Chunk> chunks, std::span<const RowPick> picks, std::size_t column,
                 std::size_t bytes, std::byte* out, std::int64_t* offsets) {
    std::int64_t end = 0;
    for (std::size_t k = 0; k < picks.size(); ++k) {
        const RowPick& pick = picks[k];
        const Chunk::Column& from = chunks[pick.chunk].columns[column];
        const std::int64_t item = from.item(pick.row);
        if (k + kAhead < picks.size()) {
            prefetchList(chunks[picks[k + kAhead].chunk].columns[column], picks[k + kAhead].row,
                         bytes);
        }
        const std::int32_t begin = from.offsets[item];
        const auto count = static_cast<std::size_t>(from.offsets[item + 1] - begin);
        if (count > 0) {
            std::memcpy(out + static_cast<std::size_t>(end) * bytes,
                        from.values + static_cast<std::size_t>(begin) * bytes, count * bytes);
        }
        end += static_cast<std::int64_t>(count);
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
            std::memcpy(out + static_cast<std::size_t>(end) * bytes,
                        column.values + static_cast<std::size_t>(begin) * bytes,
                        static_cast<std::size_t>(count) * bytes);
        }
        end += count;
        *++offsets = end;
    }
    return end;
}

void gatherWeights(std::span<const Chunk> chunks, std::span<const RowPick> picks,
                   std::size_t column, float* out) {
    for (const RowPick& pick : picks) {
        const Chunk::Column& from = chunks[pick.chunk].columns[column];
        out = std::copy(from.weights + from.offsets[pick.row],
                        from.weights + from.offsets[pick.row + 1], out);
    }
}

}  // namespace millrace::segment

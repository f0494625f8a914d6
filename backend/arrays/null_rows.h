#pragma once
// Replaces null values. Threads: pure. Failure: none.
#include <algorithm>
#include <cstdint>

#include <arrow/array/array_base.h>
#include <arrow/util/bit_block_counter.h>
#include <arrow/util/bit_util.h>

namespace millrace::arrays {

/// Writes `fill` to `out` where `values` is null, word by word of its bitmap; keeps other rows.
template <class T>
void fillNulls(const arrow::Array& values, T fill, T* out) {
    const std::int64_t rows = values.length(), offset = values.offset();
    const std::uint8_t* const bits = values.null_bitmap_data();
    if (values.null_count() == 0 || bits == nullptr) {
        std::fill_n(out, values.null_count() == 0 ? 0 : rows, fill);
        return;
    }
    arrow::internal::BitBlockCounter blocks(bits, offset, rows);
    for (std::int64_t row = 0; row < rows;) {
        const auto block = blocks.NextWord();
        const std::int64_t end = row + block.length;
        if (block.NoneSet()) {
            std::fill(out + row, out + end, fill);
        } else if (!block.AllSet()) {
            for (std::int64_t i = row; i < end; ++i) {
                out[i] = arrow::bit_util::GetBit(bits, offset + i) ? out[i] : fill;
            }
        }
        row = end;
    }
}

}  // namespace millrace::arrays

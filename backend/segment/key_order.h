#pragma once
// Sorts rows of a segment by their keys.
//
// Keys are random, so their bits distribute rows evenly. Rows are scattered first into parts that
// fit the first-level cache, then, within a part, into about one bucket per row. Rows of one bucket
// are compared. Each row is written twice, close to the row written before it.
// Threads: pure.
// Memory: 16 bytes per row in addition to the result.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "backend/segment/chunk.h"

namespace millrace::segment {

struct KeyedRow {
    std::uint64_t key = 0;
    RowPick pick;
};

/// Scatters rows into `to` by the `bits` bits of the key that follow the first `skipped` bits. On
/// return, `ends` has the end of each bucket.
inline void scatterByKey(std::span<const KeyedRow> from, int skipped, int bits,
                         std::vector<std::uint32_t>& ends, std::span<KeyedRow> to) {
    const auto placeOf = [skipped, bits](const KeyedRow& row) {
        return row.key << skipped >> (64 - bits);
    };
    ends.assign(std::size_t{1} << bits, 0);
    for (const KeyedRow& row : from) {
        ++ends[placeOf(row)];
    }
    std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), std::uint32_t{0});
    for (const KeyedRow& row : from) {
        to[ends[placeOf(row)]++] = row;
    }
}

/// Orders by key, then by `isBefore(pick, pick)`. At most 2^32 - 1 rows.
template <class Less>
std::vector<RowPick> orderedByKey(std::vector<KeyedRow> rows, const Less& isBefore) {
    constexpr int kPartRowsLog2 = 8, kPartsLog2Most = 11;
    const int sizeLog2 = static_cast<int>(std::bit_width(rows.size()));
    const int bits = std::clamp(sizeLog2 - kPartRowsLog2, 1, kPartsLog2Most);
    std::vector<KeyedRow> parts(rows.size());
    std::vector<std::uint32_t> ends, places;
    scatterByKey(rows, 0, bits, ends, parts);
    std::vector<RowPick> order;
    order.reserve(rows.size());
    std::uint32_t begin = 0;
    for (const std::uint32_t end : ends) {
        const std::span<const KeyedRow> part = std::span(parts).subspan(begin, end - begin);
        const std::span<KeyedRow> sorted = std::span(rows).subspan(begin, end - begin);
        begin = end;
        if (part.empty()) {
            continue;
        }
        scatterByKey(part, bits, std::max(1, static_cast<int>(std::bit_width(part.size()))), places,
                     sorted);
        std::uint32_t first = 0;
        for (const std::uint32_t last : places) {
            if (last - first > 1) {
                std::sort(sorted.begin() + first, sorted.begin() + last,
                          [&isBefore](const KeyedRow& a, const KeyedRow& b) {
                              return a.key != b.key ? a.key < b.key : isBefore(a.pick, b.pick);
                          });
            }
            first = last;
        }
        for (const KeyedRow& row : sorted) {
            order.push_back(row.pick);
        }
    }
    return order;
}

}  // namespace millrace::segment

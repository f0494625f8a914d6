// Sorting rows by their keys compared with std::sort.
#include "backend/segment/key_order.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace millrace::segment {
namespace {

bool isBefore(RowPick a, RowPick b) {
    return a.chunk != b.chunk ? a.chunk < b.chunk : a.row < b.row;
}

void expectOrdered(const std::vector<KeyedRow>& rows) {
    std::vector<KeyedRow> sorted = rows;
    std::sort(sorted.begin(), sorted.end(), [](const KeyedRow& a, const KeyedRow& b) {
        return a.key != b.key ? a.key < b.key : isBefore(a.pick, b.pick);
    });
    const std::vector<RowPick> order = orderedByKey(rows, isBefore);
    ASSERT_EQ(order.size(), rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        ASSERT_TRUE(order[i].chunk == sorted[i].pick.chunk && order[i].row == sorted[i].pick.row)
            << i << " of " << rows.size();
    }
}

/// `masks`: bits in which the keys differ.
TEST(KeyOrder, IsThatOfKeysAndThenOfRows) {
    std::mt19937_64 random(3);
    for (const std::uint64_t mask : {~0ULL, 0xffULL, 0x7ULL << 61, 0ULL, 0xf00f00f00f00f00fULL}) {
        for (const std::uint32_t count : {0U, 1U, 2U, 17U, 255U, 256U, 1000U, 70'000U}) {
            std::vector<KeyedRow> rows;
            for (std::uint32_t i = 0; i < count; ++i) {
                rows.push_back({random() & mask, {i % 5, count - i}});
            }
            expectOrdered(rows);
        }
    }
}

}  // namespace
}  // namespace millrace::segment

#include "backend/core/row_hash.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

// Python computes the same (app/python/millrace/_rows_hash.py): its test has the same
// figures.
TEST(RowHash, IsWhatIsWrittenDown) {
    EXPECT_EQ(rowKey(0, 0), 0x48218226ff3cd4bfU);
    EXPECT_EQ(rowKey(0, 1), 0xdce423fc82c0d5b8U);
    EXPECT_EQ(rowKey(1, 0), 0xa706dd2f4d197e6fU);
    EXPECT_EQ(rowKey(3, (std::uint64_t{1} << 40) + 5), 0x25581b8cb1872854U);
    RowsHash rows;
    for (std::uint32_t file = 0; file < 3; ++file) {
        for (std::uint64_t row = 0; row < 100; ++row) {
            rows.add(file, row);
        }
    }
    EXPECT_EQ(rows.hex(), "76dd9468b21c921478d579ba788539db");
}

TEST(RowHash, DoesNotHangOnTheOrderButOnHowOftenARowStandsThere) {
    RowsHash there, back, twice;
    for (std::uint64_t row = 0; row < 1000; ++row) {
        there.add(0, row);
        back.add(0, 999 - row);
        twice.add(0, row);
    }
    EXPECT_EQ(there.hex(), back.hex());
    twice.add(0, 7);
    EXPECT_NE(there.hex(), twice.hex());
    EXPECT_EQ(RowsHash().hex(), std::string(32, '0'));
}

}  // namespace
}  // namespace millrace

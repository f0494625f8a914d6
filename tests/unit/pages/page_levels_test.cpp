// Levels and headers of damaged pages: they are errors, and never take more memory than the pool
// gives.
#include "backend/pages/page_levels.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <random>
#include <vector>

#include <arrow/memory_pool.h>
#include <gtest/gtest.h>

#include "backend/pages/page_bits.h"
#include "backend/pages/page_stream.h"

namespace millrace::pages {
namespace {

using Bytes = std::vector<std::uint8_t>;

arrays::ByteSpan spanOf(const Bytes& bytes) {
    return {bytes.data(), bytes.data() + bytes.size()};
}

bool areLevels(const Bytes& bytes, std::int64_t count) {
    arrays::PoolVector<std::uint32_t> levels(arrow::default_memory_pool());
    return unpackLevels(spanOf(bytes), 1, count, levels);
}

TEST(PageLevels, ARunThatGoesOnBehindItsBytesOrTheLastValueIsDamage) {
    EXPECT_TRUE(areLevels({0x08, 0x01}, 4));         // four times 1
    EXPECT_FALSE(areLevels({0x08, 0x01}, 3));        // one too many
    EXPECT_TRUE(areLevels({0x03, 0x0f}, 4));         // a group of eight
    EXPECT_TRUE(areLevels({0x05, 0x0f, 0x00}, 4));   // filled up with a whole group
    EXPECT_FALSE(areLevels({0x0f, 0x0f}, 4));        // seven groups, of which one is there
    EXPECT_FALSE(areLevels({0x83, 0x03, 0x0f}, 4));  // many groups
}

TEST(PageLevels, RunsAndGroupsBecomeBits) {
    std::mt19937_64 random(4);
    for (int round = 0; round < 300; ++round) {
        Bytes bytes;
        std::vector<bool> wanted;
        for (int run = 0; run < 12; ++run) {
            if (random() % 2 == 0) {
                const auto n = static_cast<std::uint8_t>(1 + random() % 63);
                const auto value = static_cast<std::uint8_t>(random() % 2);
                bytes.insert(bytes.end(), {static_cast<std::uint8_t>(n << 1), value});
                wanted.insert(wanted.end(), n, value != 0);
                continue;
            }
            const auto packed = static_cast<std::uint8_t>(random());
            bytes.insert(bytes.end(), {std::uint8_t{3}, packed});
            for (int k = 0; k < 8; ++k) {
                wanted.push_back(((packed >> k) & 1) != 0);
            }
        }
        arrays::PoolVector<std::uint64_t> bits(arrow::default_memory_pool());
        std::int64_t ones = 0;
        const auto count = static_cast<std::int64_t>(wanted.size());
        ASSERT_TRUE(bitmapOf(spanOf(bytes), count, bits, ones));
        EXPECT_EQ(ones, std::count(wanted.begin(), wanted.end(), true));
        for (std::int64_t i = 0; i < count; ++i) {
            ASSERT_EQ(isSet(bits, i), wanted[static_cast<std::size_t>(i)]) << i;
        }
        EXPECT_FALSE(isSet(bits, count)) << "and none behind them";
    }
}

template <class T>
void expectSpread(std::mt19937_64& random, std::int64_t count, double share) {
    arrays::PoolVector<std::uint64_t> valid(static_cast<std::size_t>(count / 64 + 2), 0,
                                            arrow::default_memory_pool());
    std::vector<T> dense(static_cast<std::size_t>(count) + kSpreadAhead, T{9});
    std::vector<T> wanted, plain(static_cast<std::size_t>(count)), wide = plain;
    for (std::int64_t i = 0; i < count; ++i) {
        const bool isThere = static_cast<double>(random() % 1'000) < share * 1'000;
        valid[static_cast<std::size_t>(i / 64)] |= std::uint64_t{isThere} << (i % 64);
        wanted.push_back(isThere ? static_cast<T>(random()) : T{7});
    }
    std::size_t next = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        if (isSet(valid, i)) {
            dense[next++] = wanted[static_cast<std::size_t>(i)];
        }
    }
    dense.resize(next + kSpreadAhead);
    spread(valid, count, dense.data(), T{7}, plain.data(), false);
    spread(valid, count, dense.data(), T{7}, wide.data());
    EXPECT_EQ(plain, wanted) << count;
    EXPECT_EQ(wide, wanted) << count;
}

TEST(PageBits, ValuesComeToTheirPlacesWithAndWithoutVectors) {
    std::mt19937_64 random(5);
    for (const std::int64_t count : {0, 1, 63, 64, 65, 128, 1'000}) {
        for (const double share : {0.0, 0.1, 0.5, 0.9, 1.0}) {
            expectSpread<std::uint32_t>(random, count, share);
            expectSpread<std::uint64_t>(random, count, share);
        }
    }
}

TEST(PageLevels, TheMemoryOfAClaimIsThePools) {
    arrow::CappedMemoryPool pool(arrow::default_memory_pool(), 1 << 20);
    arrays::PoolVector<std::uint32_t> levels(&pool);
    const Bytes nulls = {0x80, 0x80, 0x80, 0x80, 0x02, 0x00};  // 2^28 times 0, in six bytes
    EXPECT_THROW(unpackLevels(spanOf(nulls), 1, std::int64_t{1} << 28, levels), std::bad_alloc);
}

TEST(PageLevels, AFieldNumberThatOverflowsIsNoPageHeader) {
    PageHeader header;
    const Bytes bytes = {0x05, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x00, 0x15, 0x00, 0x00};
    EXPECT_EQ(parsePageHeader(spanOf(bytes), header), -1);
}

}  // namespace
}  // namespace millrace::pages

// Levels and headers of damaged pages: told, and never more memory than the pool gives.
#include "backend/pages/page_levels.h"

#include <cstdint>
#include <new>
#include <vector>

#include <arrow/memory_pool.h>
#include <gtest/gtest.h>

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

#include "backend/core/system_memory.h"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(SystemMemory, IsZeroAndKeepsWhatItHoldsWhenItGrows) {
    constexpr std::size_t kBytes = 100'000;
    Result<SystemMemory> memory = SystemMemory::make(kBytes, "a table");
    ASSERT_TRUE(memory.ok()) << memory.status();
    ASSERT_GE(memory->size(), kBytes);
    EXPECT_EQ(memory->data()[kBytes - 1], std::byte{0});
    std::memset(memory->data(), 7, kBytes);
    ASSERT_TRUE(memory->grow(100 * kBytes, "a table").ok());
    EXPECT_EQ(memory->data()[0], std::byte{7});
    EXPECT_EQ(memory->data()[kBytes - 1], std::byte{7});
    EXPECT_EQ(memory->data()[kBytes], std::byte{0});
    memory->data()[100 * kBytes - 1] = std::byte{1};
}

TEST(SystemMemory, TooMuchIsRefusedByThePlaceThatWantsItAndChangesNothing) {
    constexpr std::size_t kTooMuch = std::numeric_limits<std::size_t>::max() / 4;
    const Result<SystemMemory> none = SystemMemory::make(kTooMuch, "join.users");
    EXPECT_TRUE(absl::IsResourceExhausted(none.status()));
    EXPECT_NE(messageOf(none.status()).find("join.users: no memory for"), std::string_view::npos);
    Result<SystemMemory> memory = SystemMemory::make(10, "join.users");
    ASSERT_TRUE(memory.ok()) << memory.status();
    memory->data()[9] = std::byte{5};
    EXPECT_TRUE(absl::IsResourceExhausted(memory->grow(kTooMuch, "join.users")));
    EXPECT_EQ(memory->data()[9], std::byte{5});
    EXPECT_EQ(memory->size(), 10U);
}

TEST(SystemMemory, IsMovedAndMayBeNone) {
    SystemMemory none;
    EXPECT_EQ(none.data(), nullptr);
    Result<SystemMemory> memory = SystemMemory::make(10, "x");
    ASSERT_TRUE(memory.ok()) << memory.status();
    std::byte* const data = memory->data();
    SystemMemory moved(*std::move(memory));
    EXPECT_EQ(moved.data(), data);
    none = std::move(moved);
    EXPECT_EQ(none.data(), data);
}

}  // namespace
}  // namespace millrace

// Memory of two processes: one reads what the other writes, and other files are refused.
#include "backend/system/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr std::uint64_t kBytes = 8192;

TEST(SharedMemoryTest, WhatIsWrittenIsRead) {
    const auto made = SharedMemory::make("test", kBytes);
    ASSERT_TRUE(made.ok()) << made.status();
    const auto seen = SharedMemory::open(UniqueFd(::dup(made->fd())), kBytes);
    ASSERT_TRUE(seen.ok()) << seen.status();
    EXPECT_NE(seen->bytes().data(), made->bytes().data());
    made->bytes()[4097] = std::byte{5};
    EXPECT_EQ(seen->bytes()[4097], std::byte{5});
    made->giveBack();
    EXPECT_EQ(seen->bytes()[4097], std::byte{0});
    made->bytes()[0] = std::byte{6};
    EXPECT_EQ(seen->bytes()[0], std::byte{6});
}

TEST(SharedMemoryTest, NoDescriptorPassesThatCouldShrinkOrIsOfAnotherSize) {
    const auto made = SharedMemory::make("test", kBytes);
    ASSERT_TRUE(made.ok());
    for (const std::uint64_t bytes : {std::uint64_t{0}, kBytes - 1, 2 * kBytes}) {
        EXPECT_EQ(SharedMemory::open(UniqueFd(::dup(made->fd())), bytes).status().code(),
                  absl::StatusCode::kInvalidArgument);
    }
    UniqueFd unsealed(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(unsealed.get(), kBytes), 0);
    EXPECT_FALSE(SharedMemory::open(std::move(unsealed), kBytes).ok());
    EXPECT_FALSE(SharedMemory::open(UniqueFd(::open("/dev/zero", O_RDONLY)), kBytes).ok());
}

TEST(SharedMemoryTest, ItsSizeIsSealed) {
    const auto made = SharedMemory::make("test", kBytes);
    ASSERT_TRUE(made.ok());
    EXPECT_NE(::ftruncate(made->fd(), 0), 0);
    EXPECT_NE(::ftruncate(made->fd(), 2 * kBytes), 0);
}

}  // namespace
}  // namespace millrace

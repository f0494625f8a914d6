#include "backend/system/boot.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Boot, HasAnIdAndATimeThatOnlyGrows) {
    EXPECT_EQ(bootId().size(), 36U);
    EXPECT_EQ(bootId(), bootId());
    const std::int64_t before = bootTimeMs();
    EXPECT_GT(before, 0);
    EXPECT_GE(bootTimeMs(), before);
}

}  // namespace
}  // namespace millrace

#include "backend/system/machine_memory.h"

#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace {
namespace {

using tests::TempDir;

constexpr std::int64_t kPhysical = 8'000'000'000;

ControlGroups groupsIn(const TempDir& dir) {
    return {dir / "proc", dir / "groups"};
}

// A process in the group a/b of a hierarchy under `dir`.
void place(const TempDir& dir) {
    ASSERT_TRUE(makeDirectories(dir / "proc/self").ok());
    ASSERT_TRUE(makeDirectories(dir / "groups/a/b").ok());
    ASSERT_TRUE(writeFileAtomic(dir / "proc/self/cgroup", "1:cpu:/x\n0::/a/b\n").ok());
}

TEST(MachineMemory, IsTheMachinesWhereNoGroupLimitsIt) {
    const TempDir dir;
    EXPECT_EQ(machineMemory(groupsIn(dir), kPhysical), kPhysical);
    place(dir);
    ASSERT_TRUE(writeFileAtomic(dir / "groups/a/b/memory.max", "max\n").ok());
    EXPECT_EQ(machineMemory(groupsIn(dir), kPhysical), kPhysical);
}

TEST(MachineMemory, IsTheLeastLimitOfTheGroupsAbove) {
    const TempDir dir;
    place(dir);
    ASSERT_TRUE(writeFileAtomic(dir / "groups/a/b/memory.max", "5000000000\n").ok());
    ASSERT_TRUE(writeFileAtomic(dir / "groups/a/memory.max", "3000000000\n").ok());
    EXPECT_EQ(machineMemory(groupsIn(dir), kPhysical), 3'000'000'000);
    ASSERT_TRUE(writeFileAtomic(dir / "groups/memory.max", "2000000000\n").ok());
    EXPECT_EQ(machineMemory(groupsIn(dir), kPhysical), 2'000'000'000);
}

TEST(MachineMemory, VersionOneLimitsToo) {
    const TempDir dir;
    place(dir);
    const std::string lines = "3:cpu,cpuacct:/c\n2:hugetlb,memory:/a\n0::/a/b\n";
    ASSERT_TRUE(writeFileAtomic(dir / "proc/self/cgroup", lines).ok());
    ASSERT_TRUE(makeDirectories(dir / "groups/hugetlb,memory/a").ok());
    const auto limit = [&](const char* group, const char* text) {
        return writeFileAtomic(dir / "groups/hugetlb,memory" + group + "/memory.limit_in_bytes",
                               text);
    };
    ASSERT_TRUE(limit("", "9223372036854771712\n").ok());
    EXPECT_EQ(machineMemory(groupsIn(dir), kPhysical), kPhysical);
    ASSERT_TRUE(limit("/a", "4000000000\n").ok());
    EXPECT_EQ(machineMemory(groupsIn(dir), kPhysical), 4'000'000'000);
}

TEST(MachineMemory, OfThisMachineIsSomething) {
    EXPECT_GT(machineMemory(), std::int64_t{64} << 20);
}

}  // namespace
}  // namespace millrace

#include "backend/system/machine_cores.h"

#include <cstdio>
#include <filesystem>
#include <optional>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

class MachineCoresTest : public ::testing::Test {
 protected:
    void write(const std::string& name, const std::string& text) const {
        const fs::path path = dir / name;
        fs::create_directories(path.parent_path());
        ASSERT_TRUE(writeFileAtomic(path.string(), text).ok());
    }
    int cores(int allowed) const { return machineCores({dir / "proc", dir / "groups"}, allowed); }
    tests::TempDir dir;
};

TEST_F(MachineCoresTest, AreThoseOfTheAffinityMaskWhereNoGroupLimitsThem) {
    EXPECT_EQ(cores(8), 8);
    write("proc/self/cgroup", "0::/a/b\n");
    write("groups/a/b/cpu.max", "max 100000\n");
    EXPECT_EQ(cores(8), 8);
}

TEST_F(MachineCoresTest, AreTheWholeOnesOfTheLeastQuotaOfTheGroupsAbove) {
    write("proc/self/cgroup", "0::/a/b\n");
    write("groups/a/b/cpu.max", "350000 100000\n");
    EXPECT_EQ(cores(8), 3);
    EXPECT_EQ(cores(2), 2) << "the mask leaves fewer";
    write("groups/a/cpu.max", "100000 50000\n");
    EXPECT_EQ(cores(8), 2);
    write("groups/cpu.max", "50000 100000\n");
    EXPECT_EQ(cores(8), 1) << "half a core can still run something";
}

TEST_F(MachineCoresTest, VersionOneLimitsToo) {
    write("proc/self/cgroup", "7:cpuset:/x\n4:cpu,cpuacct:/a\n0::/\n");
    write("groups/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
    write("groups/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(cores(8), 8);
    write("groups/cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
    EXPECT_EQ(cores(8), 4);
}

// As in a container: the path is the host's, and the top directory is the container's own.
TEST_F(MachineCoresTest, AGroupWhosePathIsNotHereIsLimitedByTheOneAtTheTop) {
    write("proc/self/cgroup", "4:cpu:/docker/abc\n0::/docker/abc\n");
    write("groups/cpu/cpu.cfs_quota_us", "200000\n");
    write("groups/cpu/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(cores(8), 2);
}

// A group below this process's, with a quota of one and a half cores.
class RealGroup {
 public:
    RealGroup() {
        for (const std::string& parent : ControlGroups{}.directoriesOf("cpu")) {
            path_ = parent + "/millrace-test-" + std::to_string(::getpid());
            std::error_code error;
            if (fs::create_directory(path_, error) &&
                (put("cpu.max", "150000 100000") || put("cpu.cfs_quota_us", "150000"))) {
                isThere_ = true;
                return;
            }
            fs::remove(path_, error);
        }
    }
    ~RealGroup() {
        std::error_code error;
        isThere_&& fs::remove(path_, error);
    }
    RealGroup(const RealGroup&) = delete;
    RealGroup& operator=(const RealGroup&) = delete;
    bool isThere() const { return isThere_; }
    /// The number of cores that a process in it reports; empty if this user may not enter it.
    std::optional<int> coresInside() const {
        const pid_t child = ::fork();
        if (child == 0) {
            ::_exit(put("cgroup.procs", "0") ? machineCores() : 0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        const int cores = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        return cores > 0 ? std::optional(cores) : std::nullopt;
    }

 private:
    // The kernel's files exist and take one write.
    bool put(const char* name, const std::string& text) const {
        std::FILE* file = std::fopen((path_ + "/" + name).c_str(), "r+e");
        const bool isWritten = file != nullptr && std::fputs(text.c_str(), file) >= 0;
        return file != nullptr && std::fclose(file) == 0 && isWritten;
    }
    std::string path_;
    bool isThere_ = false;
};

TEST(MachineCores, OfAProcessInARealGroupAreThoseOfItsQuota) {
    EXPECT_GE(machineCores(), 1);
    if (machineCores() < 2) {
        GTEST_SKIP() << "one core cannot be limited to one";
    }
    const RealGroup group;
    if (!group.isThere()) {
        GTEST_SKIP() << "no control group may be made here";
    }
    const std::optional<int> cores = group.coresInside();
    if (!cores.has_value()) {
        GTEST_SKIP() << "no process may enter a control group here";
    }
    EXPECT_EQ(*cores, 1);
}

}  // namespace
}  // namespace millrace

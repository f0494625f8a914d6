#include "backend/system/worker_group.h"

#include <csignal>
#include <filesystem>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "tests/support/poll.h"
#include "tests/support/temp_dir.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

class FakeGroupsTest : public ::testing::Test {
 protected:
    void write(const std::string& name, const std::string& text) {
        const std::string path = dir_ / name;
        fs::create_directories(fs::path(path).parent_path());
        ASSERT_TRUE(writeFileAtomic(path, text).ok());
    }
    std::string own() const {
        return ControlGroups{dir_ / "proc", dir_ / "cgroup"}.ownOfVersion2().value_or("none");
    }
    const tests::TempDir dir_;
};

TEST_F(FakeGroupsTest, OnesOwnIsFoundAloneAndBesideVersion1) {
    write("proc/self/cgroup", "0::/user/a\n");
    write("cgroup/user/a/cgroup.procs", "");
    write("cgroup/user/a/cgroup.controllers", "");
    EXPECT_EQ(own(), dir_ / "cgroup/user/a");
    write("proc/self/cgroup", "4:memory:/b\n0::/\n");
    write("cgroup/unified/cgroup.procs", "");
    write("cgroup/unified/cgroup.controllers", "");
    EXPECT_EQ(own(), dir_ / "cgroup/unified");
}

TEST_F(FakeGroupsTest, NoneIsFoundWhereVersion1IsAloneOrTheDirectoryIsTheHosts) {
    write("proc/self/cgroup", "4:memory:/b\n");
    EXPECT_EQ(own(), "none");
    write("proc/self/cgroup", "0::/docker/abc\n");
    write("cgroup/cgroup.procs", "");
    EXPECT_EQ(own(), "none");
}

/// A process that only SIGKILL ends.
pid_t startDeaf() {
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGTERM, SIG_IGN);
        for (;;) {
            ::pause();
        }
    }
    return child;
}

TEST(WorkerGroup, IsEndedWithTheGroupsThatWereMadeInIt) {
    const tests::TempDir dir;
    const Result<std::string> group = makeWorkerGroup(dir / "r-abcde/a1/rank0");
    if (!group.ok()) {
        GTEST_SKIP() << "no control group may be made here: " << group.status();
    }
    const std::string inner = *group + "/inner";
    ASSERT_TRUE(fs::create_directory(inner));
    const pid_t outside = startDeaf(), inside = startDeaf(), deeper = startDeaf();
    const Status entered = enterGroup(*group, inside);
    ASSERT_TRUE(entered.ok()) << entered;
    ASSERT_TRUE(enterGroup(inner, deeper).ok());
    EXPECT_EQ(makeWorkerGroup(dir / "r-abcde/a1/rank0").value_or(""), *group)
        << "what is left of a guardian before this one";
    for (const pid_t ended : {inside, deeper}) {
        int status = 0;
        EXPECT_EQ(::waitpid(ended, &status, 0), ended);
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    EXPECT_TRUE(test::eventually([&] { return endGroup(*group); }));
    EXPECT_FALSE(fs::exists(*group));
    EXPECT_TRUE(endGroup(*group)) << "again";
    EXPECT_EQ(::waitpid(outside, nullptr, WNOHANG), 0) << "it is in no group of a worker";
    ::kill(outside, SIGKILL);
    ::waitpid(outside, nullptr, 0);
}

}  // namespace
}  // namespace millrace

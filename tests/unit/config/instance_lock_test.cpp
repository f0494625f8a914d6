#include "daemon/config/instance_lock.h"

#include <cstdlib>
#include <filesystem>

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "daemon/config/daemon_locks.h"

namespace millrace::config {
namespace {

using ::testing::HasSubstr;

class InstanceLockTest : public ::testing::Test {
 protected:
    InstanceLockTest() {
        char pattern[] = "/tmp/millrace-lock-XXXXXX";
        root_ = ::mkdtemp(pattern);
    }
    ~InstanceLockTest() override { std::filesystem::remove_all(root_); }
    DaemonConfig config(const std::string& state, const std::string& socket) const {
        DaemonConfig config;
        config.stateDir = root_ + "/" + state;
        config.address.unixPath = root_ + "/" + socket;
        return config;
    }
    Result<InstanceLock> take(const std::string& what, std::chrono::milliseconds patience = {}) {
        return InstanceLock::take(root_ + "/l", {what, PidScope::ofThisProcess(), patience});
    }
    std::string root_;
};

TEST_F(InstanceLockTest, ASecondTakerHearsWhoHasIt) {
    const Result<InstanceLock> first = take("the socket /x");
    ASSERT_TRUE(first.ok()) << first.status();
    const Result<InstanceLock> second = take("the socket /x");
    ASSERT_FALSE(second.ok());
    EXPECT_TRUE(absl::IsAlreadyExists(second.status()));
    EXPECT_THAT(std::string(messageOf(second.status())), HasSubstr(strCat("process ", ::getpid())));
    EXPECT_THAT(std::string(messageOf(second.status())), HasSubstr("the socket /x"));
}

TEST_F(InstanceLockTest, ALockIsGivenBackWithItsOwner) {
    {
        ASSERT_TRUE(take("x").ok());
    }
    EXPECT_TRUE(take("x").ok());
}

TEST_F(InstanceLockTest, AProcessThatEndsIsWaitedFor) {
    const PidScope elsewhere{"machine", "boot", 1, "host"};
    for (const PidScope& scope : {PidScope::ofThisProcess(), elsewhere}) {
        int pipe[2];
        ASSERT_EQ(::pipe(pipe), 0);
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            const auto lock = InstanceLock::take(root_ + "/l", {"x", scope, {}});
            const bool isTold = lock.ok() && ::write(pipe[1], "x", 1) == 1;
            ::poll(nullptr, 0, 50);
            ::_exit(isTold ? 0 : 1);
        }
        char read = 0;
        ASSERT_EQ(::read(pipe[0], &read, 1), 1) << "it has the lock";
        EXPECT_TRUE(take("x", std::chrono::seconds(60)).ok());
        int status = 1;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        ::close(pipe[0]);
        ::close(pipe[1]);
    }
}

TEST_F(InstanceLockTest, TheDirectoriesAreMadePrivate) {
    const Result<DaemonLocks> locks = takeDaemonLocks(config("state", "run/d.sock"));
    ASSERT_TRUE(locks.ok()) << locks.status();
    for (const char* name : {"/state", "/run"}) {
        struct stat info{};
        ASSERT_EQ(::stat((root_ + name).c_str(), &info), 0);
        EXPECT_EQ(info.st_mode & 0777, 0700u) << name;
    }
}

TEST_F(InstanceLockTest, OneStateDirectoryHasOneDaemon) {
    const Result<DaemonLocks> first = takeDaemonLocks(config("state", "a/d.sock"));
    ASSERT_TRUE(first.ok());
    const Result<DaemonLocks> second = takeDaemonLocks(config("state", "b/d.sock"));
    EXPECT_THAT(std::string(messageOf(second.status())), HasSubstr("state directory"));
}

TEST_F(InstanceLockTest, OneSocketHasOneDaemon) {
    const Result<DaemonLocks> first = takeDaemonLocks(config("s1", "a/d.sock"));
    ASSERT_TRUE(first.ok());
    const Result<DaemonLocks> second = takeDaemonLocks(config("s2", "a/d.sock"));
    EXPECT_THAT(std::string(messageOf(second.status())), HasSubstr("already serves the socket"));
}

TEST_F(InstanceLockTest, ADirectoryOpenToOthersIsRefused) {
    ASSERT_EQ(::mkdir((root_ + "/open").c_str(), 0700), 0);
    ASSERT_EQ(::chmod((root_ + "/open").c_str(), 0777), 0);
    const Result<DaemonLocks> locks = takeDaemonLocks(config("state", "open/d.sock"));
    EXPECT_TRUE(absl::IsPermissionDenied(locks.status())) << locks.status();
}

TEST_F(InstanceLockTest, ThePlaceOfCheckpointsIsLookedAtBeforeARunIs) {
    DaemonConfig c = config("state", "run/d.sock");
    c.checkpoints = root_ + "/shared/checkpoints";
    EXPECT_TRUE(takeDaemonLocks(c).ok());
    EXPECT_EQ(::access(c.checkpoints.c_str(), W_OK), 0) << "it is made";
    ASSERT_TRUE(writeFileAtomic(root_ + "/file", "").ok());
    c.checkpoints = root_ + "/file";
    c.checkpointsFrom = "millraced.yaml: checkpoints:";
    const Result<DaemonLocks> locks = takeDaemonLocks(c);
    EXPECT_TRUE(absl::IsFailedPrecondition(locks.status())) << locks.status();
    EXPECT_THAT(std::string(messageOf(locks.status())),
                HasSubstr("millraced.yaml: checkpoints: " + root_ + "/file"));
    c.checkpoints = "/proc/nowhere";
    EXPECT_TRUE(absl::IsFailedPrecondition(takeDaemonLocks(c).status()));
}

class OwnDirectoryTest : public InstanceLockTest {
 protected:
    /// Acts as an agent that starts, writes its files and ends.
    void serve(bool isBound, bool keepsLog = false) {
        DaemonConfig agent = config("node", "");
        agent.isBound = isBound;
        const Result<StateLock> lock = takeStateDirectory(agent);
        ASSERT_TRUE(lock.ok()) << lock.status();
        std::filesystem::create_directories(agent.runsDir() + "/r-abcde/a1");
        write("millraced.log");
        const Status removed = isBound ? removeOwnDirectory(agent, keepsLog) : okStatus();
        EXPECT_TRUE(removed.ok()) << removed;
    }
    void write(const std::string& name) const {
        ASSERT_TRUE(writeFileAtomic(root_ + "/node/" + name, "x", 0600).ok());
    }
    bool isThere(const std::string& name = "") const {
        return std::filesystem::exists(root_ + "/node/" + name);
    }
};

TEST_F(OwnDirectoryTest, GoesWithTheBoundAgentThatMadeIt) {
    serve(true);
    EXPECT_FALSE(isThere());
}

TEST_F(OwnDirectoryTest, OneThatWasThereBeforeStays) {
    std::filesystem::create_directories(root_ + "/node");
    ASSERT_EQ(::chmod((root_ + "/node").c_str(), 0700), 0);
    serve(true);
    EXPECT_TRUE(isThere("runs/r-abcde/a1"));
}

TEST_F(OwnDirectoryTest, OneThatAnUnboundAgentServedStays) {
    serve(true, true);
    EXPECT_TRUE(isThere("made-by-bound-agent"));
    serve(false);
    serve(true);
    EXPECT_TRUE(isThere("runs/r-abcde/a1"));
}

TEST_F(OwnDirectoryTest, TheLogOfAnAgentThatFailedStaysUntilTheNextOneHasEnded) {
    serve(true, true);
    EXPECT_TRUE(isThere("millraced.log"));
    EXPECT_FALSE(isThere("runs"));
    serve(true);
    EXPECT_FALSE(isThere());
}

TEST_F(OwnDirectoryTest, WhatIsNotAnAgentsStays) {
    DaemonConfig agent = config("node", "");
    agent.isBound = true;
    {
        ASSERT_TRUE(takeStateDirectory(agent).ok());
    }
    write("thesis.tex");
    serve(true);
    EXPECT_TRUE(isThere("thesis.tex"));
    EXPECT_FALSE(isThere("runs"));
}

TEST_F(OwnDirectoryTest, WhoWaitsForItsLockGetsOneThatIsThere) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const Result<InstanceLock> lock = take("x");
        const bool isTold = ::write(pipe[1], "x", 1) == 1;
        ::unlink((root_ + "/l").c_str());
        ::_exit(lock.ok() && isTold ? 0 : 1);
    }
    char read = 0;
    ASSERT_EQ(::read(pipe[0], &read, 1), 1) << "it has the lock";
    const Result<InstanceLock> lock = take("x", std::chrono::seconds(60));
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_TRUE(absl::IsAlreadyExists(take("x").status())) << "the next one sees it";
    int status = 1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ::close(pipe[0]);
    ::close(pipe[1]);
}

}  // namespace
}  // namespace millrace::config

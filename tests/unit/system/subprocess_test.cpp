#include "backend/system/subprocess.h"

#include <csignal>

#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "tests/support/poll.h"
#include "tests/support/temp_dir.h"

namespace millrace {
namespace {

SubprocessOptions shell(const std::string& script) {
    SubprocessOptions options;
    options.argv = {"/bin/sh", "-c", script};
    options.timeout = std::chrono::seconds(30);
    return options;
}

// Whether the process has ended, or is a zombie that its adoptive parent has not waited for.
bool isGone(pid_t pid) {
    const auto stat = readFile(strCat("/proc/", pid, "/stat"), 4096);
    return !stat.ok() || stat->find(") Z ") != std::string::npos;
}

TEST(Subprocess, CollectsBothOutputsAndTheExitCode) {
    const auto output = Subprocess::run(shell("echo out; echo err >&2; exit 7"));
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(output->out, "out\n");
    EXPECT_EQ(output->err, "err\n");
    EXPECT_EQ(output->exitCode, 7);
}

TEST(Subprocess, FeedsInputLargerThanAPipe) {
    SubprocessOptions options = shell("wc -c");
    options.input = std::string(1'000'000, 'x');
    EXPECT_EQ(std::stoi(Subprocess::run(options).value().out), 1'000'000);
}

TEST(Subprocess, AChildThatDoesNotReadItsInputIsNoError) {
    SubprocessOptions options = shell("exit 0");
    options.input = std::string(1'000'000, 'x');
    std::signal(SIGPIPE, SIG_DFL);  // a SIGPIPE would end this program
    EXPECT_EQ(Subprocess::run(options).value().exitCode, 0);
}

TEST(Subprocess, ASignalIsReportedAs128PlusItsNumber) {
    EXPECT_EQ(Subprocess::run(shell("kill -SEGV $$")).value().exitCode, 128 + SIGSEGV);
}

TEST(Subprocess, AProgramThatIsNotThereIsNamed) {
    SubprocessOptions options;
    options.argv = {"/no/such/program"};
    const auto result = Subprocess::start(options);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
    EXPECT_NE(messageOf(result.status()).find("/no/such/program"), std::string_view::npos);
}

TEST(Subprocess, ATimeLimitEndsTheChild) {
    SubprocessOptions options = shell("sleep 60");
    options.timeout = std::chrono::milliseconds(50);
    EXPECT_EQ(Subprocess::run(options).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(Subprocess, AChildThatClosesItsOutputsAndLivesIsHeldToTheTimeLimit) {
    SubprocessOptions options = shell("exec >&- 2>&-; exec sleep 1000");
    options.timeout = std::chrono::milliseconds(100);
    EXPECT_EQ(Subprocess::run(options).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(Subprocess, AGrandchildThatKeepsAnOutputOpenIsNotWaitedFor) {
    SubprocessOptions options = shell("sleep 1000 & echo $!");
    const auto output = Subprocess::run(options);
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(output->exitCode, 0);
    const pid_t left = std::stoi(output->out);
    EXPECT_TRUE(test::eventually([&] { return isGone(left); })) << "it is ended as well";
}

TEST(Subprocess, WhatTheChildStartedEndsWithItAtTheTimeLimit) {
    const tests::TempDir dir;
    SubprocessOptions options = shell("sleep 1000 & echo $! > " + (dir / "pid") + "; wait");
    options.timeout = std::chrono::milliseconds(500);
    EXPECT_EQ(Subprocess::run(options).status().code(), absl::StatusCode::kDeadlineExceeded);
    const auto pid = readFile(dir / "pid");
    ASSERT_TRUE(pid.ok()) << pid.status();
    EXPECT_TRUE(test::eventually([&] { return isGone(std::stoi(*pid)); }));
}

TEST(Subprocess, TooMuchOutputIsRefused) {
    SubprocessOptions options = shell("yes | head -c 3000000");
    options.maxOutputBytes = 1'000'000;
    EXPECT_EQ(Subprocess::run(options).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Subprocess, EnvironmentIsAddedAndReplaced) {
    ::setenv("MILLRACE_TEST_VALUE", "old", 1);
    SubprocessOptions options = shell("echo $MILLRACE_TEST_VALUE $MILLRACE_TEST_OTHER");
    options.environment = {"MILLRACE_TEST_VALUE=new", "MILLRACE_TEST_OTHER=2"};
    EXPECT_EQ(Subprocess::run(options).value().out, "new 2\n");
}

TEST(Subprocess, ChildrenShareWhatTheMachineAndTheControlGroupAllow) {
    constexpr std::int64_t kGib = std::int64_t{1} << 30;
    EXPECT_EQ(memoryShareOf(1), std::max(machineMemory(), kGib));
    EXPECT_EQ(memoryShareOf(4), std::max(machineMemory() / 4, kGib));
    EXPECT_EQ(memoryShareOf(4, 12 * kGib), 3 * kGib);
    EXPECT_EQ(memoryShareOf(4, 3 * kGib), kGib);
    EXPECT_EQ(memoryShareOf(0, 3 * kGib), 3 * kGib);
}

TEST(Subprocess, AMemoryLimitBindsTheChild) {
    SubprocessOptions options = shell("ulimit -v");
    options.memoryLimitBytes = std::int64_t{512} << 20;
    EXPECT_EQ(Subprocess::run(options).value().out, "524288\n");
}

TEST(Subprocess, TheDestructorEndsAndReapsTheChild) {
    pid_t pid = 0;
    {
        SubprocessOptions options;
        options.argv = {"/bin/sleep", "60"};
        const auto child = Subprocess::start(options);
        ASSERT_TRUE(child.ok());
        pid = child->pid();
        EXPECT_EQ(::kill(pid, 0), 0);
    }
    EXPECT_NE(::kill(pid, 0), 0);
}

}  // namespace
}  // namespace millrace

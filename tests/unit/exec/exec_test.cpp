// millrace-exec without a directory: it passes exit codes on and leaves nothing behind.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "backend/system/subprocess.h"
#include "tests/unit/exec/marked_processes.h"

namespace millrace {
namespace {

class ExecTest : public test::MarkedProcessTest {
 protected:
    using Argv = std::vector<std::string>;

    static Argv withExec(const Argv& options, const Argv& command) {
        Argv argv = {execProgram()};
        argv.insert(argv.end(), options.begin(), options.end());
        argv.push_back("--");
        argv.insert(argv.end(), command.begin(), command.end());
        return argv;
    }
    static SubprocessOutput run(const Argv& options, const Argv& command) {
        SubprocessOptions o;
        o.argv = withExec(options, command);
        o.timeout = std::chrono::seconds(60);
        const auto output = Subprocess::run(o);
        EXPECT_TRUE(output.ok()) << output.status();
        return output.ok() ? *output : SubprocessOutput{};
    }
    static Subprocess start(const Argv& options, const Argv& command, SubprocessOptions o = {}) {
        o.argv = withExec(options, command);
        auto child = Subprocess::start(o);
        EXPECT_TRUE(child.ok()) << child.status();
        return std::move(*child);
    }
};

TEST_F(ExecTest, TheCommandsExitCodeAndOutputComeThrough) {
    const SubprocessOutput output = run({}, {"sh", "-c", "echo out; echo err >&2; exit 7"});
    EXPECT_EQ(output.exitCode, 7);
    EXPECT_EQ(output.out, "out\n");
    EXPECT_EQ(output.err, "err\n");
    EXPECT_EQ(run({}, {"true"}).exitCode, 0);
}

TEST_F(ExecTest, AnEndBySignalIs128PlusItsNumber) {
    EXPECT_EQ(run({}, {"sh", "-c", "kill -SEGV $$"}).exitCode, 139);
}

TEST_F(ExecTest, AMissingCommandIs127AndOneThatCannotRunIs126) {
    const SubprocessOutput missing = run({}, {"/no/such/command"});
    EXPECT_EQ(missing.exitCode, 127);
    EXPECT_NE(missing.err.find("/no/such/command"), std::string::npos);
    std::ofstream(file("plain")) << "text";
    EXPECT_EQ(run({}, {file("plain")}).exitCode, 126);
}

TEST_F(ExecTest, BadOptionsAre125WithASentence) {
    for (const Argv& options : {Argv{"--unknown", "1"}, Argv{"--grace", "soon"}, Argv{"--grace"},
                                Argv{"--grace", "-1"}, Argv{"--life-fd", "77"}}) {
        const SubprocessOutput output = run(options, {"true"});
        EXPECT_EQ(output.exitCode, 125) << options[0];
        EXPECT_NE(output.err.find("millrace-exec: "), std::string::npos);
    }
    EXPECT_EQ(run({}, {}).exitCode, 125);
}

TEST_F(ExecTest, WhatAFinishedCommandLeftBehindIsEnded) {
    EXPECT_EQ(run({}, {"sh", "-c", "setsid sleep 4343 & exit 3"}).exitCode, 3);
    EXPECT_TRUE(nothingLeft());
}

TEST_F(ExecTest, TermReachesThePoliteCommandWhichChoosesItsCode) {
    Subprocess stub =
        start({"--grace", "20"},
              {"sh", "-c", foreverScript("ready", "echo bye > " + file("bye") + "; exit 5")});
    ASSERT_TRUE(isReady("ready"));
    stub.signal(SIGTERM);
    EXPECT_EQ(*stub.wait(), 5);
    EXPECT_EQ(test::readText(file("bye")), "bye\n");
    EXPECT_TRUE(nothingLeft());
}

TEST_F(ExecTest, ADeafCommandIsKilledAfterTheGrace) {
    Subprocess stub = start({"--grace", "0.2"}, {"sh", "-c", foreverScript("ready", "")});
    ASSERT_TRUE(isReady("ready"));
    const auto from = std::chrono::steady_clock::now();
    stub.signal(SIGTERM);
    EXPECT_EQ(*stub.wait(), 137);
    EXPECT_GE(std::chrono::steady_clock::now() - from, std::chrono::milliseconds(200));
    EXPECT_TRUE(nothingLeft());
}

TEST_F(ExecTest, NothingIsLeftWhenTheStubIsKilled) {
    Subprocess stub = start({"--grace", "0.2"}, {"sh", "-c", foreverScript("ready", "")});
    ASSERT_TRUE(isReady("ready"));
    ASSERT_GE(marked().size(), 3U);
    stub.signal(SIGKILL);
    EXPECT_EQ(*stub.wait(), 137);
    EXPECT_TRUE(nothingLeft());
}

TEST_F(ExecTest, NothingIsLeftWhenTheOwnersWholeTreeIsKilled) {
    std::ofstream(file("script")) << foreverScript("ready", "");
    SubprocessOptions o;
    o.argv = {"sh", "-c", execProgram() + " --grace 0.2 -- sh " + file("script") + " & wait"};
    o.newSession = true;
    auto owner = Subprocess::start(o);
    ASSERT_TRUE(owner.ok());
    ASSERT_TRUE(isReady("ready"));
    ::kill(-owner->pid(), SIGKILL);  // the owner and its child, the stub
    ASSERT_TRUE(owner->wait().ok());
    EXPECT_TRUE(nothingLeft());
}

TEST_F(ExecTest, TheCommandEndsWhenTheLifeLineCloses) {
    int life[2];
    ASSERT_EQ(::pipe2(life, O_CLOEXEC), 0);
    SubprocessOptions o;
    o.passFds = {{life[0], 9}};
    Subprocess stub = start({"--grace", "20", "--life-fd", "9"},
                            {"sh", "-c", foreverScript("ready", "exit 6")}, o);
    ::close(life[0]);
    ASSERT_TRUE(isReady("ready"));
    ::close(life[1]);
    EXPECT_EQ(*stub.wait(), 6);
    EXPECT_TRUE(nothingLeft());
}

TEST_F(ExecTest, TheCommandStartsWithFreshSignals) {
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    ::sigprocmask(SIG_BLOCK, &blocked, &before);
    const auto oldHandler = ::signal(SIGUSR1, SIG_IGN);
    const std::string status = run({}, {"grep", "^Sig[BI]", "/proc/self/status"}).out;
    ::signal(SIGUSR1, oldHandler);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(status, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(ExecTest, QuickCommandsInARowLeaveNothing) {
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(run({}, {"sh", "-c", "(sleep 0 &) ; exit 1"}).exitCode, 1);
    }
    EXPECT_TRUE(nothingLeft());
}

}  // namespace
}  // namespace millrace

// millrace-exec --dir: the guardian outlives its owner, keeps the log and the exit record, and
// answers requests.
#include <fcntl.h>
#include <poll.h>

#include "backend/system/boot.h"
#include "backend/system/subprocess.h"
#include "backend/system/unix_socket.h"
#include "tests/unit/exec/marked_processes.h"

namespace millrace {
namespace {

using test::eventually;
using test::readJson;
using test::readText;

class ExecDirectoryTest : public test::MarkedProcessTest {
 protected:
    std::string work() const { return file("w"); }

    /// Starts `script` in the worker directory; returns the stub's exit code.
    int start(const std::string& script, std::vector<std::string> options = {},
              std::string* error = nullptr, const std::vector<std::pair<int, int>>& fds = {}) {
        SubprocessOptions o;
        o.argv = {execProgram(), "--dir", work()};
        o.argv.insert(o.argv.end(), options.begin(), options.end());
        o.argv.insert(o.argv.end(), {"--", "sh", "-c", script});
        o.passFds = fds;
        o.timeout = std::chrono::seconds(60);
        const auto output = Subprocess::run(o);
        EXPECT_TRUE(output.ok()) << output.status();
        if (error != nullptr) {
            *error = output->err;
        }
        return output->exitCode;
    }
    Json waitForExit() const {
        EXPECT_TRUE(eventually([&] { return readJson(work() + "/exit.json").is_object(); }));
        return readJson(work() + "/exit.json");
    }
    /// The texts of the log's lines of one stream.
    std::vector<std::string> logged(char stream) const {
        std::vector<std::string> texts;
        std::istringstream lines(readText(work() + "/out.log"));
        for (std::string line; std::getline(lines, line);) {
            EXPECT_EQ(line.find(' '), 24U) << line;
            if (line.size() > 27 && line[25] == stream) {
                texts.push_back(line.substr(27));
            }
        }
        return texts;
    }
    Json ask(const std::string& line) const {
        auto fd = connectUnix(work() + "/guardian.sock");
        if (!fd.ok()) {
            return {{"error", std::string(messageOf(fd.status()))}};
        }
        const std::string text = line + "\n";
        EXPECT_EQ(::write(fd->get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
        char buffer[4096];
        const ssize_t n = ::read(fd->get(), buffer, sizeof buffer);
        const auto reply = parseJson(std::string_view(buffer, n > 0 ? n : 0), "reply");
        return reply.ok() ? *reply : Json();
    }
};

TEST_F(ExecDirectoryTest, TheStubReturnsOnceTheGuardianCanBeFound) {
    ASSERT_EQ(start("exec sleep 4343"), 0);
    const Json guardian = readJson(work() + "/guardian.json");
    const auto pid = jsonInt(guardian, "pid"), command = jsonInt(guardian, "command_pid");
    EXPECT_EQ(jsonString(guardian, "control_socket"), work() + "/guardian.sock");
    const std::string stat = readText(strCat("/proc/", pid, "/stat"));
    EXPECT_NE(stat.find(strCat(" ", jsonInt(guardian, "start_time"), " ")), std::string::npos);
    EXPECT_TRUE(eventually([&] {
        return readText(strCat("/proc/", command, "/cmdline")).find("4343") != std::string::npos;
    }));
    EXPECT_FALSE(readJson(work() + "/exit.json").is_object());
}

TEST_F(ExecDirectoryTest, BothOutputsAreLoggedAndTheExitIsRecorded) {
    ASSERT_EQ(start("echo one; echo two >&2; printf 'no end'; exit 7"), 0);
    const Json exit = waitForExit();
    EXPECT_EQ(jsonInt(exit, "code"), 7);
    EXPECT_EQ(jsonInt(exit, "signal"), 0);
    EXPECT_EQ(jsonString(exit, "time").size(), 24U);
    EXPECT_EQ(logged('o'), (std::vector<std::string>{"one", "no end"}));
    EXPECT_EQ(logged('e'), (std::vector<std::string>{"two"}));
    EXPECT_TRUE(nothingLeft());
}

TEST_F(ExecDirectoryTest, ASignalAndAMissingCommandAreRecorded) {
    ASSERT_EQ(start("kill -SEGV $$"), 0);
    Json exit = waitForExit();
    EXPECT_EQ(jsonInt(exit, "code"), 139);
    EXPECT_EQ(jsonInt(exit, "signal"), SIGSEGV);
    std::filesystem::remove_all(work());
    ASSERT_EQ(start("exec /no/such/command"), 0);
    EXPECT_EQ(jsonInt(waitForExit(), "code"), 127);
}

TEST_F(ExecDirectoryTest, TheLogGoesOnWhenTheOwnerIsKilled) {
    const std::string script =
        "echo before; while [ ! -e " + file("go") + " ]; do sleep 0.02; done; echo after; exit 4";
    SubprocessOptions o;
    o.argv = {"sh", "-c",
              execProgram() + " --dir " + work() + " -- sh -c '" + script + "'; sleep 4343"};
    o.newSession = true;
    auto owner = Subprocess::start(o);
    ASSERT_TRUE(owner.ok());
    ASSERT_TRUE(eventually([&] { return readJson(work() + "/guardian.json").is_object(); }));
    ::kill(-owner->pid(), SIGKILL);
    ASSERT_TRUE(owner->wait().ok());
    std::ofstream(file("go")) << "";
    EXPECT_EQ(jsonInt(waitForExit(), "code"), 4);
    EXPECT_EQ(logged('o'), (std::vector<std::string>{"before", "after"}));
}

TEST_F(ExecDirectoryTest, StopIsPoliteFirstAndFirmAfterTheGrace) {
    ASSERT_EQ(start(foreverScript("ready", "echo bye; exit 5")), 0);
    ASSERT_TRUE(isReady("ready"));
    EXPECT_TRUE(jsonBool(ask(R"({"stop":true,"grace":20})"), "ok"));
    const Json exit = waitForExit();
    EXPECT_EQ(jsonInt(exit, "code"), 5);
    EXPECT_EQ(jsonString(exit, "reason"), "stop was asked for");
    EXPECT_EQ(logged('o'), (std::vector<std::string>{"bye"}));

    std::filesystem::remove_all(work());
    ASSERT_EQ(start(foreverScript("ready1", "exit 5")), 0);
    ASSERT_TRUE(isReady("ready1"));
    EXPECT_TRUE(jsonBool(ask(R"({"stop":true,"grace":20,"why":"rank1 stands still"})"), "ok"));
    EXPECT_EQ(jsonString(waitForExit(), "reason"), "rank1 stands still");
    EXPECT_EQ(logged('m'), (std::vector<std::string>{"ending the command: rank1 stands still"}));

    std::filesystem::remove_all(work());
    ASSERT_EQ(start(foreverScript("ready2", "")), 0);
    ASSERT_TRUE(isReady("ready2"));
    EXPECT_TRUE(jsonBool(ask(R"({"stop":true,"grace":60})"), "stopping"));
    EXPECT_TRUE(jsonBool(ask(R"({"stop":true,"grace":0.1})"), "ok")) << "a shorter grace counts";
    EXPECT_EQ(jsonInt(waitForExit(), "code"), 137);
    EXPECT_TRUE(nothingLeft());
}

TEST_F(ExecDirectoryTest, KillEndsADeafTreeAtOnce) {
    ASSERT_EQ(start(foreverScript("ready", ""), {"--grace", "600"}), 0);
    ASSERT_TRUE(isReady("ready"));
    EXPECT_TRUE(jsonBool(ask(R"({"kill":true})"), "ok"));
    EXPECT_EQ(jsonInt(waitForExit(), "signal"), SIGKILL);
    EXPECT_TRUE(nothingLeft());
}

TEST_F(ExecDirectoryTest, GarbageOnTheControlSocketIsAnsweredAndHarmsNobody) {
    ASSERT_EQ(start(foreverScript("ready", "")), 0);
    for (const char* line : {"garbage", "[]", "{}", R"({"stop":1})", R"({"stop":true,"grace":-1})",
                             R"({"stop":true,"grace":"x"})"}) {
        const Json reply = ask(line);
        EXPECT_FALSE(jsonBool(reply, "ok", true)) << line;
        EXPECT_NE(jsonString(reply, "error"), "") << line;
    }
    ask(std::string(100'000, 'x'));
    const Json status = ask(R"({"status":true})");
    EXPECT_TRUE(jsonBool(status, "running"));
    EXPECT_FALSE(jsonBool(status, "stopping", true));
}

TEST_F(ExecDirectoryTest, TheOrphanLeaseEndsWhatNobodyAsksFor) {
    ASSERT_EQ(start(foreverScript("ready", ""), {"--orphan-lease", "0.3", "--grace", "0.1"}), 0);
    const Json exit = waitForExit();
    EXPECT_EQ(jsonInt(exit, "code"), 137);
    EXPECT_NE(jsonString(exit, "reason").find("orphan lease"), std::string::npos);
    EXPECT_TRUE(nothingLeft());
}

TEST_F(ExecDirectoryTest, KeepaliveRenewsTheLease) {
    const auto lease = std::chrono::milliseconds(1000);
    ASSERT_EQ(start(foreverScript("ready", ""), {"--orphan-lease", "1", "--grace", "0"}), 0);
    const auto from = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - from < 2 * lease) {
        ASSERT_TRUE(jsonBool(ask(R"({"keepalive":true})"), "ok"));
        test::pausePolling(std::chrono::milliseconds(50));
    }
    EXPECT_FALSE(readJson(work() + "/exit.json").is_object());
    waitForExit();
    EXPECT_TRUE(nothingLeft());
}

TEST_F(ExecDirectoryTest, ADirectoryServesOneGuardianOnce) {
    ASSERT_EQ(start("sleep 4343"), 0);
    std::string error;
    EXPECT_EQ(start("echo second > " + file("second"), {}, &error), 125);
    EXPECT_NE(error.find(work()), std::string::npos);
    ask(R"({"kill":true})");
    waitForExit();
    ASSERT_TRUE(nothingLeft());
    EXPECT_EQ(start("echo second > " + file("second"), {}, &error), 125);
    EXPECT_NE(error.find("used by a guardian before"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(file("second")));
}

TEST_F(ExecDirectoryTest, TheCommandDiesWithAKilledGuardian) {
    ASSERT_EQ(start("exec sleep 4343"), 0);
    ::kill(static_cast<pid_t>(jsonInt(readJson(work() + "/guardian.json"), "pid")), SIGKILL);
    EXPECT_TRUE(nothingLeft());
    EXPECT_FALSE(readJson(work() + "/exit.json").is_object());
}

TEST_F(ExecDirectoryTest, AFullDiskDropsLogLinesAndNotTheCommand) {
    std::filesystem::create_directories(work());
    std::filesystem::create_symlink("/dev/full", work() + "/out.log");
    ASSERT_EQ(start("for i in 1 2 3; do echo line; done; exit 9"), 0);
    const Json exit = waitForExit();
    EXPECT_EQ(jsonInt(exit, "code"), 9);
    EXPECT_EQ(jsonInt(exit, "dropped_lines"), 3);
}

TEST_F(ExecDirectoryTest, TheGuardianKeepsNothingOfItsOwnersOpen) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ASSERT_EQ(start("sleep 4343", {}, nullptr, {{ends[1], 17}}), 0);
    ::close(ends[1]);
    char byte = 0;
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    EXPECT_EQ(::read(ends[0], &byte, 1), 0) << "the pipe's other end is still held";
    ::close(ends[0]);
}

TEST_F(ExecDirectoryTest, ADirectoryDeeperThanASocketNameWorks) {
    const std::string deep = file(std::string(120, 'd'));
    SubprocessOptions o;
    o.argv = {execProgram(), "--dir", deep, "--", "sleep", "4343"};
    ASSERT_EQ(Subprocess::run(o)->exitCode, 0);
    auto fd = connectUnix(deep + "/guardian.sock");
    EXPECT_TRUE(fd.ok()) << fd.status();
}

TEST_F(ExecDirectoryTest, TheRecordsNameTheBoot) {
    ASSERT_EQ(start("exit 0"), 0);
    const Json exit = waitForExit();
    EXPECT_EQ(jsonString(readJson(work() + "/guardian.json"), "boot_id"), bootId());
    EXPECT_EQ(jsonString(exit, "boot_id"), bootId());
    EXPECT_GT(jsonInt(exit, "boot_ms"), 0);
    EXPECT_LE(jsonInt(exit, "boot_ms"), bootTimeMs());
}

TEST_F(ExecDirectoryTest, ACommandLeavesNoCoreFileUnlessItIsAskedFor) {
    ASSERT_EQ(start("ulimit -S -c; ulimit -H -c"), 0);
    waitForExit();
    EXPECT_EQ(logged('o'), (std::vector<std::string>{"0", "0"}));
}

TEST_F(ExecDirectoryTest, QuietConnectionsKeepNobodyOut) {
    ASSERT_EQ(start("exec sleep 4343"), 0);
    std::vector<UniqueFd> quiet;
    for (int i = 0; i < 30; ++i) {
        auto fd = connectUnix(work() + "/guardian.sock");
        ASSERT_TRUE(fd.ok()) << fd.status();
        quiet.push_back(std::move(*fd));
    }
    const auto fd = connectUnix(work() + "/guardian.sock");
    ASSERT_TRUE(fd.ok());
    constexpr std::string_view kLine = "{\"status\": true}\n";
    ASSERT_EQ(::write(fd->get(), kLine.data(), kLine.size()), static_cast<ssize_t>(kLine.size()));
    pollfd item{fd->get(), POLLIN, 0};
    EXPECT_EQ(::poll(&item, 1, 20'000), 1) << "it is answered";
    pollfd first{quiet.front().get(), POLLIN, 0};
    EXPECT_EQ(::poll(&first, 1, 20'000), 1) << "the longest quiet one made room";
}

}  // namespace
}  // namespace millrace

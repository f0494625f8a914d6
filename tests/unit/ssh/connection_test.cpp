// A connection whose ssh is a script: its end, its requests, and malicious answers of a host.
#include "app/ssh/connection.h"

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include <absl/strings/numbers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/ssh/host.h"
#include "backend/system/unix_socket.h"
#include "tests/support/poll.h"
#include "tests/support/scripted_ssh.h"

namespace millrace::ssh {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using std::chrono_literals::operator""s;

class ConnectionTest : public ::testing::Test {
 protected:
    Result<std::shared_ptr<Connection>> connect() { return host().connection(); }
    Host& host() {
        if (host_ == nullptr) {
            Settings settings = ssh_.settings();
            settings.isUnwanted = [this] { return isUnwanted_.load(); };
            host_ = std::make_unique<Host>(Address::parse("ssh://gpu1").value(), settings);
        }
        return *host_;
    }
    tests::ScriptedSsh ssh_;
    std::atomic<bool> isUnwanted_{false};
    std::unique_ptr<Host> host_;
};

TEST_F(ConnectionTest, WhoHoldsTheProgramsErrorsBeyondItsEndIsNotWaitedFor) {
    ssh_.hook(
        "sleep 60 >/dev/null </dev/null &\necho $! > \"$dir/kept\"\n"
        "echo 'ssh: connect to host gpu1 port 22: Connection refused' >&2\nexit 255\n");
    EXPECT_THAT(std::string(messageOf(connect().status())), HasSubstr("no SSH server answers"));
    int kept = 0;
    ASSERT_TRUE(absl::SimpleAtoi(readFile(ssh_ / "kept").value(), &kept));
    EXPECT_EQ(::kill(kept, SIGKILL), 0) << "it was waited for";
}

TEST_F(ConnectionTest, AProgramThatClosesItsOutputAndStaysIsEnded) {
    ssh_.hook("trap '' TERM\nexec >&-\nwhile :; do sleep 0.1; done\n");
    EXPECT_THAT(std::string(messageOf(connect().status())), HasSubstr("exit code 137"));
}

TEST_F(ConnectionTest, ABannerSaysNothingOfWhyItEnded) {
    ssh_.hook(
        "[ $mode = master ] || return 0\necho 'Access is refused to strangers (keyword x)' >&2\n"
        "exec 3<&0\nsh -s <&3 &\nwhile [ ! -e \"$dir/end\" ]; do sleep 0.02; done\nkill $!\n"
        "echo 'Connection to gpu1 closed by remote host.' >&2\nexit 255\n");
    const auto connection = connect();
    ASSERT_TRUE(connection.ok()) << connection.status();
    ASSERT_TRUE(writeFileAtomic(ssh_ / "end", "").ok());
    ASSERT_TRUE(test::eventually([&] { return !(*connection)->state().ok(); }));
    EXPECT_EQ((*connection)->state().code(), absl::StatusCode::kUnavailable)
        << (*connection)->state();
}

TEST_F(ConnectionTest, WhatALoginShellSaysByItselfIsNotTheScripts) {
    ssh_.hook("[ $mode = command ] && echo Welcome && echo 'no locale' >&2\n:\n");
    const auto connection = connect();
    ASSERT_TRUE(connection.ok()) << connection.status();
    const Result<SubprocessOutput> output = (*connection)->run("echo hi; echo ho >&2; exit 3", 20s);
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(output->out, "hi\n");
    EXPECT_EQ(output->err, "ho\n");
    EXPECT_EQ(output->exitCode, 3);
}

TEST_F(ConnectionTest, ACommandThatSshCannotRunIsNoAnswerOfTheHost) {
    ASSERT_TRUE(connect().ok());
    ssh_.hook("echo 'mux_client_request_session: session request failed' >&2\nexit 255\n");
    const Status status = host().look("").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(messageOf(status)),
                AllOf(HasSubstr("ssh://gpu1"), HasSubstr("session request failed")));
}

TEST_F(ConnectionTest, WhatRunsThereIsGivenUpWhenNobodyWantsItAnyMore) {
    const auto connection = connect();
    ASSERT_TRUE(connection.ok()) << connection.status();
    const std::jthread leaver([&] {
        test::eventually([&] { return ssh_.count("command") == 1; });
        isUnwanted_ = true;
    });
    EXPECT_EQ((*connection)->run("exec sleep 60", 40s).status().code(),
              absl::StatusCode::kCancelled);
}

TEST_F(ConnectionTest, ManyCallersShareOneConnectionAndLoseItTogether) {
    ssh_.hook(
        "[ $mode = master ] || return 0\nexec 3<&0\nsh -s <&3 &\n"
        "while [ ! -e \"$dir/end\" ]; do sleep 0.02; done\nkill $!\nexit 255\n");
    host();
    std::atomic<int> numUp{0}, numLost{0};
    std::vector<std::jthread> callers;
    for (int i = 0; i < 12; ++i) {
        callers.emplace_back([&] {
            const auto connection = connect();
            numUp += connection.ok() ? 1 : 0;
            while (connection.ok() && (*connection)->run("true", 20s).ok()) {
            }
            numLost += connection.ok() && !(*connection)->state().ok() ? 1 : 0;
        });
    }
    ASSERT_TRUE(test::eventually([&] { return numUp == 12; }));
    EXPECT_EQ(ssh_.count("master"), 1U);
    ASSERT_TRUE(writeFileAtomic(ssh_ / "end", "").ok());
    callers.clear();
    EXPECT_EQ(numLost, 12);
}

TEST_F(ConnectionTest, ACommandNeverGoesToAHostThatWasNotLookedAt) {
    const auto connection = connect();
    ASSERT_TRUE(connection.ok()) << connection.status();
    ASSERT_TRUE((*connection)->run("true", 20s).ok());
    const std::string calls = ssh_.calls();
    EXPECT_THAT(calls.substr(calls.find("-F none")),
                AllOf(HasSubstr("-o BatchMode=yes"), HasSubstr("-o StrictHostKeyChecking=yes"),
                      HasSubstr("-o UserKnownHostsFile=/dev/null"),
                      HasSubstr("-o GlobalKnownHostsFile=/dev/null")));
}

TEST_F(ConnectionTest, APathThatSshWouldReadOtherwiseIsNotForwarded) {
    for (const char* name : {"/${HOME}.sock", "/%h.sock"}) {
        const std::string path = ssh_ / "run" + name;
        const Result<UniqueFd> listener = listenUnix(path);
        ASSERT_TRUE(listener.ok()) << listener.status();
        const Status status = host().dial(path).status();
        EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
        EXPECT_THAT(std::string(messageOf(status)), HasSubstr(path));
    }
    EXPECT_EQ(ssh_.count("forward"), 0U);
    const std::string path = ssh_ / "run/a:b.sock";
    const Result<UniqueFd> listener = listenUnix(path);
    host().dial(path).status().IgnoreError();
    EXPECT_THAT(ssh_.calls(), HasSubstr(strCat("/0:", ssh_ / "run/a\\:b.sock")));
}

TEST_F(ConnectionTest, AForwardThatFailedLeavesItsNameToNobody) {
    ssh_.hook("[ $mode = forward ] && { echo 'mux_client_forward: refused' >&2; exit 1; }\n:\n");
    const std::string path = ssh_ / "run/d.sock";
    const Result<UniqueFd> listener = listenUnix(path);
    EXPECT_THAT(std::string(messageOf(host().dial(path).status())), HasSubstr("refused"));
    EXPECT_FALSE(host().dial(path).ok());
    EXPECT_THAT(ssh_.calls(), AllOf(HasSubstr("/0:" + path), HasSubstr("/1:" + path)));
}

}  // namespace
}  // namespace millrace::ssh

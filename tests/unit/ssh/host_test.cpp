// A host whose ssh is a script: the choice of the program, and what is remembered of an attempt.
#include "app/ssh/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "backend/system/unix_socket.h"
#include "tests/support/poll.h"
#include "tests/support/scripted_ssh.h"
#include "tests/support/temp_dir.h"

namespace millrace::ssh {
namespace {

using ::testing::HasSubstr;

class HostTest : public ::testing::Test {
 protected:
    void putSsh(const std::string& body) {
        ASSERT_TRUE(writeFileAtomic(dir_ / "ssh",
                                    strCat("#!/bin/sh\necho x >> ", dir_ / "calls", "\n", body),
                                    0755)
                        .ok());
    }
    std::size_t numCalls() const {
        const Result<std::string> calls = readFile(dir_ / "calls");
        return calls.ok() ? calls->size() / 2 : 0;
    }
    Settings settings() const {
        Settings settings;
        settings.searchPath = "/nowhere:" + dir_.path();
        settings.programDirectory = dir_ / "bin";
        return settings;
    }
    Address address_ = Address::parse("ssh://gpu1").value();
    tests::TempDir dir_;
};

TEST_F(HostTest, TheSystemsSshIsTakenWhereThereIsOne) {
    EXPECT_THAT(std::string(messageOf(programOf(settings()).status())),
                HasSubstr("neither an ssh program"));
    ASSERT_TRUE(makeDirectories(dir_ / "bin").ok());
    ASSERT_TRUE(writeFileAtomic(dir_ / "bin/millrace-ssh", "#!/bin/sh\n", 0755).ok());
    EXPECT_EQ(programOf(settings()).value(), dir_ / "bin/millrace-ssh");
    putSsh("");
    EXPECT_EQ(programOf(settings()).value(), dir_ / "ssh");
    Settings wanted = settings();
    wanted.transport = Transport::kLibssh;
    EXPECT_EQ(programOf(wanted).value(), dir_ / "bin/millrace-ssh");
    EXPECT_FALSE(parseTransport("putty").ok());
}

TEST_F(HostTest, ARefusalIsRememberedUntilItIsForgiven) {
    putSsh("echo 'me@gpu1: Permission denied (publickey).' >&2; exit 255");
    Host host(address_, settings());
    EXPECT_EQ(host.connection().status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(host.connection().status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(numCalls(), 1U);
    host.forgive();
    EXPECT_FALSE(host.connection().ok());
    EXPECT_EQ(numCalls(), 2U);
}

TEST_F(HostTest, WhatIsForgivenWhileItIsUnderWayIsNotRemembered) {
    putSsh(strCat("while [ ! -e ", dir_ / "go", " ]; do sleep 0.02; done\n",
                  "echo 'me@gpu1: Permission denied (publickey).' >&2; exit 255"));
    Host host(address_, settings());
    std::jthread first([&] { host.connection().status().IgnoreError(); });
    ASSERT_TRUE(test::eventually([&] { return numCalls() == 1; }));
    host.forgive();
    ASSERT_TRUE(writeFileAtomic(dir_ / "go", "").ok());
    first.join();
    EXPECT_EQ(host.connection().status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(numCalls(), 2U);
}

TEST_F(HostTest, WhatIsAwayIsTriedAgain) {
    putSsh("echo 'ssh: connect to host gpu1 port 22: Connection refused' >&2; exit 255");
    Host host(address_, settings());
    EXPECT_EQ(host.connection().status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(host.connection().status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(numCalls(), 2U);
}

TEST_F(HostTest, AStopEndsAnAttemptThatHangs) {
    putSsh("exec cat >/dev/null");
    Host host(address_, settings());
    std::stop_source stop;
    const std::jthread stopper([&] { stop.request_stop(); });
    EXPECT_EQ(host.connection(stop.get_token()).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(HostTest, OneHostIsOneWhateverSocketIsNamed) {
    Hosts hosts(settings());
    EXPECT_EQ(&hosts.at(address_), &hosts.at(Address::parse("ssh://gpu1/a.sock").value()));
    EXPECT_NE(&hosts.at(address_), &hosts.at(Address::parse("ssh://me@gpu1").value()));
}

TEST(HostSocket, ADaemonThatWasStartedAgainElsewhereIsFound) {
    tests::ScriptedSsh ssh;
    Host host(Address::parse("ssh://gpu1").value(), ssh.settings());
    const auto listenAt = [&](const std::string& name) {
        ssh.program("millrace", strCat("[ \"$1\" = socket-path ] && echo ", ssh / name, "\n"));
        return listenUnix(ssh / name);
    };
    Result<UniqueFd> listener = listenAt("first.sock");
    ASSERT_TRUE(listener.ok()) << listener.status();
    host.dial("").status().IgnoreError();  // the script forwards nothing
    EXPECT_THAT(ssh.calls(), HasSubstr("first.sock"));
    listener = listenAt("second.sock");
    EXPECT_THAT(std::string(messageOf(host.whyClosed(""))), HasSubstr("second.sock"));
    host.dial("").status().IgnoreError();
    EXPECT_THAT(ssh.calls(), HasSubstr(":" + ssh / "second.sock"));
    const std::size_t looks = ssh.count("command");
    host.dial("").status().IgnoreError();
    EXPECT_EQ(ssh.count("command"), looks) << "found once, it is known";
}

}  // namespace
}  // namespace millrace::ssh

// The script that looks at a host, run by this machine's sh.
#include "app/ssh/remote_look.h"

#include <filesystem>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "backend/system/subprocess.h"
#include "backend/system/unix_socket.h"
#include "tests/support/temp_dir.h"

namespace millrace::ssh {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RemoteLook : public ::testing::Test {
 protected:
    Result<RemoteHostInfo> look(const std::string& socket = "",
                                std::vector<std::string> environment = {}) {
        SubprocessOptions options;
        options.argv = {"sh", "-s"};
        options.input = lookScript(socket);
        options.environment = {"HOME=" + dir_.path(), "PATH=/usr/bin:/bin",
                               "XDG_RUNTIME_DIR=" + dir_.path()};
        options.environment.insert(options.environment.end(), environment.begin(),
                                   environment.end());
        options.timeout = std::chrono::seconds(20);
        const Result<SubprocessOutput> output = Subprocess::run(options);
        RETURN_IF_ERROR(output.status());
        EXPECT_EQ(output->err, "");
        return parseFacts(output->out, "ssh://here");
    }
    tests::TempDir dir_;
};

TEST_F(RemoteLook, FindsTheProgramInTheHomeAndAsksItForTheSocket) {
    std::filesystem::create_directories(dir_ / ".local/bin");
    const std::string program = dir_ / ".local/bin/millrace";
    ASSERT_TRUE(writeFileAtomic(program,
                                "#!/bin/sh\ncase $1 in version) echo 'millrace 9.8, build x';;\n"
                                "socket-path) echo /its/own.sock;; esac\n",
                                0755)
                    .ok());
    const Result<RemoteHostInfo> facts = look();
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->program, program);
    EXPECT_EQ(facts->version, "9.8");
    EXPECT_EQ(facts->socket, "/its/own.sock");
    EXPECT_FALSE(facts->hasSocket);
    EXPECT_EQ(facts->home, dir_.path());
    EXPECT_THAT(facts->system, HasSubstr(" "));
}

TEST_F(RemoteLook, WithoutAProgramTheSocketIsWhereOneWouldBe) {
    std::filesystem::create_directories(dir_ / "millrace");
    const std::string path = dir_ / "millrace/millraced.sock";
    EXPECT_FALSE(look()->hasSocket);
    const Result<UniqueFd> listener = listenUnix(path);
    ASSERT_TRUE(listener.ok());
    const Result<RemoteHostInfo> facts = look();
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->program, "");
    EXPECT_EQ(facts->socket, path);
    EXPECT_TRUE(facts->hasSocket);
    EXPECT_EQ(facts->owner, facts->user);
}

TEST_F(RemoteLook, WhoseTheDirectoryAboveIsSaysNothingOfADaemonThatIsNotThere) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can make a directory of another user";
    }
    const std::string place = dir_ / "theirs";
    std::filesystem::create_directories(place);
    ASSERT_EQ(::chown(place.c_str(), 65534, 65534), 0);
    Result<RemoteHostInfo> facts = look(place + "/run/d.sock");
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->owner, "");
    const Result<UniqueFd> listener = listenUnix(place + "/d.sock");
    ASSERT_EQ(::chown((place + "/d.sock").c_str(), 65534, 65534), 0);
    EXPECT_EQ(look(place + "/d.sock")->owner, "nobody");
}

TEST_F(RemoteLook, APathWithEveryKindOfCharacterComesBackAsItIs) {
    const std::string path = dir_ / "it's $HOME `x` \"q\" \\n *.sock";
    const Result<RemoteHostInfo> facts = look(path);
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->socket, path);
}

TEST(RemoteFactsTest, WhatCameBeforeTheLookIsPassedOver) {
    const Result<RemoteHostInfo> facts = parseFacts(
        "Welcome to gpu1!\nmillrace-look 1\nuser=alice\nsocket=/a=b.sock\nmillrace-look end\n",
        "h");
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->user, "alice");
    EXPECT_EQ(facts->socket, "/a=b.sock");
}

TEST(RemoteFactsTest, SomethingElseIsToldApart) {
    for (const char* words : {"", "choose a host: 1) 2)", "millrace-look 1\nuser=alice\n"}) {
        EXPECT_EQ(parseFacts(words, "ssh://menu").status().code(),
                  absl::StatusCode::kFailedPrecondition)
            << words;
    }
    EXPECT_THAT(std::string(messageOf(parseFacts("choose 1)", "ssh://menu").status())),
                AllOf(HasSubstr("ssh://menu"), HasSubstr("choose 1)")));
}

TEST(NoDaemonThere, SaysWhoseItIsOrWhatToDo) {
    RemoteHostInfo facts;
    facts.user = "bob";
    facts.socket = "/run/user/1001/millrace/millraced.sock";
    facts.owner = "alice";
    Status status = noDaemonThere(facts, "ssh://gpu1");
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(messageOf(status)), HasSubstr("runs as alice; you are bob there"));
    facts.owner = "bob";
    EXPECT_THAT(std::string(messageOf(noDaemonThere(facts, "ssh://gpu1"))),
                HasSubstr("'millrace up --install --host ssh://gpu1'"));
    facts.program = "/usr/bin/millrace";
    status = noDaemonThere(facts, "ssh://gpu1");
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(messageOf(status)), HasSubstr("there is no socket"));
    facts.hasSocket = true;
    EXPECT_THAT(std::string(messageOf(noDaemonThere(facts, "ssh://gpu1"))),
                HasSubstr("nobody listens at"));
}

}  // namespace
}  // namespace millrace::ssh

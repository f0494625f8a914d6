// Transfers of files to a host that is a directory of this machine: odd names, a full disk, missing
// tools, a cancel.
#include "app/ssh/transfer.h"

#include <atomic>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scripted_ssh.h"

namespace millrace::ssh {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The script that replaces `cat` for an incoming file; all other programs are real.
constexpr const char* kCat = "case $(readlink /proc/$$/fd/1) in *incoming*) ";

class TransferTest : public ::testing::Test {
 protected:
    void SetUp() override {
        Settings settings = ssh_.settings();
        settings.isUnwanted = [this] { return isUnwanted_.load(); };
        host_ = std::make_unique<Host>(Address::parse("ssh://gpu1").value(), settings);
        ASSERT_TRUE(writeFileAtomic(here_ / "x.csv", "a\n1\n").ok());
    }
    Result<std::string> send(const std::string& file, const Progress& progress = {}) {
        ASSIGN_OR_RETURN(const auto connection, host_->connection());
        return sendFile(*connection, file, ssh_.home() + "/up", progress);
    }
    void incomingDoes(const std::string& body) {
        ssh_.program("cat", strCat(kCat, body, ";; esac\nexec /bin/cat \"$@\"\n"));
    }
    std::vector<std::string> leftThere() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(ssh_.home())) {
            names.push_back(entry.path().filename().string());
        }
        return names;
    }
    tests::TempDir here_;
    tests::ScriptedSsh ssh_{"a home's"};
    std::atomic<bool> isUnwanted_{false};
    std::unique_ptr<Host> host_;
};

TEST_F(TransferTest, AFileOfAnyNameArrivesUnderItsOwnName) {
    for (const char* name : {"-n b'c \"d\" $HOME.csv", "two\\nlines.csv", "ends in a blank "}) {
        ASSERT_TRUE(writeFileAtomic(here_ / name, name).ok());
        const Result<std::string> path = send(here_ / name);
        ASSERT_TRUE(path.ok()) << path.status();
        EXPECT_EQ(*path, strCat(ssh_.home(), "/up/", name));
        EXPECT_EQ(readFile(*path).value(), name);
    }
    EXPECT_THAT(leftThere(), ::testing::ElementsAre("up"));
}

TEST_F(TransferTest, WhatArrivesIsItsUsersAlone) {
    ssh_.hook("umask 022\n");
    const Result<std::string> path = send(here_ / "x.csv");
    ASSERT_TRUE(path.ok()) << path.status();
    EXPECT_EQ(std::filesystem::status(*path).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(TransferTest, WhatALoginShellSaysByItselfIsNotOnThisProcesssOutput) {
    ssh_.hook("[ $mode = command ] && echo Welcome\n:\n");
    testing::internal::CaptureStdout();
    const Result<std::string> path = send(here_ / "x.csv");
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(path.value_or(std::string(messageOf(path.status()))), ssh_.home() + "/up/x.csv");
}

TEST_F(TransferTest, ProgramsComeToAHomeOfAnyNameAlsoWithoutLibraries) {
    ASSERT_TRUE(makeDirectories(here_ / "bin").ok());
    for (const char* name : {"millrace", "millraced", "millrace-data", "millrace-exec"}) {
        ASSERT_TRUE(
            writeFileAtomic(strCat(here_ / "bin/", name), "#!/bin/sh\necho me\n", 0755).ok());
    }
    std::filesystem::copy_file("/bin/true", here_ / "bin/millrace-loader");
    const Result<Programs> programs = programsIn(here_ / "bin", "1.0 a'b");
    ASSERT_TRUE(programs.ok()) << programs.status();
    for (int times = 0; times < 2; ++times) {
        const auto connection = host_->connection();
        ASSERT_TRUE(connection.ok()) << connection.status();
        const Result<Installed> done = install(**connection, *programs, {});
        ASSERT_TRUE(done.ok()) << done.status();
        EXPECT_EQ(done->program, ssh_.home() + "/.local/bin/millrace");
        EXPECT_EQ(std::filesystem::read_symlink(done->program),
                  ssh_.home() + "/.local/share/millrace/1.0 a'b/bin/millrace");
    }
    EXPECT_THAT(leftThere(), ::testing::ElementsAre(".local"));
}

TEST_F(TransferTest, AFullDiskSaysSoAndKeepsNothing) {
    incomingDoes("head -c 2; echo 'cat: write error: No space left on device' >&2; exit 1");
    const Status status = send(here_ / "x.csv").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(leftThere(), IsEmpty());
}

TEST_F(TransferTest, WhoGivesUpWaitsForNothingAndLeavesNothing) {
    incomingDoes("head -c 2; exec sleep 60");
    const Status status = send(here_ / "x.csv", [&](auto, auto) { isUnwanted_ = true; }).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
    EXPECT_THAT(leftThere(), IsEmpty());
}

TEST_F(TransferTest, AToolThatIsMissingThereIsNamed) {
    const std::string few = ssh_ / "few";
    ASSERT_TRUE(makeDirectories(few).ok());
    for (const char* tool : {"sh", "cat", "rm", "id", "uname", "ls", "awk", "dirname", "sed"}) {
        std::filesystem::create_symlink(strCat("/usr/bin/", tool), strCat(few, "/", tool));
    }
    ssh_.hook("PATH=$dir/few\n");
    const Status status = send(here_ / "x.csv").status();
    EXPECT_THAT(std::string(messageOf(status)), HasSubstr("sha256sum is not installed there"));
    EXPECT_THAT(leftThere(), IsEmpty());
}

}  // namespace
}  // namespace millrace::ssh

// Files that a run on another host needs from there; the host is a directory of this machine.
#include "app/session/remote_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scripted_ssh.h"

namespace millrace::session {
namespace {

using ::testing::HasSubstr;

class RemotePlace : public ::testing::Test {
 protected:
    tests::TempDir here_;
    tests::ScriptedSsh ssh_;
    ssh::Hosts hosts_{ssh_.settings()};
    const Address address_ = Address::parse("ssh://gpu1").value();
};

TEST_F(RemotePlace, TwoUploadsOfOneNameStayTwo) {
    RemoteRequests wishes;
    values::SubmitRequest request;
    request.key = "k1";
    for (const char* folder : {"a", "b"}) {
        ASSERT_TRUE(makeDirectories(here_ / folder).ok());
        const std::string file = strCat(here_ / folder, "/x.csv");
        ASSERT_TRUE(writeFileAtomic(file, folder).ok());
        wishes.uploads.push_back(file);
        request.specText += file + "\n";
    }
    const Status status = completeThere(hosts_.at(address_), wishes, request);
    ASSERT_TRUE(status.ok()) << status;
    const std::size_t end = request.specText.find('\n');
    EXPECT_EQ(readFile(request.specText.substr(0, end)).value(), "a");
    EXPECT_EQ(readFile(request.specText.substr(end + 1, request.specText.size() - end - 2)).value(),
              "b");
}

TEST_F(RemotePlace, ALoginShellWithoutLoginCommandsLeavesTheEnvironmentToSh) {
    ssh_.program("csh", "echo 'Unknown option: -lc' >&2\nexit 1\n");
    ssh_.hook("export SHELL=\"$dir/path/csh\" LANG=C.UTF-8\n");
    values::SubmitRequest request;
    const Status status = completeThere(hosts_.at(address_), {}, request);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(request.place.environment["LANG"], "C.UTF-8");
}

TEST_F(RemotePlace, ADirectoryThatCouldNotBeLookedForIsLookedForAgain) {
    ASSERT_TRUE(hosts_.at(address_).connection().ok());
    DirectoriesThere directories(hosts_);
    ssh_.hook("echo 'no more sessions' >&2\nexit 255\n");
    EXPECT_THAT(std::string(messageOf(directories.standsFor("ssh://gpu1", here_.path()).status())),
                HasSubstr("no more sessions"));
    ssh_.hook("");
    EXPECT_EQ(directories.standsFor("ssh://gpu1", here_.path()).value(), here_.path());
    EXPECT_EQ(directories.standsFor("ssh://gpu1", "/nowhere/at/all").value(), ssh_.home() + "/");
}

}  // namespace
}  // namespace millrace::session

#include "app/ssh/config_hosts.h"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace::ssh {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ConfigHosts, NamesWithoutPatternsInTheirOrderAndOnce) {
    const tests::TempDir dir;
    ASSERT_TRUE(writeFileAtomic(dir / "more", "Host inner\nhost gpu1\n").ok());
    ASSERT_TRUE(writeFileAtomic(dir / "config",
                                "# Host no\nHost gpu1 gpu2 gpu-*\n  HostName a\n\nHOST=\"lab\"\n"
                                "Include " +
                                    dir / "mo*\n" +
                                    "Match host x\n  User y\nHost *\nHost !bad last # not this\n")
                    .ok());
    EXPECT_THAT(hostsOfConfig(dir / "config"), ElementsAre("gpu1", "gpu2", "lab", "inner", "last"));
}

TEST(ConfigHosts, FilesThatAllIncludeAllAreReadOnce) {
    const tests::TempDir dir;
    for (char name = 'a'; name <= 'z'; ++name) {
        const std::string text =
            strCat("Include ", dir.path(), "/*\r\n\tHost\t", std::string(1, name));
        ASSERT_TRUE(writeFileAtomic(dir / std::string(1, name), text + "\r\n").ok());
    }
    ASSERT_EQ(::mkfifo((dir / "zz").c_str(), 0600), 0);
    EXPECT_EQ(hostsOfConfig(dir / "a").size(), 26U);
}

TEST(ConfigHosts, AFileThatIncludesItselfEnds) {
    const tests::TempDir dir;
    ASSERT_TRUE(writeFileAtomic(dir / "config", "Include " + dir / "config\nHost a\n").ok());
    EXPECT_THAT(hostsOfConfig(dir / "config"), ElementsAre("a"));
    EXPECT_THAT(hostsOfConfig(dir / "none"), IsEmpty());
}

}  // namespace
}  // namespace millrace::ssh

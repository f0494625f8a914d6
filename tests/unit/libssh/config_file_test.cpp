#include "app/ssh/libssh/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace::libssh {
namespace {

using testing::ElementsAre;

ConfigSubject subjectOf(const std::string& host) {
    return {host, "", "ada", "/srv/ada",
            [](const std::string& command) { return command == "test box = box"; }};
}

// "key=value" for every line that applies.
std::vector<std::string> applied(const std::string& text, const ConfigSubject& subject) {
    std::vector<std::string> found;
    const Result<std::vector<ConfigLine>> lines = parseConfig(text, "config", "/none", subject);
    EXPECT_TRUE(lines.ok()) << lines.status();
    for (const ConfigLine& line : lines.ok() ? *lines : std::vector<ConfigLine>{}) {
        found.push_back(line.key + "=" + line.value);
    }
    return found;
}

TEST(ConfigFile, LinesBeforeAnyHostAndOfItsBlocksApplyInTheirOrder) {
    const std::string text =
        "Port 1\n# a comment\n\nHost box other\n  User = \"a b\"\r\n\tHostName=box.example\n"
        "Host elsewhere\n  Port 2\nHost *\n  Port 3\n";
    EXPECT_THAT(applied(text, subjectOf("box")),
                ElementsAre("port=1", "user=a b", "hostname=box.example", "port=3"));
    EXPECT_THAT(applied(text, subjectOf("third")), ElementsAre("port=1", "port=3"));
}

TEST(ConfigFile, PatternsAreSshs) {
    EXPECT_TRUE(matchesPatterns("gpu-1.lab", "gpu-*.lab"));
    EXPECT_TRUE(matchesPatterns("GPU-1", "gpu-?"));
    EXPECT_FALSE(matchesPatterns("gpu-12", "gpu-?"));
    EXPECT_FALSE(matchesPatterns("gpu-1", "gpu-*,!gpu-1"));
    EXPECT_FALSE(matchesPatterns("gpu-1", "!gpu-1"));
    EXPECT_TRUE(matchesPatterns("b", "a b"));
}

TEST(ConfigFile, MatchAsksWhatItKnows) {
    const std::string text =
        "Match host box user ada\n  Port 1\nMatch originalhost other\n  Port 2\n"
        "Match all\n  Port 3\nMatch !user ada\n  Port 4\nMatch exec \"test %h = box\"\n  Port 5\n"
        "Match canonical\n  Port 6\nMatch localuser a* !exec no\n  Port 7\n";
    EXPECT_THAT(applied(text, subjectOf("box")),
                ElementsAre("port=1", "port=3", "port=5", "port=7"));
    // Uses the host name as it is at this line.
    EXPECT_THAT(applied("HostName real\nMatch host real\n Port 1\n", subjectOf("box")),
                ElementsAre("hostname=real", "port=1"));
}

TEST(ConfigFile, IncludesAreReadWhereTheyStand) {
    const tests::TempDir dir;
    ASSERT_TRUE(writeFileAtomic(dir / "one.conf", "Port 1\nHost box\n  Port 2\n").ok());
    ASSERT_TRUE(writeFileAtomic(dir / "two.conf", "Host *\n  Port 9\n").ok());
    const std::string text =
        "Include one.*\nUser u\nHost other\n  Include two.conf\nHost *\n User v\n";
    const Result<std::vector<ConfigLine>> lines =
        parseConfig(text, "config", dir.path(), subjectOf("box"));
    ASSERT_TRUE(lines.ok()) << lines.status();
    std::vector<std::string> found;
    for (const ConfigLine& line : *lines) {
        found.push_back(line.key + "=" + line.value);
    }
    EXPECT_THAT(found, ElementsAre("port=1", "port=2", "user=u", "user=v"));
    EXPECT_EQ((*lines)[1].place, dir / "one.conf" + ":3");
}

TEST(ConfigFile, AFileThatIncludesItselfEnds) {
    const tests::TempDir dir;
    ASSERT_TRUE(writeFileAtomic(dir / "loop", "Include loop\n").ok());
    EXPECT_FALSE(parseConfig("Include loop\n", "config", dir.path(), subjectOf("box")).ok());
}

TEST(ConfigFile, ALineWithoutAValueNamesItsPlace) {
    const auto lines = parseConfig("Port 1\nUser\n", "config", "/none", subjectOf("box"));
    EXPECT_EQ(messageOf(lines.status()), "config:2: User has no value");
    EXPECT_FALSE(parseConfig("User \"\"\n", "config", "/none", subjectOf("box")).ok());
}

TEST(ConfigFile, ACommandKeepsItsQuotes) {
    EXPECT_THAT(applied("ProxyCommand nc -x \"a b\" %h\n", subjectOf("box")),
                ElementsAre("proxycommand=nc -x \"a b\" %h"));
}

TEST(ConfigFile, AFileThatIsNamedMustBeThereAndOthersNeedNot) {
    const tests::TempDir dir;
    ConfigSubject subject = subjectOf("box");
    subject.home = dir.path();
    EXPECT_FALSE(readConfig(dir / "none", subject).ok());
    EXPECT_TRUE(readConfig("", subject).ok());
    EXPECT_TRUE(readConfig("none", subject)->empty());
}

TEST(ConfigFile, TokensAreExpandedOnce) {
    const Tokens tokens{"real%n", "alias", "u", "ada", "/srv/ada", 22};
    EXPECT_EQ(expandTokens("%h %n %p %r %u %d %% %x %", tokens),
              "real%n alias 22 u ada /srv/ada % %x %");
}

TEST(ConfigFile, WhatNobodyHeedsIsNamedOnce) {
    const Result<std::vector<ConfigLine>> lines = parseConfig(
        "SendEnv LANG\nPKCS11Provider x\nCiphers aes\nPKCS11Provider y\nUnheard 1\nPort 2\n",
        "config", "/none", subjectOf("box"));
    ASSERT_TRUE(lines.ok());
    EXPECT_THAT(unheededKeys(*lines), ElementsAre("config:2: PKCS11Provider", "config:5: Unheard"));
}

}  // namespace
}  // namespace millrace::libssh

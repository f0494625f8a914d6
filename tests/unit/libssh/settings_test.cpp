#include "app/ssh/libssh/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace::libssh {
namespace {

using testing::ElementsAre;

class SettingsTest : public testing::Test {
 protected:
    Result<Settings> of(const std::string& config, std::vector<std::string> arguments = {}) {
        EXPECT_TRUE(writeFileAtomic(dir_ / "config", config).ok());
        arguments.insert(arguments.begin(), {"-M", "-S", "c", "-F", dir_ / "config"});
        arguments.insert(arguments.end(), {"box", "ls"});
        const Result<Invocation> invocation = parseInvocation(arguments);
        EXPECT_TRUE(invocation.ok()) << invocation.status();
        invocation_ = *invocation;
        return settingsFor(invocation_, local_);
    }

    tests::TempDir dir_;
    LocalUser local_{"ada", "/srv/ada"};
    Invocation invocation_;
};

TEST_F(SettingsTest, NobodySaysAnything) {
    const Result<Settings> made = of("");
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->user, "ada");
    EXPECT_EQ(made->hostName, "box");
    EXPECT_EQ(made->port, 22);
    EXPECT_EQ(made->strict, StrictHostKeys::kAsk);
    EXPECT_THAT(made->identityFiles, ElementsAre("/srv/ada/.ssh/id_rsa", "/srv/ada/.ssh/id_ecdsa",
                                                 "/srv/ada/.ssh/id_ed25519"));
    EXPECT_EQ(made->userKnownHosts[0], "/srv/ada/.ssh/known_hosts");
    EXPECT_FALSE(made->isBatch || made->isIdentitiesOnly || made->isIdentityGiven);
    EXPECT_EQ(made->aliveInterval.count(), 0);
}

TEST_F(SettingsTest, TheCommandLineStandsBeforeTheFile) {
    const std::string config =
        "Host box\n  HostName Real.Example\n  User grace\n  Port 48\n  IdentityFile ~/.ssh/a_%r\n"
        "  ServerAliveInterval 30\n  StrictHostKeyChecking no\n  IdentitiesOnly yes\n";
    Result<Settings> made = of(config);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->hostName, "real.example");
    EXPECT_EQ(made->user, "grace");
    EXPECT_EQ(made->port, 48);
    EXPECT_THAT(made->identityFiles, ElementsAre("/srv/ada/.ssh/a_grace"));
    EXPECT_TRUE(made->isIdentitiesOnly);
    EXPECT_EQ(made->strict, StrictHostKeys::kNo);
    made = of(config, {"-l", "eve", "-p", "23", "-o", "StrictHostKeyChecking=yes", "-o",
                       "ServerAliveInterval=2", "-o", "IdentityFile=/k"});
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->user, "eve");
    EXPECT_EQ(made->port, 23);
    EXPECT_EQ(made->strict, StrictHostKeys::kYes);
    EXPECT_EQ(made->aliveInterval.count(), 2);
    EXPECT_THAT(made->identityFiles, ElementsAre("/k", "/srv/ada/.ssh/a_eve"));
}

TEST_F(SettingsTest, AWrongValueIsSaid) {
    EXPECT_EQ(messageOf(of("", {"-o", "BatchMode=perhaps"}).status()),
              "batchmode: yes or no, not 'perhaps'");
    EXPECT_EQ(messageOf(of("ConnectTimeout soon\n").status()),
              "connecttimeout: a number, not 'soon'");
    EXPECT_EQ(messageOf(of("StrictHostKeyChecking maybe\n").status()),
              "StrictHostKeyChecking: yes, ask, accept-new or no, not 'maybe'");
    EXPECT_EQ(messageOf(of("HostName -oProxyCommand=x\n").status()),
              "bad host or user name: ada@-oproxycommand=x");
}

TEST_F(SettingsTest, AJumpStandsBeforeAProxysCommandAndNoneIsNone) {
    Result<Settings> made = of("ProxyJump a@first:23,second\nProxyCommand nc %h %p\n");
    ASSERT_TRUE(made.ok()) << made.status();
    ASSERT_EQ(made->jumps.size(), 2u);
    EXPECT_EQ(made->jumps[0].host, "first");
    EXPECT_EQ(made->jumps[0].port, 23);
    EXPECT_EQ(made->jumps[1].host, "second");
    EXPECT_EQ(made->proxyCommand, "");
    made = of("ProxyJump none\nProxyCommand nc\n");
    EXPECT_TRUE(made->jumps.empty() && made->proxyCommand.empty());
    made = of("ProxyCommand nc %h %p 100%%\n");
    EXPECT_EQ(made->proxyCommand, "nc box 22 100%");
    EXPECT_FALSE(of("ProxyJump a;b\n").ok());
}

TEST_F(SettingsTest, AHostOnTheWayHasItsOwnLines) {
    const std::string config =
        "Host way\n  HostName way.example\n  User w\nHost box\n  User b\nHost *\n  Port 47\n";
    ASSERT_TRUE(of(config, {"-l", "eve", "-o", "StrictHostKeyChecking=yes", "-o", "BatchMode=yes",
                            "-o", "HostName=real", "-o", "IdentityFile=/k"})
                    .ok());
    const Result<Settings> way = settingsForJump({"", "way", 0}, invocation_, local_);
    ASSERT_TRUE(way.ok()) << way.status();
    EXPECT_EQ(way->hostName, "way.example");
    EXPECT_EQ(way->user, "w");
    EXPECT_EQ(way->port, 47);
    EXPECT_TRUE(way->isBatch);
    EXPECT_EQ(way->strict, StrictHostKeys::kYes);
    EXPECT_FALSE(way->isIdentityGiven);
    const Result<Settings> other = settingsForJump({"x", "way", 7}, invocation_, local_);
    EXPECT_EQ(other->user, "x");
    EXPECT_EQ(other->port, 7);
}

}  // namespace
}  // namespace millrace::libssh

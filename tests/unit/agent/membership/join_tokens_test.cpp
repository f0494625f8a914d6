#include "daemon/agent/membership/join_tokens.h"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class JoinTokensTest : public ::testing::Test {
 protected:
    JoinTokensTest() { serve(tokens); }
    /// A join file with only a token.
    static void serve(JoinTokens& tokens) {
        tokens.serve("shared", [](const std::string&, const std::string& token) { return token; });
    }
    std::string path() const { return directory / "nodes.tokens"; }
    std::string invite(const std::string& node) { return tokens.invite(node).value(); }

    tests::TempDir directory;
    JoinTokens tokens{path()};
};

TEST_F(JoinTokensTest, AnInvitedNodeComesWithItsOwnTokenUnderItsOwnName) {
    const std::string token = invite("cpu-1"), other = invite("cpu-2");
    EXPECT_EQ(token.size(), 32U);
    EXPECT_TRUE(tokens.admit("cpu-1", token).ok());
    for (const auto& [node, shown] : std::vector<std::pair<std::string, std::string>>{
             {"cpu-1", other}, {"cpu-1", "shared"}, {"cpu-3", token}, {"cpu-3", ""}}) {
        EXPECT_TRUE(absl::IsUnauthenticated(tokens.admit(node, shown))) << node;
    }
    EXPECT_TRUE(tokens.admit("cpu-3", "shared").ok()) << "a free name";
}

TEST_F(JoinTokensTest, AForgottenNodeIsLetInByNoTokenUntilItIsInvitedAgain) {
    const std::string token = invite("cpu-1");
    ASSERT_TRUE(tokens.forget("cpu-1").ok());
    EXPECT_FALSE(tokens.isInvited("cpu-1"));
    EXPECT_FALSE(tokens.isToken(token));
    EXPECT_THAT(std::string(messageOf(tokens.admit("cpu-1", token))), HasSubstr("forgotten"));
    EXPECT_FALSE(tokens.admit("cpu-1", "shared").ok());
    const std::string next = invite("cpu-1");
    EXPECT_TRUE(tokens.admit("cpu-1", next).ok());
    EXPECT_FALSE(tokens.admit("cpu-1", token).ok());
}

TEST_F(JoinTokensTest, TheFileBeforeLetsInUntilTheNewOneWasUsed) {
    const std::string first = invite("cpu-1");
    const std::string lost = invite("cpu-1"), arrived = invite("cpu-1");
    EXPECT_TRUE(tokens.admit("cpu-1", first).ok());
    EXPECT_FALSE(tokens.admit("cpu-1", lost).ok());
    EXPECT_TRUE(tokens.admit("cpu-1", arrived).ok());
    EXPECT_FALSE(tokens.admit("cpu-1", first).ok());
}

TEST_F(JoinTokensTest, TheNextHeadKnowsThemAndTheDiskHasNoToken) {
    const std::string token = invite("cpu-1");
    ASSERT_TRUE(tokens.invite("cpu-2").ok());
    ASSERT_TRUE(tokens.forget("cpu-2").ok());
    struct stat info{};
    ASSERT_EQ(::stat(path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    EXPECT_THAT(readFile(path()).value(), Not(HasSubstr(token)));
    const auto next = JoinTokens::open(path()).value();
    EXPECT_TRUE(next->admit("cpu-1", token).ok());
    serve(*next);
    EXPECT_FALSE(next->admit("cpu-2", "shared").ok()) << "it is still forgotten";
}

TEST_F(JoinTokensTest, ADamagedFileIsRefusedWithTheWayToMendIt) {
    for (const std::string text : {"", R"({"cpu-1": [)", "garbage", "[1, 2]", R"({"cpu-1": 7})",
                                   R"({"cpu-1": [7]})", R"({"cpu-1": ["abc"]})"}) {
        ASSERT_TRUE(writeFileAtomic(path(), text, 0600).ok());
        const Status status = JoinTokens::open(path()).status();
        ASSERT_TRUE(absl::IsDataLoss(status)) << text;
        EXPECT_THAT(std::string(messageOf(status)), HasSubstr(path() + ": is damaged"));
        EXPECT_THAT(std::string(messageOf(status)), HasSubstr("or remove it"));
    }
    EXPECT_TRUE(JoinTokens::open(directory / "none").ok());
}

TEST_F(JoinTokensTest, AnInvitationThatCannotBeKeptIsNone) {
    const std::string nowhere = directory / "none/nodes.tokens";
    JoinTokens broken(nowhere);
    EXPECT_THAT(std::string(messageOf(broken.invite("cpu-1").status())),
                HasSubstr("--nodes-listen"));
    serve(broken);
    EXPECT_FALSE(broken.invite("cpu-1").ok());
    EXPECT_FALSE(broken.isInvited("cpu-1"));
}

}  // namespace
}  // namespace millrace::agent

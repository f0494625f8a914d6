#include "app/session/submission.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/system/subprocess.h"
#include "tests/support/fake_client.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace millrace::session {
namespace {

using ::testing::HasSubstr;

int git(const std::string& directory, std::vector<std::string> arguments) {
    SubprocessOptions options;
    options.argv = {"git", "-C", directory, "-c", "user.name=t", "-c", "user.email=t@t"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    const auto output = Subprocess::run(options);
    return output.ok() ? output->exitCode : -1;
}

class SubmissionTest : public testing::Test {
 protected:
    std::string write(const std::string& name, const std::string& text) {
        const std::string path = directory_.path() + "/" + name;
        std::ofstream(path) << text;
        return path;
    }
    tests::TempDir directory_;
    FakeClock clock_;
};

TEST_F(SubmissionTest, ASpecTravelsWithItsDirectoryAndAKeyOfItsOwn) {
    const std::string path = write("a.yaml", "name: a\n");
    const auto first = readSubmission(path, clock_), second = readSubmission(path, clock_);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(first->specText, "name: a\n");
    EXPECT_EQ(first->baseDir, directory_.path());
    EXPECT_EQ(first->key.size(), 32U);
    EXPECT_NE(first->key, second->key);
    EXPECT_FALSE(first->owner.empty());
}

TEST_F(SubmissionTest, AMissingSpecOrADirectoryIsNamed) {
    const auto missing = readSubmission(directory_.path() + "/no.yaml", clock_);
    EXPECT_THAT(std::string(messageOf(missing.status())), HasSubstr("no.yaml"));
    const auto folder = readSubmission(directory_.path(), clock_);
    EXPECT_THAT(std::string(messageOf(folder.status())), HasSubstr("is a directory"));
}

TEST_F(SubmissionTest, ASpecOfTenMegabytesIsRefusedWithTheLimit) {
    const std::string path = write("big.yaml", std::string(10'000'000, '#'));
    const auto big = readSubmission(path, clock_);
    EXPECT_THAT(std::string(messageOf(big.status())), HasSubstr("10.0 MB; at most 8.4 MB"));
}

TEST_F(SubmissionTest, ASpecInAnotherEncodingIsRefusedWithLineAndColumn) {
    const std::string path = write("latin1.yaml", "name: x\n# caf\xe9\n");
    const Status status = readSpecText(path).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(messageOf(status)), HasSubstr("latin1.yaml:2:6: byte 0xe9"));
    EXPECT_THAT(std::string(messageOf(status)), HasSubstr("iconv -f latin1"));
    const std::string wide = write("wide.yaml", std::string("\xff\xfen\0a\0", 6));
    EXPECT_THAT(std::string(messageOf(readSpecText(wide).status())), HasSubstr("iconv -f UTF-16"));
}

TEST_F(SubmissionTest, OutsideOfARepositoryThereAreNoGitFacts) {
    EXPECT_TRUE(gitFactsOf(directory_.path()).commit.empty());
    EXPECT_TRUE(gitFactsOf("/nowhere/at/all").commit.empty());
}

TEST_F(SubmissionTest, GitFactsNameTheCommitAndWhetherTheTreeIsDirty) {
    const std::string path = write("a.yaml", "name: a\n");
    ASSERT_EQ(git(directory_.path(), {"init", "-q", "-b", "work"}), 0);
    ASSERT_EQ(git(directory_.path(), {"add", "a.yaml"}), 0);
    ASSERT_EQ(git(directory_.path(), {"commit", "-q", "-m", "a"}), 0);
    ASSERT_EQ(
        git(directory_.path(), {"remote", "add", "origin", "https://me:secret@example.org/x.git"}),
        0);
    values::GitInfo facts = gitFactsOf(directory_.path());
    EXPECT_EQ(facts.commit.size(), 40U);
    EXPECT_EQ(facts.branch, "work");
    EXPECT_FALSE(facts.isDirty);
    EXPECT_EQ(facts.remote, "https://example.org/x.git");
    write("a.yaml", "name: b\n");
    EXPECT_TRUE(gitFactsOf(directory_.path()).isDirty);
}

TEST_F(SubmissionTest, ALostConnectionSendsTheSameKeyAgain) {
    client::FakeAnswers fake;
    client::FakeClient daemon(fake);
    fake.submitsLost = 2;
    fake.submitReply.runs = {client::aRun("r-abc23")};
    values::SubmitRequest request;
    request.key = "k1";
    const auto reply = submitSurely(daemon, request, 3);
    ASSERT_TRUE(reply.ok()) << reply.status();
    ASSERT_EQ(fake.submits.size(), 3U);
    EXPECT_EQ(fake.submits[0].key, fake.submits[2].key);
}

TEST_F(SubmissionTest, WithoutADaemonItIsTriedOnce) {
    client::FakeAnswers fake;
    client::FakeClient daemon(fake);
    fake.submitsLost = 9;
    fake.reachable = unavailable("no daemon");
    values::SubmitRequest request;
    request.key = "k1";
    EXPECT_FALSE(submitSurely(daemon, request).ok());
    EXPECT_EQ(fake.submits.size(), 1U);
}

}  // namespace
}  // namespace millrace::session

// Questions of ssh: their kinds, and the socket between two processes.
#include "app/ssh/askpass.h"

#include <filesystem>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/core/whole_io.h"
#include "backend/system/unix_socket.h"
#include "tests/support/poll.h"
#include "tests/support/temp_dir.h"

namespace millrace::ssh {
namespace {

TEST(Question, KindsAreKnownByWhatSshSays) {
    const auto kindIs = [](QuestionKind kind, const char* text, const char* hint = "") {
        EXPECT_EQ(kindOf(text, hint), kind) << text;
    };
    kindIs(
        QuestionKind::kHostKey,
        "The authenticity of host 'a (1.2.3.4)' can't be established.\nED25519 key fingerprint is "
        "SHA256:x.\nAre you sure you want to continue connecting (yes/no/[fingerprint])? ");
    kindIs(QuestionKind::kHostKey, "Please type 'yes', 'no' or the fingerprint: ");
    kindIs(QuestionKind::kSecret, "Enter passphrase for key '/srv/me/.ssh/id_ed25519': ");
    kindIs(QuestionKind::kSecret, "me@gpu1's password: ");
    kindIs(QuestionKind::kSecret, "Enter PIN for ED25519-SK key /srv/me/.ssh/id_sk: ");
    kindIs(QuestionKind::kSecret, "(me@gpu1) Something unheard of: ");
    kindIs(QuestionKind::kCode, "(me@gpu1) Verification code: ");
    kindIs(QuestionKind::kConfirm, "Allow shared connection to gpu1? ", "confirm");
    kindIs(QuestionKind::kNotice, "Confirm user presence for key ED25519-SK SHA256:x", "none");
}

class Door : public ::testing::Test {
 protected:
    // Does the work of ssh's askpass program.
    std::string ask(const std::string& text) {
        Result<UniqueFd> fd = connectOwnUnix(dir_ / "ask");
        EXPECT_TRUE(fd.ok()) << fd.status();
        EXPECT_TRUE(writeAll(fd->get(), text));
        ::shutdown(fd->get(), SHUT_WR);
        std::string answer;
        char buffer[100];
        for (ssize_t n = 0; (n = ::read(fd->get(), buffer, sizeof buffer)) > 0;) {
            answer.append(buffer, static_cast<std::size_t>(n));
        }
        return answer;
    }
    tests::TempDir dir_;
};

TEST_F(Door, AnAnswerComesBackAndAGivenUpQuestionIsKnown) {
    const auto door = AskpassListener::open(dir_.path(), "ssh://gpu1", [](const Question& q, auto) {
        EXPECT_EQ(q.host, "ssh://gpu1");
        return q.text == "password: " ? std::optional(Secret("open sesame")) : std::nullopt;
    });
    ASSERT_TRUE(door.ok()) << door.status();
    EXPECT_EQ(ask("\npassword: "), "+open sesame");
    EXPECT_FALSE((*door)->wasGivenUp());
    EXPECT_EQ(ask("\nanything else: "), "");
    EXPECT_TRUE((*door)->wasGivenUp());
}

TEST_F(Door, ANoticeIsOverWhenItsAskerIsGone) {
    std::atomic<bool> isShown{false}, isOver{false};
    const auto door = AskpassListener::open(
        dir_.path(), "ssh://gpu1", [&](const Question& q, std::stop_token stop) {
            EXPECT_EQ(q.kind, QuestionKind::kNotice);
            isShown = true;
            test::eventually([&] { return stop.stop_requested(); });
            isOver = true;
            return std::optional<Secret>();
        });
    ASSERT_TRUE(door.ok());
    {
        const Result<UniqueFd> fd = connectOwnUnix(dir_ / "ask");
        ASSERT_TRUE(writeAll(fd->get(), "none\ntouch your key"));
        ::shutdown(fd->get(), SHUT_WR);
        ASSERT_TRUE(test::eventually([&] { return isShown.load(); }));
    }
    EXPECT_TRUE(test::eventually([&] { return isOver.load(); }));
    EXPECT_FALSE((*door)->wasGivenUp());
}

TEST_F(Door, WhoComesAndSaysNothingDoesNotHoldUpItsEnd) {
    auto door =
        AskpassListener::open(dir_.path(), "h", [](auto&&...) { return std::optional<Secret>(); });
    ASSERT_TRUE(door.ok());
    const auto numOpen = [] {
        using std::filesystem::directory_iterator;
        return std::distance(directory_iterator("/proc/self/fd"), directory_iterator());
    };
    const auto before = numOpen();
    const Result<UniqueFd> silent = connectOwnUnix(dir_ / "ask");
    ASSERT_TRUE(silent.ok());
    ASSERT_TRUE(test::eventually([&] { return numOpen() == before + 2; })) << "it is let in";
    door->reset();
    char byte = 0;
    EXPECT_EQ(::read(silent->get(), &byte, 1), 0);
}

TEST_F(Door, TheEndOfTheDoorGivesUpWhatIsAsked) {
    std::atomic<bool> isAsked{false};
    auto door = AskpassListener::open(dir_.path(), "h", [&](const Question&, std::stop_token stop) {
        isAsked = true;
        test::eventually([&] { return stop.stop_requested(); });
        return std::optional<Secret>();
    });
    ASSERT_TRUE(door.ok());
    const Result<UniqueFd> fd = connectOwnUnix(dir_ / "ask");
    ASSERT_TRUE(writeAll(fd->get(), "\npassword: "));
    ::shutdown(fd->get(), SHUT_WR);
    ASSERT_TRUE(test::eventually([&] { return isAsked.load(); }));
    door->reset();
    char byte = 0;
    EXPECT_EQ(::read(fd->get(), &byte, 1), 0);
}

}  // namespace
}  // namespace millrace::ssh

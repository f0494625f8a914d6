#include "app/ssh/libssh/questions.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace::libssh {
namespace {

class QuestionsTest : public testing::Test {
 protected:
    std::optional<Secret> answerOf(const std::string& script, const std::string& prompt = "?") {
        EXPECT_TRUE(writeFileAtomic(dir_ / "ask", "#!/bin/sh\n" + script + "\n", 0755).ok());
        return AskPass(dir_ / "ask").ask(prompt);
    }
    tests::TempDir dir_;
};

TEST_F(QuestionsTest, TheFirstLineIsTheAnswer) {
    EXPECT_EQ(answerOf("printf 'open sesame\\nmore\\n'")->view(), "open sesame");
    EXPECT_EQ(answerOf("printf 'dos\\r\\n'")->view(), "dos");
    EXPECT_EQ(answerOf("printf unended")->view(), "unended");
    EXPECT_EQ(answerOf("true")->view(), "");
}

TEST_F(QuestionsTest, ThePromptIsTheOneArgument) {
    EXPECT_EQ(answerOf("printf %s \"$#:$1\"", "Code for 'a b': ")->view(), "1:Code for 'a b': ");
}

TEST_F(QuestionsTest, AnotherCodeThanZeroIsNoAnswer) {
    EXPECT_FALSE(answerOf("echo secret; exit 1").has_value());
    EXPECT_FALSE(AskPass(dir_ / "none").ask("?").has_value());
    EXPECT_FALSE(AskPass("").ask("?").has_value());
    EXPECT_FALSE(NoQuestions().ask("?").has_value());
}

TEST_F(QuestionsTest, AnAnswerWithoutEndIsCut) {
    const std::optional<Secret> answer = answerOf("head -c 100000 /dev/zero | tr '\\0' x");
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->view(), std::string(Secret::kMax, 'x'));
}

}  // namespace
}  // namespace millrace::libssh

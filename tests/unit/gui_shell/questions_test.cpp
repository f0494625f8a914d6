// Questions of ssh connections: from their thread to the dialog, and their answers back.
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "app/gui/bridge/ssh_questions.h"
#include "app/gui/widgets/shell/question_dialog.h"

namespace millrace::gui {
namespace {

ssh::Question questionOf(ssh::QuestionKind kind, const std::string& text,
                         const std::string& host = "ssh://gpu1") {
    return {kind, host, text};
}

// A question that a connection asks on its own thread.
class Asked {
 public:
    Asked(const SshQuestions& questions, ssh::Question question)
        : thread_([this, ask = questions.ask(), question = std::move(question)] {
              answer_ = ask(question, stop_.get_token());
              isDone_ = true;
          }) {}
    ~Asked() { stop_.request_stop(); }
    bool isDone() const { return isDone_; }
    std::string answer() {
        thread_.join();
        return answer_.has_value() ? std::string(answer_->view()) : "(given up)";
    }
    void stop() { stop_.request_stop(); }

 private:
    std::stop_source stop_;
    std::optional<Secret> answer_;
    std::atomic<bool> isDone_{false};
    std::jthread thread_;
};

TEST(SshQuestionsTest, AnAnswerGoesBackToTheThreadThatAsked) {
    SshQuestions questions;
    questions.setAsked("ssh://gpu1/run/d.sock");
    QSignalSpy changed(&questions, &SshQuestions::changed);
    Asked asked(questions, questionOf(ssh::QuestionKind::kSecret, "password: "));
    ASSERT_TRUE(changed.wait(5000));
    const std::optional<SshQuestion> first = questions.first();
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->host, "ssh://gpu1");
    EXPECT_FALSE(asked.isDone());
    questions.answer(first->id, "g\u00e4nsef\u00fc\u00dfchen");
    EXPECT_EQ(asked.answer(), "g\u00e4nsef\u00fc\u00dfchen");
    EXPECT_FALSE(questions.first().has_value());
}

TEST(SshQuestionsTest, AnotherHostsQuestionsAreNotPut) {
    SshQuestions questions;
    questions.setAsked("ssh://gpu1");
    Asked other(questions, questionOf(ssh::QuestionKind::kSecret, "password: ", "ssh://gpu2"));
    EXPECT_EQ(other.answer(), "(given up)");
    QSignalSpy changed(&questions, &SshQuestions::changed);
    Asked asked(questions, questionOf(ssh::QuestionKind::kSecret, "password: "));
    ASSERT_TRUE(changed.wait(5000));
    questions.setAsked("ssh://gpu2");
    EXPECT_EQ(asked.answer(), "(given up)");
}

TEST(SshQuestionsTest, TheEndOfTheWindowOrOfTheConnectionGivesThemUp) {
    auto questions = std::make_unique<SshQuestions>();
    questions->setAsked("ssh://gpu1");
    QSignalSpy changed(questions.get(), &SshQuestions::changed);
    Asked cut(*questions, questionOf(ssh::QuestionKind::kCode, "code: "));
    ASSERT_TRUE(changed.wait(5000));
    cut.stop();
    EXPECT_EQ(cut.answer(), "(given up)");
    Asked left(*questions, questionOf(ssh::QuestionKind::kCode, "code: "));
    questions.reset();
    EXPECT_EQ(left.answer(), "(given up)");
}

class Dialog : public ::testing::Test {
 protected:
    QWidget window_;
    QuestionDialog dialog_{&window_};
    QSignalSpy answered_{&dialog_, &QuestionDialog::answered};
    QSignalSpy givenUp_{&dialog_, &QuestionDialog::givenUp};
};

TEST_F(Dialog, APassphraseIsTypedUnseenAndClearedWhenItWasSaid) {
    dialog_.present({7, SshQuestion::Kind::kSecret, "ssh://gpu1", "Enter passphrase: "});
    EXPECT_EQ(dialog_.field()->echoMode(), QLineEdit::Password);
    QTest::keyClicks(dialog_.field(), "sesame");
    QTest::keyClick(&dialog_, Qt::Key_Return);
    ASSERT_EQ(answered_.count(), 1);
    EXPECT_EQ(answered_[0][0].toULongLong(), 7U);
    EXPECT_EQ(answered_[0][1].toString(), "sesame");
    EXPECT_EQ(dialog_.field()->text(), "");
    EXPECT_FALSE(dialog_.isVisible());
}

TEST_F(Dialog, ACodeIsSeen) {
    dialog_.present({8, SshQuestion::Kind::kCode, "ssh://gpu1", "Verification code: "});
    EXPECT_EQ(dialog_.field()->echoMode(), QLineEdit::Normal);
}

TEST_F(Dialog, EscapeGivesUp) {
    dialog_.present({9, SshQuestion::Kind::kSecret, "ssh://gpu1", "Enter passphrase: "});
    QTest::keyClick(&dialog_, Qt::Key_Escape);
    EXPECT_EQ(answered_.count(), 0);
    ASSERT_EQ(givenUp_.count(), 1);
    EXPECT_EQ(givenUp_[0][0].toULongLong(), 9U);
}

TEST_F(Dialog, AKeyIsNotTrustedByReturnButByItsButton) {
    const SshQuestion key{1, SshQuestion::Kind::kHostKey, "ssh://gpu1",
                          "ED25519 key fingerprint is SHA256:x.\nAre you sure? "};
    dialog_.present(key);
    QTest::keyClick(&dialog_, Qt::Key_Return);
    EXPECT_EQ(answered_.count(), 0);
    QTest::mouseClick(dialog_.yes(), Qt::LeftButton);
    ASSERT_EQ(answered_.count(), 1);
    EXPECT_EQ(answered_[0][1].toString(), "yes");
}

TEST_F(Dialog, WhatIsNoLongerAskedIsClosedWithoutAWord) {
    dialog_.present({2, SshQuestion::Kind::kNotice, "ssh://gpu1", "Confirm user presence"});
    EXPECT_FALSE(dialog_.yes()->isVisibleTo(&dialog_));
    dialog_.withdraw();
    EXPECT_FALSE(dialog_.isVisible());
    EXPECT_EQ(answered_.count() + givenUp_.count(), 0);
}

}  // namespace
}  // namespace millrace::gui

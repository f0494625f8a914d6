#include <QLineEdit>
#include <QPushButton>
#include <QTest>

#include <gtest/gtest.h>

#include "app/gui/widgets/notice_stack.h"

namespace millrace::gui {
namespace {

class NoticesTest : public testing::Test {
 protected:
    NoticesTest() {
        area.resize(900, 600);
        area.show();
        elsewhere.setFocus();
    }
    QWidget area;
    QLineEdit elsewhere{&area};
    NoticeStack stack{&area};
};

TEST_F(NoticesTest, UndoIsOfferedAndDoneOnce) {
    int undone = 0;
    stack.add({Notice::Kind::kDone, "Deleted r-81", "Undo", [&] { ++undone; }});
    ASSERT_NE(stack.newestAction(), nullptr);
    stack.newestAction()->act();
    EXPECT_EQ(undone, 1);
    EXPECT_EQ(stack.newestAction(), nullptr);
    EXPECT_TRUE(stack.cards().empty());
    EXPECT_FALSE(stack.isVisible());
}

TEST_F(NoticesTest, TheButtonOfANoticeDoesIt) {
    int undone = 0;
    stack.add({Notice::Kind::kDone, "Deleted r-81", "Undo", [&] { ++undone; }});
    auto* button = stack.cards().front()->findChild<QPushButton*>();
    ASSERT_NE(button, nullptr);
    QTest::mouseClick(button, Qt::LeftButton);
    EXPECT_EQ(undone, 1);
}

TEST_F(NoticesTest, ErrorsStayUntilTheyAreClosed) {
    stack.add({Notice::Kind::kError, "cannot write the note", {}, {}});
    for (int i = 0; i < NoticeStack::kMostShown + 2; ++i) {
        stack.add({Notice::Kind::kInfo, QString("info %1").arg(i), {}, {}});
    }
    ASSERT_EQ(static_cast<int>(stack.cards().size()), NoticeStack::kMostShown);
    EXPECT_EQ(stack.cards().front()->notice().text, "cannot write the note");
    stack.closeNewest();
    EXPECT_EQ(stack.cards().front()->notice().kind, Notice::Kind::kError);
    QTest::keyClick(stack.cards().front(), Qt::Key_Escape);
    for (const ToastCard* card : stack.cards()) {
        EXPECT_NE(card->notice().kind, Notice::Kind::kError);
    }
}

TEST_F(NoticesTest, WhatWasDoneGoesByItself) {
    stack.add({Notice::Kind::kDone, "Copied", {}, {}});
    EXPECT_TRUE(QTest::qWaitFor([&] { return stack.cards().empty(); }, 20'000));
}

TEST_F(NoticesTest, TheSameSentenceStandsOnce) {
    stack.add({Notice::Kind::kError, "the daemon is away", {}, {}});
    stack.add({Notice::Kind::kError, "the daemon is away", {}, {}});
    EXPECT_EQ(stack.cards().size(), 1U);
}

TEST_F(NoticesTest, StandsInsideItsAreaAlsoWhenThatShrinks) {
    stack.add({Notice::Kind::kError, QString(300, 'x') + " " + QString(200, 'y'), {}, {}});
    area.resize(400, 300);
    QCoreApplication::processEvents();
    EXPECT_TRUE(area.rect().contains(stack.geometry()));
}

TEST_F(NoticesTest, StandsAboveAFootThatIsInSight) {
    QWidget foot(&area);
    foot.setObjectName(QLatin1String(NoticeStack::kFoot));
    foot.setGeometry(0, 540, 900, 60);
    foot.show();
    stack.add({Notice::Kind::kError, "the daemon is away", {}, {}});
    EXPECT_LE(stack.geometry().bottom(), 540) << "its buttons are free";
    foot.hide();
    stack.place();
    EXPECT_GT(stack.geometry().bottom(), 540);
}

}  // namespace
}  // namespace millrace::gui

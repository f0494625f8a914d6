#include "app/gui/widgets/live/log_view.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QLayout>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

#include "app/gui/widgets/live/log_canvas.h"
#include "app/gui/widgets/panels.h"
#include "tests/support/watch_scene.h"

namespace millrace::gui {
namespace {

struct LogViewTest : testing::Test {
    LogViewTest() {
        view.setModel(&model);
        view.resize(900, 400);
        view.show();
    }
    void add(int first, int count) { model.append(client::sceneLog(run, first, count)); }
    LogCanvas* canvas() { return view.findChild<LogCanvas*>(); }
    QLineEdit* field() { return view.findChild<QLineEdit*>(); }
    values::RunSummary run =
        client::sceneRun("r-1", "a", values::RunState::kRunning, 1'700'000'000'000);
    LogModel model;
    LogView view;
};

TEST_F(LogViewTest, FollowsTheNewestLineUntilSomebodyScrollsUp) {
    add(0, 500);
    EXPECT_TRUE(view.isFollowing());
    const int bottom = view.topRow();
    EXPECT_GT(bottom, 400);
    QTest::keyClick(canvas(), Qt::Key_PageUp);
    EXPECT_FALSE(view.isFollowing());
    const int top = view.topRow();
    add(500, 500);
    EXPECT_EQ(view.topRow(), top) << "what is read stays in its place";
    QTest::keyClick(canvas(), Qt::Key_End);
    EXPECT_TRUE(view.isFollowing());
    EXPECT_GT(view.topRow(), 900);
}

TEST_F(LogViewTest, KeepsItsPlaceWhenOldLinesLeave) {
    LogModel small(LogModel::Options{.numLinesMax = 2'048, .bytesMax = 1 << 20}, nullptr);
    view.setModel(&small);
    small.append(client::sceneLog(run, 0, 2'000));
    QTest::keyClick(canvas(), Qt::Key_PageUp);
    const std::uint64_t sequence = small.row(view.topRow()).sequence;
    small.append(client::sceneLog(run, 2'000, 600));
    EXPECT_GT(small.numEvicted(), 0U);
    EXPECT_EQ(small.row(view.topRow()).sequence, sequence);
}

TEST_F(LogViewTest, OffersTheWorkersOfTheRunThatIsShown) {
    const auto lineOf = [](const char* worker) {
        values::LogLine line;
        line.worker = worker;
        line.text = "ready";
        return std::vector{line};
    };
    const auto offered = [this] {
        QStringList names;
        const QComboBox* workers = view.findChildren<QComboBox*>().back();
        for (int i = 0; i < workers->count(); ++i) {
            names << workers->itemText(i);
        }
        return names;
    };
    model.append(lineOf("rank-0"));
    EXPECT_EQ(offered(), QStringList({"All workers", "rank-0"}));
    LogModel other;
    other.append(lineOf("script"));
    view.setModel(&other);
    EXPECT_EQ(offered(), QStringList({"All workers", "script"}));
    view.setModel(&model);
}

TEST_F(LogViewTest, FiltersWhatIsTypedAndFindsInIt) {
    add(0, 300);
    field()->setText("slow split");
    QTest::keyClick(field(), Qt::Key_Return);
    model.finishFiltering();
    EXPECT_EQ(model.rowCount(), 13);
    EXPECT_EQ(canvas()->currentRow() >= 0, true);
    QTest::keyClick(field(), Qt::Key_Escape);
    model.finishFiltering();
    EXPECT_EQ(model.rowCount(), 300);
}

TEST_F(LogViewTest, TheNumberOfLinesIsNotCutWhereThereIsLittleRoom) {
    add(0, 300);
    view.resize(1, 400);
    view.layout()->activate();
    EXPECT_EQ(view.findChild<ElidedLabel*>()->text(), "300 lines");
}

TEST_F(LogViewTest, PausesWithSpaceAndCountsWhatComes) {
    add(0, 10);
    QTest::keyClick(canvas(), Qt::Key_Space);
    EXPECT_TRUE(model.isPaused());
    add(10, 7);
    EXPECT_EQ(model.rowCount(), 10);
    QTest::keyClick(canvas(), Qt::Key_Space);
    EXPECT_EQ(model.rowCount(), 17);
}

TEST_F(LogViewTest, CopiesTheSelectedLines) {
    add(0, 3);
    QSignalSpy copied(&view, &LogView::copied);
    QTest::keyClick(canvas(), Qt::Key_A, Qt::ControlModifier);
    QTest::keyClick(canvas(), Qt::Key_C, Qt::ControlModifier);
    ASSERT_EQ(copied.size(), 1);
    EXPECT_EQ(copied.at(0).at(0).toString(), "Copied 3 lines of the log.");
    EXPECT_EQ(QApplication::clipboard()->text().count('\n'), 3);
    EXPECT_TRUE(QApplication::clipboard()->text().contains("rank-0"));
}

TEST_F(LogViewTest, GoesToTheNextErrorWithE) {
    add(0, 300);
    QTest::keyClick(canvas(), Qt::Key_Home);
    QTest::keyClick(canvas(), Qt::Key_E);
    EXPECT_EQ(canvas()->currentRow(), 40);
    QTest::keyClick(canvas(), Qt::Key_E);
    EXPECT_EQ(canvas()->currentRow(), 101);
    QTest::keyClick(canvas(), Qt::Key_E, Qt::ShiftModifier);
    EXPECT_EQ(canvas()->currentRow(), 40);
}

TEST_F(LogViewTest, WrapsLongLinesOfAnyScript) {
    values::LogLine line;
    line.worker = "rank-0";
    for (const char* text : {"\x1b[31mred\x1b[0m", "日本語のとても長い行", "\t", ""}) {
        line.text.clear();
        for (int i = 0; i < 60; ++i) {
            line.text += text;
        }
        model.append(std::vector{line});
    }
    QTest::keyClick(canvas(), Qt::Key_W);
    EXPECT_TRUE(view.isWrapped());
    for (int width : {320, 900}) {
        view.resize(width, 300);
        EXPECT_FALSE(view.grab().isNull());
    }
    view.resize(900, 900);
    EXPECT_EQ(view.topRow(), 0) << "all of it fits";
    view.resize(320, 120);
    EXPECT_GT(view.topRow(), 0) << "the last line is at the bottom";
}

TEST_F(LogViewTest, ShowsControlsOfTheWritingDirectionInsteadOfObeyingThem) {
    const auto drawn = [](const char* text) {
        LogModel model;
        LogView view;
        view.setModel(&model);
        view.resize(900, 400);
        values::LogLine line;
        line.worker = "rank-0";
        line.text = text;
        model.append(std::vector{line});
        return view.grab().toImage();
    };
    EXPECT_EQ(drawn("lost \u202e0.1 \u2066done"), drawn("lost \ufffd0.1 \ufffddone"));
}

}  // namespace
}  // namespace millrace::gui

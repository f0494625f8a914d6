#include <QCompleter>
#include <QLineEdit>
#include <QPushButton>
#include <QStackedWidget>
#include <QToolButton>

#include "app/gui/widgets/panels.h"
#include "tests/unit/gui_runs/runs_fixture.h"

namespace millrace::gui {
namespace {

using ::testing::ElementsAre;

class RunsFilterTest : public RunsTest {
 protected:
    FilterBar& bar() { return page->filterBar(); }
    QLineEdit& line() { return *bar().findChild<SearchField*>(); }
    QToolButton* chip(const QString& word) {
        for (QToolButton* button : bar().findChildren<QToolButton*>()) {
            if (button->text().startsWith(word)) {
                return button;
            }
        }
        return nullptr;
    }
    QString emptyTitle() {
        for (EmptyState* state : page->findChildren<EmptyState*>()) {
            if (state->isVisible() && !page->details().isAncestorOf(state)) {
                return state->title()->text();
            }
        }
        return {};
    }
};

TEST_F(RunsFilterTest, SearchesWordsAtOnceWithoutTheDaemon) {
    open(20);
    const int asked = daemon.numCalls("parseFilter");
    QTest::keyClicks(&line(), "keep-10");
    EXPECT_EQ(page->rows().numMatching(), 4);
    EXPECT_EQ(daemon.numCalls("parseFilter"), asked);
    QTest::keyClick(&line(), Qt::Key_Escape);
    EXPECT_EQ(page->rows().numMatching(), 20);
}

TEST_F(RunsFilterTest, LetsTheDaemonReadAnExpression) {
    open(20);
    daemon.onFilter = [](const std::string&, const values::RunSummary& run) {
        return run.variation == "wide";
    };
    bar().setText("metrics.loss < 0.502");
    ASSERT_TRUE(until([&] { return page->rows().numMatching() == 4; }));
    EXPECT_EQ(daemon.lists().back().filter, "metrics.loss < 0.502");
    EXPECT_EQ(bar().error(), "");
    EXPECT_THAT(bar().history(), ElementsAre("metrics.loss < 0.502"));
}

TEST_F(RunsFilterTest, ShowsTheErrorAtItsPlaceAndKeepsWhatWasFound) {
    open(20);
    bar().setText("keep");
    const int before = page->rows().numMatching();
    daemon.onParseFilter = [](const std::string&) -> Result<values::FilterCheck> {
        return values::FilterCheck{
            false, "filter, character 1: unknown attribute 'stat'; did you mean 'state'?", 1};
    };
    bar().setText("stat = 'x'");
    ASSERT_TRUE(until([&] { return !bar().error().isEmpty(); }));
    EXPECT_TRUE(bar().error().contains("did you mean 'state'"));
    EXPECT_TRUE(bar().error().contains("character 1, at “stat = 'x'”"));
    EXPECT_EQ(bar().error().count("character"), 1);
    EXPECT_EQ(page->rows().numMatching(), before);
    bar().setText("");
    EXPECT_EQ(bar().error(), "");
    EXPECT_EQ(page->rows().numMatching(), 20);
}

TEST_F(RunsFilterTest, ShowsANameThatNoRunHasBesideWhatWasFound) {
    open(20);
    daemon.onParseFilter = [](const std::string& filter) -> Result<values::FilterCheck> {
        return values::FilterCheck{
            true, filter.find("auk") == std::string::npos ? "" : "no run has a metric 'auk'", 0};
    };
    daemon.onFilter = [](const std::string&, const values::RunSummary&) { return false; };
    bar().setText("metrics.auk > 1");
    ASSERT_TRUE(until([&] { return page->rows().numMatching() == 0; }));
    EXPECT_EQ(bar().error(), "no run has a metric 'auk'");
    bar().setText("metrics.auc > 1");
    ASSERT_TRUE(settle());
    EXPECT_EQ(bar().error(), "");
}

TEST_F(RunsFilterTest, KeepsWhatIsShownWhileAFilterIsBegun) {
    open(20);
    QTest::keyClicks(&line(), "state ");
    EXPECT_EQ(page->rows().numMatching(), 20);
    bar().setText("state of nothing");
    EXPECT_EQ(page->rows().numMatching(), 0) << "those are words";
}

TEST_F(RunsFilterTest, AsksAgainWhenRunsChange) {
    open(20);
    daemon.onFilter = [](const std::string&, const values::RunSummary& run) {
        return run.state == values::RunState::kFailed;
    };
    bar().setText("state = 'failed'");
    ASSERT_TRUE(until([&] { return page->rows().numMatching() == 1; }));
    daemon.setState("r-00001", values::RunState::kFailed);
    EXPECT_TRUE(until([&] { return page->rows().numMatching() == 2; }));
}

TEST_F(RunsFilterTest, GivesOnlyTheAnswerToTheLastText) {
    open(10);
    daemon.hang("parseFilter");
    bar().setText("metrics.loss < 1");
    ASSERT_TRUE(until([&] { return daemon.numHanging() > 0; }));
    bar().setText("wide");
    EXPECT_EQ(page->rows().numMatching(), 2);
    daemon.onFilter = [](const std::string&, const values::RunSummary&) { return false; };
    daemon.release("parseFilter");
    ASSERT_TRUE(settle());
    EXPECT_EQ(page->rows().numMatching(), 2);
}

TEST_F(RunsFilterTest, CompletesAKeyIntoTheLine) {
    open(5);
    QTest::keyClicks(&line(), "metrics.los");
    auto* completer = bar().findChild<QCompleter*>();
    ASSERT_NE(completer, nullptr);
    ASSERT_GT(completer->completionCount(), 0);
    Q_EMIT completer->activated(QStringLiteral("metrics.loss"));
    EXPECT_EQ(bar().text(), "metrics.loss ");
}

TEST_F(RunsFilterTest, RecallsTheLastFilters) {
    open(5);
    for (const char* text : {"keep", "wide"}) {
        bar().setText(text);
        QTest::keyClick(&line(), Qt::Key_Return);
    }
    bar().setText("draft");
    QTest::keyClick(&line(), Qt::Key_Up, Qt::AltModifier);
    EXPECT_EQ(bar().text(), "wide");
    QTest::keyClick(&line(), Qt::Key_Up, Qt::AltModifier);
    EXPECT_EQ(bar().text(), "keep");
    QTest::keyClick(&line(), Qt::Key_Down, Qt::AltModifier);
    QTest::keyClick(&line(), Qt::Key_Down, Qt::AltModifier);
    EXPECT_EQ(bar().text(), "draft");
}

TEST_F(RunsFilterTest, NarrowsByStateChips) {
    open(20);
    ASSERT_NE(chip("failed"), nullptr);
    EXPECT_TRUE(chip("failed")->text().endsWith("1"));
    EXPECT_FALSE(chip("queued")->isVisible()) << "no run waits";
    chip("failed")->click();
    EXPECT_THAT(page->rows().numMatching(), 1);
    chip("running")->click();
    EXPECT_EQ(page->rows().numMatching(), 2);
    chip("failed")->click();
    chip("running")->click();
    EXPECT_EQ(page->rows().numMatching(), 20);
}

TEST_F(RunsFilterTest, SaysWhatToDoWhereNothingIs) {
    open(0);
    EXPECT_EQ(emptyTitle(), "No runs yet");
    for (const values::RunDetail& run : client::sceneRuns(5, 1'800'000'000'000)) {
        daemon.putDetail(run);
    }
    ASSERT_TRUE(until([&] { return page->view().isVisible(); }));
    bar().setText("zebra");
    EXPECT_EQ(emptyTitle(), "No run matches");
    for (EmptyState* state : page->findChildren<EmptyState*>()) {
        for (QPushButton* button : state->findChildren<QPushButton*>()) {
            if (button->isVisible() && button->text() == "Clear the filter") {
                button->click();
            }
        }
    }
    EXPECT_TRUE(page->view().isVisible());
    EXPECT_EQ(bar().text(), "");
}

TEST_F(RunsFilterTest, SaysWhyThereIsNoDaemon) {
    daemon.goAway();
    makePage();
    bridge.connectTo("unix:/fake.sock");
    EXPECT_TRUE(until([&] { return emptyTitle() == "No daemon"; }));
}

TEST_F(RunsFilterTest, ShowsDeletedRunsAndRestoresThem) {
    open(10);
    daemon.removeRun("r-00004");
    ASSERT_TRUE(until([&] { return page->rows().rowOf("r-00004") < 0; }));
    bar().setDeletedShown(true);
    ASSERT_TRUE(until([&] { return page->rows().rowOf("r-00004") >= 0; }));
    EXPECT_THAT(shown(), ElementsAre("r-00004"));
    page->actions().restore({"r-00004"});
    EXPECT_TRUE(until([&] { return page->rows().rowCount() == 0; }));
    bar().setDeletedShown(false);
    EXPECT_TRUE(until([&] { return page->rows().rowOf("r-00004") >= 0; }));
}

}  // namespace
}  // namespace millrace::gui

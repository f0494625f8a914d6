#include "app/gui/pages/data/data_page.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_colors.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/models/spec/spec_document.h"
#include "app/gui/pages/data/data_table.h"
#include "app/gui/pages/data/dataset_view.h"
#include "app/gui/pages/data/steps_view.h"
#include "app/gui/widgets/panels.h"
#include "backend/core/mutex.h"
#include "tests/support/fake_daemon_client.h"
#include "tests/unit/gui_data/sample_replies.h"

namespace millrace::gui {
namespace {

constexpr int kLimitMs = 20'000;
constexpr const char* kSpec =
    "name: x\nvariations:\n  - {name: keep-30, set: {recipe.sample.keep: 0.3}}\n"
    "  - {name: no-spam, set: {}}\n";

class DataPageTest : public testing::Test {
 protected:
    DataPageTest() {
        daemon.onDataset = [this](const values::DatasetRequest& request) {
            MutexLock lock(mutex);
            datasets.push_back(request);
            return datasetAnswer;
        };
        daemon.onSteps = [this](const values::StepsRequest& request) {
            MutexLock lock(mutex);
            steps.push_back(request);
            return stepsAnswer;
        };
        bridge.connectTo("unix:/fake.sock");
    }
    void SetUp() override {
        ASSERT_TRUE(
            waitFor([this] { return bridge.link().state == session::LinkState::kConnected; }));
        page.resize(1300, 850);
        page.show();
    }
    void openSpec() {
        spec.open(kSpec, "/srv/me/spec.yaml", "/srv/me");
        ASSERT_TRUE(waitFor([this] { return page.isSettled() && bridge.isSettled(); }));
    }
    template <class Condition>
    bool waitFor(Condition condition) {
        return QTest::qWaitFor(condition, kLimitMs);
    }
    bool isSettled() {
        return waitFor([this] { return page.isSettled(); });
    }
    template <class T>
    T taken(const std::vector<T>& from) {
        MutexLock lock(mutex);
        return from.back();
    }
    StepsView& view() { return page.stepsView(); }

    Mutex mutex;
    Result<values::DatasetReply> datasetAnswer = sampleDataset();
    Result<values::StepsReply> stepsAnswer = sampleSteps();
    std::vector<values::DatasetRequest> datasets;
    std::vector<values::StepsRequest> steps;
    client::FakeDaemon daemon;
    DaemonBridge bridge{[this](const std::string& a) { return daemon.makeClient(a); }};
    RunTable runs;
    RunColors colors;
    SpecDocument spec;
    DataPage page{PageContext{bridge, runs, colors, spec}};
};

TEST_F(DataPageTest, AsksNothingWhileNothingIsOpenAndSaysWhatToDo) {
    EXPECT_TRUE(isSettled());
    EXPECT_EQ(daemon.numCalls("dataset"), 0);
    auto* empty = page.findChild<EmptyState*>();
    ASSERT_NE(empty, nullptr);
    EXPECT_EQ(empty->title()->text(), "No dataset is open");
}

TEST_F(DataPageTest, ShowsTheDatasetAndTheStepsOfTheOpenSpec) {
    openSpec();
    EXPECT_EQ(taken(datasets).spec.baseDir, "/srv/me");
    EXPECT_TRUE(taken(datasets).paths.empty());
    EXPECT_EQ(taken(steps).spec.text, kSpec);
    EXPECT_EQ(page.datasetView().columnsTable()->model()->rowCount(), 4);
    EXPECT_EQ(page.datasetView().filesTable()->model()->rowCount(), 3);
    EXPECT_EQ(view().numSteps(), 5);
    EXPECT_EQ(view().current(), 1) << "the first step of the recipe";
    EXPECT_EQ(view().summary()->text(), "keep-good removed 1 of 4 rows.");
    EXPECT_EQ(page.problem(), "");
}

TEST_F(DataPageTest, AsksOnceForManyKeysInTheEditor) {
    openSpec();
    const int before = daemon.numCalls("steps");
    for (int i = 0; i < 20; ++i) {
        spec.setText(QString(kSpec) + QString(i, ' '));
    }
    ASSERT_TRUE(isSettled());
    EXPECT_EQ(daemon.numCalls("steps"), before + 1);
}

TEST_F(DataPageTest, AsksNothingWhileItIsHidden) {
    page.hide();
    spec.open(kSpec, {}, "/srv/me");
    EXPECT_TRUE(isSettled());
    EXPECT_EQ(daemon.numCalls("dataset"), 0);
    page.show();
    EXPECT_TRUE(waitFor([this] { return daemon.numCalls("dataset") == 1; }));
}

TEST_F(DataPageTest, StepsAreWalkedByKeys) {
    openSpec();
    page.activateWindow();
    view().list()->setFocus();
    QTest::keyClick(view().list(), Qt::Key_BracketRight);
    EXPECT_EQ(view().current(), 2);
    EXPECT_EQ(view().summary()->text(), "spam is switched off: rows pass as they are.");
    QTest::keyClick(view().list(), Qt::Key_Down);
    EXPECT_EQ(view().current(), 3);
    EXPECT_EQ(view().summary()->text(), "movies added genres.");
    QTest::keyClick(view().list(), Qt::Key_BracketLeft);
    QTest::keyClick(view().list(), Qt::Key_BracketLeft);
    QTest::keyClick(view().list(), Qt::Key_BracketLeft);
    QTest::keyClick(view().list(), Qt::Key_BracketLeft);
    EXPECT_EQ(view().current(), 0);
    EXPECT_FALSE(view().beforeTable()->isVisible()) << "no rows are shown before the dataset's own";
}

TEST_F(DataPageTest, AnotherSampleIsReadFromElsewhere) {
    openSpec();
    page.activateWindow();
    view().list()->setFocus();
    const int before = daemon.numCalls("steps");
    QTest::keyClick(view().list(), Qt::Key_N);
    ASSERT_TRUE(waitFor([&] { return daemon.numCalls("steps") == before + 1; }));
    EXPECT_LT(taken(steps).split, 12);
    EXPECT_LE(taken(steps).firstRow, 4000 - 50);
    EXPECT_TRUE(isSettled());
}

TEST_F(DataPageTest, AVariationIsAskedForByItsName) {
    openSpec();
    const auto boxes = page.findChildren<QComboBox*>();
    QComboBox* variation = boxes.front();
    ASSERT_EQ(variation->count(), 3);
    EXPECT_EQ(variation->itemText(2), "no-spam");
    variation->setCurrentIndex(2);
    Q_EMIT variation->activated(2);
    ASSERT_TRUE(waitFor([this] { return taken(steps).variation == "no-spam"; }));
}

TEST_F(DataPageTest, APathIsReadInsteadOfTheSpec) {
    openSpec();
    page.showPath(" other/*.parquet ");
    ASSERT_TRUE(waitFor([this] { return !taken(datasets).paths.empty(); }));
    EXPECT_THAT(taken(datasets).paths, testing::ElementsAre("other/*.parquet"));
    EXPECT_EQ(taken(datasets).baseDir, "/srv/me");
    page.showPath({});
    ASSERT_TRUE(waitFor([this] { return taken(datasets).paths.empty(); }));
}

TEST_F(DataPageTest, MistakesStandInlineWithTheirPlaceAndOldRowsStay) {
    openSpec();
    {
        MutexLock lock(mutex);
        values::DatasetReply broken;
        broken.errors = {{"no file matches 'ratngs.csv'; did you mean 'ratings.csv'?", "",
                          "spec.yaml", "dataset.path", 2, 10}};
        datasetAnswer = broken;
        stepsAnswer = invalidArgument("variation 'x' is not in the spec");
    }
    spec.setText(QString(kSpec) + "# changed\n");
    ASSERT_TRUE(isSettled());
    EXPECT_EQ(page.problem(),
              "spec.yaml:2:10: no file matches 'ratngs.csv'; did you mean 'ratings.csv'?");
    EXPECT_EQ(page.datasetView().columnsTable()->model()->rowCount(), 4);
    EXPECT_EQ(view().numSteps(), 5);
    bool isSaid = false;
    for (const MessageStrip* strip : view().findChildren<MessageStrip*>()) {
        isSaid = isSaid || strip->sentence() == "variation 'x' is not in the spec";
    }
    EXPECT_TRUE(isSaid);
}

TEST_F(DataPageTest, ColumnsAreFilteredByName) {
    openSpec();
    page.datasetView().filter()->setText("MN_2");
    ASSERT_EQ(page.datasetView().columnsTable()->model()->rowCount(), 1);
}

TEST_F(DataPageTest, RowsAreCopiedAsTsv) {
    openSpec();
    view().choose(3);
    QSignalSpy said(&page, &Page::said);
    view().copy();
    EXPECT_EQ(QApplication::clipboard()->text(),
              "userId\trating\tgenres\n7\t4.5\t[a]\n8\tnull\t[b, c]\n7\t3\t[]\n");
    EXPECT_EQ(said.count(), 1);
}

TEST_F(DataPageTest, AnotherDaemonIsAskedAnew) {
    openSpec();
    const int before = daemon.numCalls("dataset");
    bridge.connectTo("unix:/fake.sock");
    EXPECT_TRUE(waitFor([&] { return daemon.numCalls("dataset") == before + 1; }));
    EXPECT_TRUE(isSettled());
}

TEST_F(DataPageTest, ItsStateSurvivesARestart) {
    QTemporaryDir folder;
    QSettings settings(folder.filePath("s.ini"), QSettings::IniFormat);
    openSpec();
    page.showPath("/data/x.parquet");
    ASSERT_TRUE(isSettled());
    page.saveState(settings);
    DataPage other(PageContext{bridge, runs, colors, spec});
    other.restoreState(settings);
    other.show();
    ASSERT_TRUE(waitFor([&] { return other.isSettled(); }));
    EXPECT_THAT(taken(datasets).paths, testing::ElementsAre("/data/x.parquet"));
}

}  // namespace
}  // namespace millrace::gui

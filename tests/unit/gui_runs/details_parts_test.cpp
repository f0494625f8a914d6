// The parts of a run's details, each alone.
#include <QLabel>
#include <QToolButton>

#include "app/gui/models/details/checkpoint_table.h"
#include "app/gui/pages/runs/details/checkpoint_section.h"
#include "app/gui/pages/runs/details/detail_reader.h"
#include "app/gui/pages/runs/details/details_panel.h"
#include "app/gui/pages/runs/details/receipt_section.h"
#include "app/gui/pages/runs/details/run_head.h"
#include "app/gui/pages/runs/details/run_tabs.h"
#include "app/gui/pages/runs/details/spec_section.h"
#include "app/gui/widgets/badge.h"
#include "app/gui/widgets/panels.h"
#include "tests/unit/gui_runs/runs_fixture.h"

namespace millrace::gui {
namespace {

using testing::ElementsAre;

class DetailsPartsTest : public RunsTest {
 protected:
    QWidget parent;
};

TEST_F(DetailsPartsTest, TheReaderReadsAtOnceAndLaterOnlyWhatIsNew) {
    load(5);
    DetailReader reader(bridge, nullptr);
    QSignalSpy read(&reader, &DetailReader::wasRead);
    reader.setRun("r-00001");
    reader.read(7);
    EXPECT_TRUE(reader.isReading());
    ASSERT_TRUE(until([&] { return read.count() == 1; }));
    EXPECT_EQ(reader.detail()->summary.id, "r-00001");
    const int numGets = daemon.numCalls("get");
    reader.runChanged(7);
    reader.runChanged(8);
    reader.rest();
    EXPECT_EQ(daemon.numCalls("get"), numGets) << "not again so soon";
    reader.runChanged(8);
    ASSERT_TRUE(until([&] { return read.count() == 2; }));
    reader.setRun("r-00002");
    EXPECT_EQ(reader.detail(), nullptr) << "what was read of another run";
}

TEST_F(DetailsPartsTest, TheReaderDoesNotTellOfARunThatIsNoLongerShown) {
    load(5);
    DetailReader reader(bridge, nullptr);
    QSignalSpy read(&reader, &DetailReader::wasRead), failed(&reader, &DetailReader::failed);
    daemon.hang("get");
    reader.setRun("r-00001");
    reader.read(1);
    ASSERT_TRUE(until([&] { return daemon.numHanging() > 0; }));
    reader.setRun("");
    daemon.release("get");
    ASSERT_TRUE(until([&] { return bridge.isSettled(); }));
    EXPECT_EQ(read.count() + failed.count(), 0);
    daemon.fail("get", unavailable("connection lost"));
    reader.setRun("r-00002");
    reader.read(1);
    ASSERT_TRUE(until([&] { return failed.count() == 1; }));
    EXPECT_TRUE(failed[0][0].toString().contains("onnection lost"));
    EXPECT_FALSE(reader.isReading());
}

TEST_F(DetailsPartsTest, TheHeadOffersWhatTheStateOfTheRunAllows) {
    load(5);
    RunActions actions(bridge, table, &parent);
    RunHead head(actions, &parent);
    const auto offered = [&](values::RunSummary run) {
        head.showRun(run);
        QStringList texts;
        for (const QToolButton* button : head.findChildren<QToolButton*>()) {
            if (button->isVisibleTo(&head)) {
                texts.append(button->text());
            }
        }
        return texts.join(", ");
    };
    values::RunSummary run = stored[0].summary;
    EXPECT_EQ(offered(run), "Watch, Launch again, Change and launch, Copy as CLI, Delete");
    run.state = values::RunState::kRunning;
    EXPECT_EQ(offered(run), "Watch, Stop, Launch again, Change and launch, Copy as CLI");
    run.state = values::RunState::kFailed;
    EXPECT_EQ(offered(run), "Watch, Resume, Launch again, Change and launch, Copy as CLI, Delete");
    run.deletedMs = 1'700'000'000'000;
    EXPECT_EQ(offered(run), "Launch again, Change and launch, Copy as CLI, Restore");
    run.purgedMs = run.deletedMs;
    EXPECT_EQ(offered(run), "Launch again, Change and launch, Copy as CLI")
        << "nothing is left to restore";
}

TEST_F(DetailsPartsTest, ARunThatComesToTheTableLaterIsShownThen) {
    load(5);
    RunActions actions(bridge, table, &parent);
    DetailsPanel panel(bridge, table, colors, actions, &parent);
    panel.setRun("r-late");
    EXPECT_FALSE(panel.tabs().isVisibleTo(&panel)) << "the list does not know it";
    values::RunSummary late = stored[0].summary;
    late.id = "r-late";
    table.apply(false, {late}, {});
    panel.refresh();
    EXPECT_TRUE(panel.tabs().isVisibleTo(&panel));
    table.apply(false, {}, {"r-late"});
    panel.refresh();
    EXPECT_FALSE(panel.tabs().isVisibleTo(&panel));
}

TEST_F(DetailsPartsTest, TheTabsTakeAReplyAndForgetItWithTheRun) {
    load(5);
    RunTabs tabs(bridge, colors, &parent);
    QStringList titles;
    for (int i = 0; i < tabs.count(); ++i) {
        titles.append(tabs.tabText(i));
    }
    EXPECT_EQ(titles.join(" "), "Overview Metrics Spec Receipt Environment Log Checkpoints Note");
    tabs.setRun("r-00001");
    tabs.showDetail(stored[1]);
    EXPECT_TRUE(tabs.receipt().hasReceipt());
    EXPECT_FALSE(tabs.spec().changes().empty());
    const int numCheckpoints = tabs.checkpoints().model().rowCount();
    EXPECT_GT(numCheckpoints, 0);
    tabs.setRun("r-00002");
    EXPECT_FALSE(tabs.receipt().hasReceipt());
    EXPECT_EQ(tabs.checkpoints().model().rowCount(), 0);
}

TEST_F(DetailsPartsTest, TheTabsRememberWhichOneIsOpen) {
    load(0);
    RunTabs tabs(bridge, colors, &parent);
    tabs.showTab(RunTabs::Tab::kReceipt);
    QTemporaryDir dir;
    QSettings settings(dir.filePath("tabs.ini"), QSettings::IniFormat);
    tabs.save(settings);
    RunTabs others(bridge, colors, &parent);
    others.restore(settings);
    EXPECT_EQ(others.tab(), RunTabs::Tab::kReceipt);
    settings.setValue("tab", 99);
    others.restore(settings);
    EXPECT_EQ(others.tab(), RunTabs::Tab::kOverview);
}

}  // namespace
}  // namespace millrace::gui

#include <QAbstractItemModelTester>
#include <QLineEdit>
#include <QTest>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/gui/models/palette_model.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/shell_commands.h"
#include "app/gui/widgets/shell/command_palette.h"

namespace millrace::gui {
namespace {

using ::testing::ElementsAre;

QStringList titles(const PaletteModel& model) {
    QStringList all;
    for (int row = 0; row < model.rowCount(); ++row) {
        all.append(model.index(row, 0).data().toString());
    }
    return all;
}

std::vector<PaletteEntry> entries() {
    return {{"Stop the selected run", "Watch", {}, {}, [] {}},
            {"Show sparklines", "Runs", {}, {}, [] {}},
            {"Go to Runs", "Window", {}, QKeySequence("Ctrl+2"), [] {}},
            {"movielens-dlrm", "Run", "r-81 running", {}, [] {}}};
}

TEST(FuzzyMatch, LettersMustStandInTheirOrder) {
    EXPECT_TRUE(fuzzyMatch("gtr", "Go to Runs").has_value());
    EXPECT_FALSE(fuzzyMatch("rtg", "Go to Runs").has_value());
    EXPECT_FALSE(fuzzyMatch("x", "").has_value());
    EXPECT_EQ(fuzzyMatch("  ", "anything")->score, 0);
}

TEST(FuzzyMatch, StartsOfWordsBeatLettersInTheMiddle) {
    EXPECT_GT(fuzzyMatch("sr", "Stop run")->score, fuzzyMatch("sr", "passer")->score);
    EXPECT_THAT(fuzzyMatch("gr", "Go to Runs")->places, ElementsAre(0, 6));
}

TEST(FuzzyMatch, WordsMayComeInAnyOrder) {
    EXPECT_TRUE(fuzzyMatch("run stop", "Stop the selected run").has_value());
}

TEST(PaletteModel, IsAGoodModelWhileItIsSearched) {
    PaletteModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setEntries(entries());
    model.setQuery("run");
    model.setQuery("nothing like this");
    EXPECT_EQ(model.rowCount(), 0);
    model.setQuery({});
    EXPECT_EQ(model.rowCount(), 4);
    model.setEntries({});
    EXPECT_EQ(model.rowCount(), 0);
}

TEST(PaletteModel, TheBestMatchStandsFirstAndGroupsAreSearchedToo) {
    PaletteModel model;
    model.setEntries(entries());
    model.setQuery("stop");
    EXPECT_EQ(titles(model).value(0), "Stop the selected run");
    model.setQuery("r-81");
    EXPECT_EQ(titles(model), QStringList{"movielens-dlrm"});
    model.setQuery("watch");
    EXPECT_EQ(titles(model).value(0), "Stop the selected run");
}

TEST(PaletteModel, WholeWordsBeatLettersHereAndThere) {
    PaletteModel model;
    model.setEntries({{"thirty-metrics-of-a-parent", "Run", "r-1 finished", {}, [] {}},
                      {"co-mp-a-r-e", "Run", "r-2 finished", {}, [] {}},
                      {"Search the log", "Watch", {}, {}, [] {}},
                      {"Take into the comparison", "Runs", {}, {}, [] {}},
                      {"Compare: take all runs out", "Runs", {}, {}, [] {}},
                      {"slow-job", "Run", "r-3 running", {}, [] {}}});
    model.setQuery("compar");
    EXPECT_THAT(titles(model).mid(0, 2),
                ElementsAre("Compare: take all runs out", "Take into the comparison"));
    model.setQuery("slow");
    EXPECT_EQ(titles(model), QStringList{"slow-job"}) << "not of letters of several texts";
}

TEST(PaletteModel, WhatWasUsedLatelyStandsFirstWithoutAQuery) {
    PaletteModel model;
    model.setEntries(entries());
    model.remember(3);
    model.setEntries(entries());
    EXPECT_EQ(titles(model).value(0), "movielens-dlrm");
}

TEST(PaletteModel, ShowsABoundedNumberOfRows) {
    PaletteModel model;
    std::vector<PaletteEntry> many(10'000);
    for (std::size_t i = 0; i < many.size(); ++i) {
        many[i].title = QString("movielens-dlrm / learning rate %1").arg(i);
        many[i].group = "Run";
        many[i].detail = QString("r-%1 finished").arg(i);
    }
    model.setEntries(std::move(many));
    model.setQuery("lens rate");
    EXPECT_EQ(model.rowCount(), PaletteModel::kMostShown);
}

TEST(CommandPalette, FindsByTypingAndRunsByReturn) {
    QWidget window;
    window.resize(900, 600);
    CommandPalette palette(&window);
    window.show();
    std::string done;
    std::vector<PaletteEntry> list = entries();
    list[1].run = [&] { done = "sparklines"; };
    palette.openWith(list);
    ASSERT_TRUE(palette.isVisible());
    QTest::keyClicks(palette.field(), "spark");
    EXPECT_EQ(palette.model().rowCount(), 1);
    QTest::keyClick(palette.field(), Qt::Key_Return);
    EXPECT_EQ(done, "sparklines");
    EXPECT_FALSE(palette.isVisible());
}

TEST(CommandPalette, ArrowsGoAroundAndEscapeChangesNothing) {
    QWidget window;
    window.resize(900, 600);
    CommandPalette palette(&window);
    window.show();
    std::string done;
    std::vector<PaletteEntry> list = entries();
    list[3].run = [&] { done = "run"; };
    palette.openWith(list);
    QTest::keyClick(palette.field(), Qt::Key_Escape);
    EXPECT_FALSE(palette.isVisible());
    EXPECT_EQ(done, "");
    palette.openWith(list);
    QTest::keyClick(palette.field(), Qt::Key_Up);
    QTest::keyClick(palette.field(), Qt::Key_Return);
    EXPECT_EQ(done, "run");
}

TEST(CommandPalette, ACommandThatIsOffIsNotRun) {
    QWidget window;
    CommandPalette palette(&window);
    window.show();
    bool wasRun = false;
    palette.openWith({{"Stop", "Runs", {}, {}, [&] { wasRun = true; }, false}});
    QTest::keyClick(palette.field(), Qt::Key_Return);
    EXPECT_FALSE(wasRun);
    EXPECT_TRUE(palette.isVisible());
}

TEST(PaletteEntries, HoldCommandsDaemonsAndRunsTheNewestFirst) {
    RunTable runs;
    values::RunSummary old, young;
    old.id = "r-1";
    old.name = "first";
    young.id = "r-2";
    young.name = "second";
    young.variation = "keep-30";
    runs.apply(true, {old, young}, {});
    KnownDaemons daemons("unix:/own.sock");
    ASSERT_TRUE(daemons.add("gpu-01:7443").ok());
    std::string openedRun, openedDaemon;
    CommandSources sources{
        {{"Runs", {{"Sort by loss", {}, [] {}, true}}}}, &runs, &daemons, {}, {}};
    sources.openRun = [&](const std::string& id) { openedRun = id; };
    sources.openDaemon = [&](const std::string& address) { openedDaemon = address; };
    const std::vector<PaletteEntry> all = paletteEntries(sources);
    ASSERT_EQ(all.size(), 5U);
    EXPECT_EQ(all[0].title, "Sort by loss");
    EXPECT_FALSE(all[1].isEnabled) << "the daemon that is connected";
    all[2].run();
    EXPECT_EQ(openedDaemon, "gpu-01:7443");
    EXPECT_EQ(all[3].title, "second / keep-30");
    all[3].run();
    EXPECT_EQ(openedRun, "r-2");
}

TEST(ShortcutGroups, HoldOnlyCommandsWithKeys) {
    const std::vector<ShortcutGroup> groups = shortcutGroups(
        {{"Runs",
          {{"Sort", {}, [] {}, true}, {"Delete", QKeySequence(Qt::Key_Delete), [] {}, true}}},
         {"Data", {{"Read", {}, [] {}, true}}}});
    ASSERT_EQ(groups.size(), 1U);
    ASSERT_EQ(groups[0].lines.size(), 1U);
    EXPECT_EQ(groups[0].lines[0].text, "Delete");
}

}  // namespace
}  // namespace millrace::gui

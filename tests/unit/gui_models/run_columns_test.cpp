#include "app/gui/models/runs/run_columns.h"

#include <QTemporaryDir>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/run_column.h"
#include "app/gui/models/runs/run_trends.h"

namespace millrace::gui {
namespace {

std::vector<QString> keysOf(const RunColumns& columns) {
    return columns.keys();
}

TEST(RunColumns, BeginWithStateAndNamePinned) {
    RunColumns columns;
    EXPECT_EQ(columns.numPinned(), 2);
    EXPECT_EQ(keysOf(columns)[0], "state");
    EXPECT_TRUE(columns.has("variation"));
    EXPECT_FALSE(columns.has("metric:eval.auc"));
    columns.reset({"eval.auc", "eval.calibration", "eval.normalized_entropy", "eval.log_loss"});
    EXPECT_TRUE(columns.has("best:eval.auc"));
    EXPECT_TRUE(columns.has("metric:eval.normalized_entropy"));
    EXPECT_FALSE(columns.has("metric:eval.calibration")) << "nobody knows which way is better";
    EXPECT_FALSE(columns.has("metric:eval.log_loss")) << "two are enough to begin with";
}

TEST(RunColumns, OpenOnTheEvaluationWhereThereIsOne) {
    RunColumns columns;
    EXPECT_EQ(keysOf(columns)[3], "trend:loss") << "without one the loss is all there is";
    columns.reset({"eval.auc"});
    EXPECT_EQ(keysOf(columns)[3], "metric:eval.auc");
    EXPECT_EQ(keysOf(columns)[4], "best:eval.auc");
    EXPECT_EQ(keysOf(columns)[5], "trend:eval.auc");
    EXPECT_TRUE(columns.has("metric:loss"));
}

TEST(RunColumns, HaveTheTitlesOfTheWords) {
    std::set<QString> titles;
    for (const session::Word* one : session::words()) {
        titles.insert(titleOf(*one));
        const RunColumnInfo facts = factsOf(one->key);
        if (facts.field >= 0) {
            EXPECT_EQ(facts.title, titleOf(*one)) << one->key;
        }
    }
    for (const QString& key : fieldKeys()) {
        EXPECT_TRUE(titles.contains(factsOf(key).title)) << key.toStdString();
    }
    EXPECT_EQ(factsOf("rate").title, titleOf(word::kRate));
    EXPECT_EQ(factsOf("host").title, "Node");
}

TEST(RunColumns, PinMoveAndRemove) {
    RunColumns columns;
    columns.setPinned("duration", true);
    EXPECT_EQ(columns.numPinned(), 3);
    EXPECT_EQ(keysOf(columns)[2], "duration");
    columns.move("duration", "state");
    EXPECT_EQ(keysOf(columns)[0], "duration");
    columns.move("duration", "variation");
    EXPECT_EQ(keysOf(columns)[0], "duration") << "pinned ones stay among themselves";
    columns.setPinned("duration", false);
    EXPECT_EQ(keysOf(columns)[2], "duration");
    columns.remove("duration");
    EXPECT_FALSE(columns.has("duration"));
    columns.add("param:batch.rows", "variation");
    EXPECT_EQ(keysOf(columns)[2], "param:batch.rows");
    const auto before = columns;
    columns.add("param:batch.rows");
    EXPECT_EQ(columns, before);
}

TEST(RunColumns, KeepTheLastOne) {
    RunColumns columns;
    for (const QString& key : columns.keys()) {
        columns.remove(key);
    }
    EXPECT_EQ(columns.shown().size(), 1U);
}

TEST(RunColumns, AreRememberedWithWidthsAndPins) {
    QTemporaryDir folder;
    QSettings settings(folder.filePath("s.ini"), QSettings::IniFormat);
    RunColumns columns, restored;
    columns.setPinned("rate", true);
    columns.setWidth("rate", 222);
    columns.add("tag:a|b");
    columns.save(settings);
    ASSERT_TRUE(restored.restore(settings));
    EXPECT_EQ(restored, columns);
}

TEST(RunColumns, DoWithoutSettingsThatCannotBeRead) {
    QTemporaryDir folder;
    QSettings settings(folder.filePath("s.ini"), QSettings::IniFormat);
    RunColumns columns;
    const RunColumns usual = columns;
    EXPECT_FALSE(columns.restore(settings));
    settings.setValue("columns", QStringList{"", "x|y", "wide|free|name", "80||"});
    EXPECT_FALSE(columns.restore(settings));
    EXPECT_EQ(columns, usual);
    settings.setValue("columns", QStringList{"-5|free|name", "80|free|name", "70|pinned|state"});
    ASSERT_TRUE(columns.restore(settings));
    EXPECT_THAT(columns.keys(), testing::ElementsAre("state", "name"));
    EXPECT_GE(columns.shown()[1].width, 40);
}

TEST(RunTrends, GiveUpTheOnesNotUsedForLongest) {
    RunTrends trends;
    for (std::size_t i = 0; i < RunTrends::kMostCurves; ++i) {
        trends.put("r-" + std::to_string(i), "loss", {{1.0}, 1, 1, true});
    }
    ASSERT_NE(trends.find("r-0", "loss"), nullptr);
    trends.put("r-new", "loss", {{2.0}, 1, 1, true});
    EXPECT_EQ(trends.size(), RunTrends::kMostCurves);
    EXPECT_NE(trends.find("r-0", "loss"), nullptr) << "it was looked at last";
    EXPECT_EQ(trends.find("r-1", "loss"), nullptr);
}

TEST(RunTrends, AreStaleWhenTheRunWentOn) {
    RunTrends trends;
    values::RunSummary run;
    run.id = "r-a";
    run.attempt = 1;
    run.progress.step = 10;
    run.state = values::RunState::kRunning;
    EXPECT_TRUE(trends.isStale(run, "loss"));
    trends.put("r-a", "loss", {{0.5}, 10, 1, false});
    EXPECT_FALSE(trends.isStale(run, "loss"));
    run.state = values::RunState::kFinished;
    EXPECT_TRUE(trends.isStale(run, "loss"));
    trends.put("r-a", "loss", {{0.5}, 10, 1, true});
    EXPECT_FALSE(trends.isStale(run, "loss"));
    run.attempt = 2;
    EXPECT_TRUE(trends.isStale(run, "loss"));
}

}  // namespace
}  // namespace millrace::gui

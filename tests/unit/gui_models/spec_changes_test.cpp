#include "app/gui/models/details/spec_changes.h"

#include <gtest/gtest.h>

#include "tests/support/runs_scene.h"

namespace millrace::gui {
namespace {

values::RunDetail runOf(const std::string& variation) {
    values::RunDetail run;
    run.specText = client::sceneSpec();
    run.summary.variation = variation;
    return run;
}

QString textAt(const values::RunDetail& run, int begin, int end) {
    return QString::fromStdString(run.specText).mid(begin, end - begin);
}

TEST(SpecChanges, FindWhatAVariationReplaces) {
    const values::RunDetail run = runOf("keep-30");
    const auto changes = changesOf(run);
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(changes[0].path, "recipe.negatives.keep");
    EXPECT_EQ(changes[0].before, "1.0");
    EXPECT_EQ(changes[0].after, "0.3");
    EXPECT_EQ(changes[0].origin, "variation keep-30");
    EXPECT_EQ(textAt(run, changes[0].begin, changes[0].end), "1.0");
    EXPECT_EQ(textAt(run, changes[0].changeBegin, changes[0].changeEnd),
              "recipe.negatives.keep: 0.3");
}

TEST(SpecChanges, FindAllKeysOfAVariation) {
    const auto changes = changesOf(runOf("wide"));
    ASSERT_EQ(changes.size(), 2U);
    EXPECT_EQ(changes[0].before, "16");
    EXPECT_EQ(changes[1].path, "train.learning_rate");
    EXPECT_EQ(changes[1].after, "0.001");
}

TEST(SpecChanges, TellSetsAndKeysThatTheTextDoesNotHave) {
    values::RunDetail run = runOf("");
    run.sets = {"batch.seed=8", "train.momentum=0.9"};
    const auto changes = changesOf(run);
    ASSERT_EQ(changes.size(), 2U);
    EXPECT_EQ(changes[0].origin, "--set");
    EXPECT_EQ(changes[0].before, "7");
    EXPECT_EQ(textAt(run, changes[0].begin, changes[0].end), "7");
    EXPECT_EQ(changes[1].before, "");
    EXPECT_EQ(changes[1].begin, -1);
}

TEST(SpecChanges, AreNoneForTheBaseAndForRubbish) {
    EXPECT_TRUE(changesOf(runOf("")).empty());
    EXPECT_TRUE(changesOf(runOf("unheard-of")).empty());
    values::RunDetail run;
    run.specText = "{[: \x01 not yaml";
    run.summary.variation = "keep-30";
    EXPECT_TRUE(changesOf(run).empty());
    run.specText.clear();
    EXPECT_TRUE(changesOf(run).empty());
}

TEST(SpecChanges, CountALineEndAsOneCharacter) {
    values::RunDetail run = runOf("keep-30");
    std::string text;
    for (const char c : run.specText) {
        text += c == '\n' ? "\r\n" : std::string(1, c);
    }
    const auto before = changesOf(run);
    run.specText = text;
    const auto after = changesOf(run);
    ASSERT_EQ(after.size(), 1U);
    EXPECT_EQ(after[0].begin, before[0].begin);
}

}  // namespace
}  // namespace millrace::gui

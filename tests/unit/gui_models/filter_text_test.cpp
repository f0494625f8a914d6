#include "app/gui/models/runs/filter_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::gui {
namespace {

const FilterNames kNames{{"loss", "eval.auc", "gpu/0"}, {"batch.rows"}, {"team"}};

FilterCompletion at(const QString& text) {
    const int cursor = static_cast<int>(text.indexOf('^'));
    QString plain = text;
    return completeFilter(plain.remove('^'), cursor, kNames);
}

TEST(FilterText, TellsWordsFromExpressions) {
    for (const char* words :
         {"", "keep-30", "in the loop", "is it good", "movielens dlrm like mine", "metricsfan",
          "since last week", "not mine", "(copy)"}) {
        EXPECT_FALSE(isFilterExpression(words)) << words;
    }
    for (const char* expression :
         {"metrics.loss < 0.5", "state = 'finished'", "name LIKE '%x%'", "note is not null",
          "name in ('a')", "metrics.", "tags.team", "params.\"a b\"", "since 7d",
          "(since yesterday", "not before '2026-03-01'"}) {
        EXPECT_TRUE(isFilterExpression(expression)) << expression;
    }
}

TEST(FilterText, KnowsWhatMayBecomeAnExpression) {
    for (const char* begun : {"", "sta", "state", "state ", "state no", "name lik", "metr", "since",
                              "sin", "not sta", "(cre", "seed is n", "end_time"}) {
        EXPECT_TRUE(isFilterStart(begun)) << begun;
    }
    for (const char* words : {"keep-30", "movielens", "state of", "state of affairs", "xname"}) {
        EXPECT_FALSE(isFilterStart(words)) << words;
    }
}

TEST(FilterText, CompletesKeysFromTheirBeginningFirst) {
    const FilterCompletion completion = at("metrics.l^");
    ASSERT_FALSE(completion.candidates.isEmpty());
    EXPECT_EQ(completion.candidates.front(), "metrics.loss");
    EXPECT_EQ(completion.start, 0);
    EXPECT_EQ(completion.length, 9);
    EXPECT_TRUE(at("auc^").candidates.contains("metrics.eval.auc"));
    EXPECT_TRUE(at("gpu^").candidates.contains("metrics.\"gpu/0\""));
    EXPECT_TRUE(at("state = 'failed' AND rows^").candidates.contains("params.batch.rows"));
}

TEST(FilterText, CompletesOperatorsValuesAndConjunctions) {
    EXPECT_TRUE(at("metrics.loss ^").candidates.contains("<="));
    EXPECT_FALSE(at("metrics.loss ^").candidates.contains("LIKE"));
    EXPECT_TRUE(at("name ^").candidates.contains("ILIKE"));
    EXPECT_TRUE(at("state = ^").candidates.contains("'running'"));
    EXPECT_EQ(at("state = 'fi^").candidates.value(0), "'finished'");
    EXPECT_THAT(at("metrics.loss < 0.5 ^").candidates, testing::ElementsAre("AND ", "OR "));
    EXPECT_TRUE(at("not (state = 'x' or ^").candidates.contains("name"));
    EXPECT_TRUE(at("since ^").candidates.contains("7d"));
    EXPECT_TRUE(at("created > ^").candidates.contains("yesterday"));
    EXPECT_TRUE(at("duration ^").candidates.contains(">="));
    EXPECT_TRUE(at("metrics.loss < 0.5 AND ^").candidates.contains("tags.team"));
    EXPECT_TRUE(at("state IN ('failed', ^").candidates.contains("'running'"));
    EXPECT_TRUE(at("metrics.loss < 0.5^").candidates.isEmpty()) << "a number is the user's";
}

TEST(FilterText, ReplacesOnlyTheWordAtTheCursor) {
    const FilterCompletion completion = at("state = 'failed' and na^ and x = 1");
    EXPECT_EQ(completion.start, 21);
    EXPECT_EQ(completion.length, 2);
    EXPECT_EQ(completion.candidates.front(), "name");
}

TEST(FilterText, SurvivesWhateverIsTyped) {
    for (const char* text : {"^", "'^", "\"^", "metrics.\"^", "===^", "(((^", ",,^", "a.b.c = ^ d",
                             "is not null^", "and and and^", "\t\n^"}) {
        const FilterCompletion completion = at(text);
        EXPECT_GE(completion.start, 0) << text;
        EXPECT_GE(completion.length, 0) << text;
    }
}

}  // namespace
}  // namespace millrace::gui

#include "backend/runs/run_filter.h"

#include <gtest/gtest.h>

namespace millrace::runs {
namespace {

std::string failureOf(std::string_view filter) {
    const Result<RunFilter> parsed = parseFilter(filter);
    return parsed.ok() ? "(parsed)" : std::string(messageOf(parsed.status()));
}

FilterClause onlyClause(std::string_view filter) {
    const Result<RunFilter> parsed = parseFilter(filter);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return parsed.ok() && parsed->clauses.size() == 1 ? parsed->clauses[0] : FilterClause{};
}

TEST(RunFilter, AnEmptyFilterMatchesEverything) {
    EXPECT_EQ(conditionOf(*parseFilter("  ")).text, "1");
}

TEST(RunFilter, ClausesAreJoinedByAndInAnyCaseAndATrailingAndIsTolerated) {
    const auto parsed =
        parseFilter("metrics.loss < 0.5 and params.lr = '0.1' AND tags.team='x' AND");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ASSERT_EQ(parsed->clauses.size(), 3U);
    EXPECT_EQ(parsed->clauses[0].entity, FilterEntity::kMetric);
    EXPECT_EQ(parsed->clauses[0].number, 0.5);
    EXPECT_EQ(parsed->clauses[1].strings, std::vector<std::string>{"0.1"});
    EXPECT_EQ(parsed->clauses[2].key, "team");
}

TEST(RunFilter, ABareNameIsAnAttributeAndAliasesAreResolved) {
    EXPECT_EQ(onlyClause("run_name = 'a'").key, "name");
    EXPECT_EQ(onlyClause("attr.user_id != 'b'").key, "owner");
    EXPECT_EQ(onlyClause("start_time >= 17").key, "created");
    EXPECT_EQ(onlyClause("`Run name` = 'c'").key, "name");
}

TEST(RunFilter, NamesMayHoldDotsAndQuotedNamesBlanksAndSlashes) {
    EXPECT_EQ(onlyClause("tags.mlflow.runName = 'a'").key, "mlflow.runName");
    EXPECT_EQ(onlyClause("metrics.\"val/loss\" < 1").key, "val/loss");
    EXPECT_EQ(onlyClause("metrics.`my loss` < -1e3").number, -1000);
}

TEST(RunFilter, AMetricWithASlashNeedsQuotes) {
    EXPECT_NE(failureOf("metrics.val/loss < 1").find("needs quotes"), std::string::npos);
}

TEST(RunFilter, InAndIsNullAreRead) {
    const FilterClause in = onlyClause("state IN ('failed', 'cancelled')");
    EXPECT_EQ(in.op, FilterOp::kIn);
    EXPECT_EQ(in.strings.size(), 2U);
    EXPECT_EQ(onlyClause("run_id not in ('a')").op, FilterOp::kNotIn);
    EXPECT_EQ(onlyClause("tags.team IS NULL").op, FilterOp::kIsNull);
    EXPECT_EQ(onlyClause("tags.team is not null").op, FilterOp::kIsNotNull);
}

TEST(RunFilter, AnUnknownAttributeNamesTheNearestOne) {
    EXPECT_EQ(failureOf("statee = 'failed'"),
              "filter, character 1: unknown attribute 'statee'; did you mean 'state'?");
}

TEST(RunFilter, AnUnknownEntityListsTheKnownOnes) {
    EXPECT_EQ(failureOf("name = 'x' AND label.x = 'y'"),
              "filter, character 16: unknown entity 'label'; known: metrics, params, tags, "
              "attributes");
}

TEST(RunFilter, AnUnknownStateIsRefusedWithAHint) {
    EXPECT_NE(failureOf("state = 'finishd'").find("did you mean 'finished'?"), std::string::npos);
}

TEST(RunFilter, MetricsTakeNumbersOnlyAndTextTakesQuotesOnly) {
    EXPECT_NE(failureOf("metrics.loss < 'x'").find("with a number"), std::string::npos);
    EXPECT_NE(failureOf("metrics.loss < nan").find("with a number"), std::string::npos);
    EXPECT_NE(failureOf("params.lr = 0.1").find("quoted text"), std::string::npos);
    EXPECT_NE(failureOf("params.lr < '0.1'").find("does not go with"), std::string::npos);
    EXPECT_NE(failureOf("metrics.loss LIKE '1'").find("does not go with"), std::string::npos);
}

TEST(RunFilter, WhatTheGrammarLacksIsRefused) {
    for (const char* text :
         {"name = 'a' OR name = 'b'", "(name = 'a')", "name == 'a'", "name <> 'a'", "name = 'a",
          "name =", "name", "'a' = name", "name = 'a', state = 'failed'", "name IS 'a'",
          "name IN 'a'", "name IN ('a'", "name NOT 'a'", "metrics. < 1", "AND name = 'a'"}) {
        EXPECT_FALSE(parseFilter(text).ok()) << text;
    }
}

TEST(RunFilter, ValuesNeverReachTheSqlText) {
    const SqlText sql = conditionOf(*parseFilter("tags.\"a'); DROP\" = \"x' OR 1=1\""));
    EXPECT_EQ(sql.text.find("DROP"), std::string::npos);
    EXPECT_EQ(sql.text.find("1=1"), std::string::npos);
    EXPECT_EQ(sql.values.size(), 2U);
}

TEST(RunFilter, OrderTakesOneKeyAnItemAndNoKeyTwice) {
    const auto keys = parseOrderBy({"metrics.loss desc", "name"});
    ASSERT_TRUE(keys.ok()) << keys.status();
    EXPECT_TRUE((*keys)[0].isDescending);
    EXPECT_FALSE((*keys)[1].isDescending);
    EXPECT_FALSE(parseOrderBy({"name, state"}).ok());
    EXPECT_FALSE(parseOrderBy({"name UP"}).ok());
    EXPECT_FALSE(parseOrderBy({"name", "run_name DESC"}).ok());
}

}  // namespace
}  // namespace millrace::runs

#include "backend/search/run_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::search {
namespace {

constexpr std::int64_t kNowMs = 1'700'000'000'000;  // 2023-11-14T22:13:20Z

std::string failureOf(std::string_view filter) {
    const Result<RunFilter> parsed = parseFilter(filter, kNowMs);
    return parsed.ok() ? "(parsed)" : std::string(messageOf(parsed.status()));
}

FilterClause onlyClause(std::string_view filter) {
    const Result<RunFilter> parsed = parseFilter(filter, kNowMs);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return parsed.ok() && parsed->kind == RunFilter::Kind::kClause ? parsed->clause
                                                                   : FilterClause{};
}

// The tree with brackets: (a & b), (a | b), !a.
std::string treeOf(const RunFilter& filter) {
    if (filter.kind == RunFilter::Kind::kClause) {
        return filter.clause.key;
    }
    if (filter.kind == RunFilter::Kind::kNot) {
        return "!" + treeOf(filter.parts.front());
    }
    std::string text;
    for (const RunFilter& part : filter.parts) {
        text += text.empty() ? "" : filter.kind == RunFilter::Kind::kAll ? " & " : " | ";
        text += treeOf(part);
    }
    return "(" + text + ")";
}

std::string treeOf(std::string_view filter) {
    const Result<RunFilter> parsed = parseFilter(filter, kNowMs);
    return parsed.ok() ? treeOf(*parsed) : std::string(messageOf(parsed.status()));
}

TEST(RunFilter, AnEmptyFilterMatchesEverything) {
    EXPECT_EQ(treeOf("  "), "()");
}

TEST(RunFilter, ClausesAreJoinedByAndInAnyCaseAndATrailingAndIsTolerated) {
    const auto parsed =
        parseFilter("metrics.loss < 0.5 and params.lr = '0.1' AND tags.team='x' AND", kNowMs);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ASSERT_EQ(parsed->parts.size(), 3U);
    EXPECT_EQ(parsed->parts[0].clause.entity, FilterEntity::kMetric);
    EXPECT_EQ(parsed->parts[0].clause.numbers, std::vector<double>{0.5});
    EXPECT_EQ(parsed->parts[1].clause.strings, std::vector<std::string>{"0.1"});
    EXPECT_EQ(parsed->parts[2].clause.key, "team");
}

TEST(RunFilter, AndBindsCloserThanOrAndNotClosest) {
    EXPECT_EQ(treeOf("step = 1 or epoch = 2 and seed = 3"), "(step | (epoch & seed))");
    EXPECT_EQ(treeOf("(step = 1 OR epoch = 2) AND seed = 3"), "((step | epoch) & seed)");
    EXPECT_EQ(treeOf("NOT step = 1 AND epoch = 2"), "(!step & epoch)");
    EXPECT_EQ(treeOf("not (step = 1 and not(epoch = 2))"), "!(step & !epoch)");
    EXPECT_EQ(treeOf("((step is null))"), "step");
}

TEST(RunFilter, HowDeepAndHowLongIsBounded) {
    const std::string deep(100'000, '(');
    EXPECT_EQ(failureOf(deep), "filter, character 41: brackets and NOT are at most 40 deep");
    std::string longest = "step = 1";
    for (int i = 1; i < 200; ++i) {
        longest += " or step = 1";
    }
    EXPECT_EQ(failureOf(longest), "(parsed)");
    EXPECT_NE(failureOf(longest + " or step = 1").find("at most 200 clauses"), std::string::npos);
}

TEST(RunFilter, DaysAreWholeAndAgesAreCountedFromNow) {
    const auto bounds = [](std::string_view filter) {
        const RunFilter parsed = parseFilter(filter, kNowMs).value_or(RunFilter{});
        std::string text;
        for (const RunFilter& part :
             parsed.parts.empty() ? std::vector<RunFilter>{parsed} : parsed.parts) {
            const bool isLess = part.clause.op == FilterOp::kLess;
            text += (isLess                                 ? " <"
                     : part.clause.op == FilterOp::kGreater ? " >"
                                                            : " >=") +
                    std::to_string(static_cast<std::int64_t>(part.clause.numbers.at(0)));
        }
        return text;
    };
    EXPECT_EQ(bounds("created = '2023-11-14'"), " >=1699920000000 <1700006400000");
    EXPECT_EQ(bounds("created > '2023-11-14'"), " >=1700006400000");
    EXPECT_EQ(bounds("created >= 2023-11-14"), " >=1699920000000");
    EXPECT_EQ(bounds("ended <= '2023-11-14'"), " <1700006400000");
    EXPECT_EQ(bounds("created != today"), " <1699920000000 >=1700006400000");
    EXPECT_EQ(bounds("since yesterday"), " >=1699833600000");
    EXPECT_EQ(bounds("since 7d"), " >=1699395200000");
    EXPECT_EQ(bounds("before '2h ago'"), " <1699992800000");
    EXPECT_EQ(bounds("started > 90m ago"), " >1699994600000");
    EXPECT_EQ(onlyClause("duration > 1.5h").numbers, std::vector<double>{5'400});
    EXPECT_NE(failureOf("since 7x").find("'7x' is not a time; write '2026-03-01'"),
              std::string::npos);
    EXPECT_NE(failureOf("duration > long").find("is not a duration"), std::string::npos);
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
    EXPECT_EQ(onlyClause("metrics.`my loss` < -1e3").numbers, std::vector<double>{-1000});
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

TEST(RunFilter, AWordOfListsThatIsAMetricNamesTheMetric) {
    EXPECT_THAT(failureOf("auc > 0.7"), ::testing::HasSubstr("a metric is metrics.eval.auc"));
    EXPECT_THAT(failureOf("loss < 0.4"), ::testing::HasSubstr("a metric is metrics.loss"));
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
    EXPECT_NE(failureOf("params.lr = x").find("a number or quoted text"), std::string::npos);
    EXPECT_NE(failureOf("params.lr < '0.1'").find("without quotes"), std::string::npos);
    EXPECT_NE(failureOf("params.lr like 5").find("quoted text"), std::string::npos);
    EXPECT_NE(failureOf("params.lr in (1, 'x')").find("not both"), std::string::npos);
    EXPECT_NE(failureOf("name > 'a'").find("does not go with"), std::string::npos);
    EXPECT_NE(failureOf("name = 5").find("quoted text"), std::string::npos);
    EXPECT_NE(failureOf("metrics.loss LIKE '1'").find("does not go with"), std::string::npos);
}

TEST(RunFilter, WhatTheGrammarLacksIsRefused) {
    for (const char* text : {"name = 'a' OR",
                             "OR name = 'a'",
                             "(name = 'a'",
                             "name = 'a')",
                             "()",
                             "NOT",
                             "not ()",
                             "name = 'a' name = 'b'",
                             "created IN ('2026-03-01')",
                             "name == 'a'",
                             "name <> 'a'",
                             "name = 'a",
                             "name =",
                             "name",
                             "'a' = name",
                             "name = 'a', state = 'failed'",
                             "name IS 'a'",
                             "name IN 'a'",
                             "name IN ('a'",
                             "name NOT 'a'",
                             "metrics. < 1",
                             "AND name = 'a'"}) {
        EXPECT_FALSE(parseFilter(text, kNowMs).ok()) << text;
    }
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
}  // namespace millrace::search

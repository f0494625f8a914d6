// What a model's inputs are made of: equal where, and only where, equal rows give equal values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/spec/column_origins.h"
#include "backend/spec/spec_reader.h"

namespace millrace::spec {
namespace {

using ::testing::ElementsAre;

RunSpec specWith(const std::string& steps, const std::string& features = "dense: [age, ratio]") {
    const std::string text = "dataset: {path: a.parquet}\nrecipe:\n" + steps +
                             "labels: {y: \"y > 0\"}\nfeatures: {" + features +
                             "}\nembeddings: {user: {rows: 64, features: [user]}}\n";
    ResolvedSpec read = readSpec(text);
    for (const SpecError& error : read.errors) {
        ADD_FAILURE() << error.text("spec") << "\n" << text;
    }
    return read.spec.value_or(RunSpec());
}

Json inputsWith(const std::string& steps,
                const std::string& features = "dense: [age, ratio], ids: [user]") {
    const RunSpec spec = specWith(steps, features);
    return inputsOf(spec, spec.recipe);
}

std::vector<std::string> linesOf(const Json& inputs, std::size_t at) {
    return inputs.at(at).at("steps").get<std::vector<std::string>>();
}

constexpr char kInputSteps[] =
    "  - filter: age > 0\n"
    "  - join: {table: data/items.parquet, on: item, take: [price, colour], missing: drop}\n"
    "  - derive: {age: age / 10, other: ln(price)}\n"
    "  - derive: {ratio: age/price}\n"
    "  - weight: price\n";

TEST(Inputs, NameTheStepsThatEachFeatureComesOutOf) {
    const Json told = inputsWith(kInputSteps);
    ASSERT_EQ(told.size(), 3U);
    EXPECT_THAT(linesOf(told, 0), ElementsAre("derive: {age: (age / 10)}"));
    EXPECT_THAT(linesOf(told, 1),
                ElementsAre("join: {table: items.parquet, on: item, take: [price]}",
                            "derive: {age: (age / 10)}", "derive: {ratio: (age / price)}"));
    EXPECT_THAT(linesOf(told, 2), ElementsAre());
    EXPECT_EQ(told[0]["kind"], "dense");
    EXPECT_EQ(told[0]["fill"], 0);
    EXPECT_EQ(told[2]["name"], "user");
    EXPECT_EQ(told[2]["rows"], 64);
}

TEST(Inputs, OfCountedVocabulariesNameTheirValues) {
    RunSpec spec = specWith("  - weight: 1\n", "ids: [user]");
    spec.embeddings["user"].vocabulary = VocabularySpec();
    spec.embeddings["user"].vocabulary->hash = "ab12";
    const Json told = inputsOf(spec, spec.recipe);
    EXPECT_EQ(told[0]["vocabulary"], "of counted values, ab12");
}

TEST(Inputs, AreEqualWhereNoValueDiffers) {
    const Json told = inputsWith(kInputSteps);
    EXPECT_EQ(inputsWith("  - {name: bought, join: {table: /srv/items.parquet, on: item, take: "
                         "{price: price}, missing: \"null\"}}\n"
                         "  - sample: {keep: 0.5}\n"
                         "  - derive: {age: \"age/10\"}\n"
                         "  - {name: off, enabled: false, derive: {age: age + 1}}\n"
                         "  - derive: {ratio: \"age / price\", unused: 3}\n"),
              told);
}

TEST(Inputs, DifferWhereAValueMay) {
    const Json told = inputsWith(kInputSteps);
    const auto changed = [](const std::string& from, const std::string& to) {
        std::string steps = kInputSteps;
        steps.replace(steps.find(from), from.size(), to);
        return inputsWith(steps);
    };
    EXPECT_NE(changed("age / 10", "age / 11"), told);
    EXPECT_NE(changed("age/price", "price/age"), told);
    EXPECT_NE(changed("items.parquet", "goods.parquet"), told);
    EXPECT_NE(changed("on: item", "on: thing"), told);
    EXPECT_NE(changed("missing: drop", "on_duplicate: first"), told);
    EXPECT_NE(inputsWith(kInputSteps, "dense: [ratio, age], ids: [user]"), told);
    EXPECT_NE(inputsWith(kInputSteps, "dense: [{column: age, fill: 1}, ratio], ids: [user]"), told);
    EXPECT_NE(inputsWith(std::string(kInputSteps) + "  - derive: {user: user + 1}\n"), told);
}

TEST(Inputs, AreWrittenWithTheQuotesThatTheyNeed) {
    const Json told = inputsWith(
        "  - derive: {age: \"coalesce(\\\"the age\\\", \\\"null\\\", item, length('say \\\"x\\\", "
        "it''s'))\"}\n");
    EXPECT_THAT(linesOf(told, 0),
                ElementsAre(::testing::HasSubstr(
                    R"(coalesce(\"the age\", \"null\", item, length('say \"x\", it''s')))")));
}

TEST(Inputs, KnowTheRevisionsOfFunctions) {
    const Json told = inputsWith("  - derive: {age: item * 2}\n  - derive: {ratio: ln(age)}\n");
    EXPECT_THAT(linesOf(told, 1), ElementsAre("derive: {age: (item * 2)}",
                                              ::testing::AllOf(::testing::HasSubstr("ln(age)"),
                                                               ::testing::HasSubstr("revision"))));
}

TEST(Inputs, OfSequencesKnowWhichActionsAreKept) {
    const auto of = [](const std::string& last) {
        return inputsWith("  - derive: {times: times}\n",
                          "ids: [user], sequences: {seen: {columns: [items, times], time: times, "
                          "before: now, last: " +
                              last + "}}");
    };
    const Json told = of("5");
    ASSERT_EQ(told.size(), 3U);
    EXPECT_EQ(told[1]["name"], "seen.items");
    EXPECT_EQ(told[1]["of"], "time: times, before: now, last: 5");
    EXPECT_THAT(linesOf(told, 1), ElementsAre("derive: {times: times}"));
    EXPECT_NE(of("6"), told);
}

}  // namespace
}  // namespace millrace::spec

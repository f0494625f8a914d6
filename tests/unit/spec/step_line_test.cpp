#include <gtest/gtest.h>

#include "backend/spec/spec_reader.h"
#include "backend/spec/step.h"
#include "tests/unit/spec/movielens_spec.h"

namespace millrace::spec {
namespace {

RunSpec specOfSteps(const std::string& steps) {
    const std::string text = "dataset: {path: a.csv}\nrecipe:\n" + steps +
                             "labels: {y: \"y > 0\"}\nfeatures: {dense: [x]}\n";
    ResolvedSpec read = readSpec(text);
    for (const SpecError& error : read.errors) {
        ADD_FAILURE() << error.text("spec") << "\n" << text;
    }
    return read.spec.value_or(RunSpec());
}

TEST(StepLine, ReadsAsAPersonWroteIt) {
    const RunSpec spec = *readSpec(kMovieLens).spec;
    EXPECT_EQ(spec.recipe[0].line(), "filter: rating is not null and userId <> 0");
    EXPECT_EQ(spec.recipe[1].line(), "anti_join: {table: spam_users.csv, on: userId}");
    EXPECT_EQ(spec.recipe[4].line(),
              "sample: {where: rating < 4.0, keep: 1.0, weight: inverse, by: [userId, movieId]}");
}

TEST(StepLine, GivesTheSameStepWhenItIsReadAgain) {
    const RunSpec first = specOfSteps(
        "  - filter: \"x > 0 and s = ': # {'\"\n"
        "  - weight: case when x > 1 then 2 else 0.5 end\n"
        "  - derive: {a: \"split(s, ',')\", b: x + 1}\n"
        "  - join: {table: t.csv, on: [k, l], take: [g, h], missing: drop, on_duplicate: first}\n"
        "  - semi_join: {table: \"t, 2.csv\", on: {k: other}}\n"
        "  - sample: {where: \"list_contains(a, '[')\", keep: 0.125, by: [x], redraw: each_epoch}\n"
        "  - hash: {column: s, as: h, buckets: 64, seed: 9}\n"
        "  - bucketize: {column: x, boundaries: [1, 2.5]}\n"
        "  - truncate: {column: a, length: 3, from: last}\n"
        "  - select: [x, y, a]\n");
    ASSERT_EQ(first.recipe.size(), 10);
    for (const Step& step : first.recipe) {
        RunSpec one;
        one.recipe = {step};
        const RunSpec again = specOfSteps("  - {name: " + step.name + ", " + step.line() + "}\n");
        EXPECT_EQ(again.toJson()["recipe"], one.toJson()["recipe"]) << step.line();
    }
}

TEST(ReadDataset, IsReadBesideErrorsElsewhere) {
    const auto section = readDataset(
        "dataset: {path: \"a.csv\", csv_split_rows: 9, where: \"x >\"}\nmodle: 3\nlabels: 7\n");
    ASSERT_TRUE(section.has_value());
    EXPECT_EQ(section->path, std::vector<std::string>{"a.csv"});
    EXPECT_EQ(section->csvSplitRows, 9);
    EXPECT_EQ(section->format, "csv");
    EXPECT_EQ(section->where, "");
}

TEST(ReadDataset, IsReadUpToALineThatBreaksOff) {
    for (const char* rest :
         {"recipe:\n  - {filter: x > 1\n", "labels: [\n", "x: \"open\n", "\t- a\n"}) {
        const auto section = readDataset(std::string("dataset: {path: a.parquet}\n") + rest);
        ASSERT_TRUE(section.has_value()) << rest;
        EXPECT_EQ(section->format, "parquet");
    }
}

TEST(ReadDataset, SetsAreApplied) {
    SpecOptions options;
    options.sets = {"dataset.path=b.csv", "nowhere.at.all=1"};
    EXPECT_EQ(readDataset("dataset: {path: a.csv}\n", options)->path,
              std::vector<std::string>{"b.csv"});
}

TEST(ReadDataset, IsNothingWhenTheSectionIsWrongOrMissing) {
    for (const char* text :
         {"", "[]", "3", "dataset: 3\n", "dataset: {}\n", "labels: {y: y}\n",
          "dataset: {pth: a.csv}\n", "dataset: {path: a.csv, csv_split_rows: x}\n",
          "dataset: {path: [\n"}) {
        EXPECT_FALSE(readDataset(text).has_value()) << text;
    }
}

}  // namespace
}  // namespace millrace::spec

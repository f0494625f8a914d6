#include "backend/recipe/staged_recipe.h"

#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::recipe {
namespace {

using test::Bench;
using test::ints;
using test::kNull;
using test::MemoryColumns;
using test::texts;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::shared_ptr<const StagedRecipe> compiled(Bench& bench, MemoryColumns& data) {
    auto recipe = StagedRecipe::compile(
        bench.spec, data.schema(),
        diskTables({bench.dir.path(), std::make_shared<dataset::MetadataCache>()}), nullptr);
    EXPECT_TRUE(recipe.ok()) << recipe.status();
    return recipe.ok() ? *recipe : nullptr;
}

StagedRows stagesOf(Bench& bench, MemoryColumns& data, std::int64_t skip = 0,
                    std::int64_t rows = 1000) {
    const SplitInput split{0, bench.relativePath, bench.firstRow, data.rows(), &data};
    auto staged = compiled(bench, data)->run(split, skip, rows);
    EXPECT_TRUE(staged.ok()) << staged.status();
    return staged.ok() ? *std::move(staged) : StagedRows{};
}

const StageColumn& column(const Stage& stage, const std::string& name) {
    static const StageColumn kNone;
    for (const StageColumn& column : stage.columns) {
        if (column.name == name) {
            return column;
        }
    }
    ADD_FAILURE() << "no column " << name;
    return kNone;
}

TEST(StagedRecipe, ShowsTheRowsAfterWhereAndAfterEveryStep) {
    Bench bench;
    bench.firstRow = 500;
    bench.spec.dataset.where = "x > 0";
    bench.filter("x <> 3");
    bench.derive("double", "x * 2");
    MemoryColumns data({{"x", ints({0, 1, 2, 3, kNull})}});
    const StagedRows staged = stagesOf(bench, data);
    ASSERT_EQ(staged.stages.size(), 3);
    EXPECT_EQ(staged.stages[0].step, -1);
    EXPECT_EQ(staged.stages[0].rowsIn, 5);
    EXPECT_THAT(staged.stages[0].rows, ElementsAre(1, 2, 3));
    EXPECT_EQ(staged.stages[1].rowsIn, 3);
    EXPECT_EQ(staged.stages[1].rowsOut, 2);
    EXPECT_THAT(staged.stages[1].rows, ElementsAre(1, 2));
    EXPECT_THAT(column(staged.stages[2], "double").values, ElementsAre("2", "4"));
    EXPECT_EQ(column(staged.stages[2], "double").type, "int64");
    EXPECT_EQ(staged.stages[1].columns.size(), 1);
}

TEST(StagedRecipe, ADisabledStepIsAStageThatChangesNothing) {
    Bench bench;
    bench.filter("x > 1");
    bench.add<spec::FilterStep>("off").expr = "false";
    bench.spec.recipe.back().enabled = false;
    MemoryColumns data({{"x", ints({1, 2})}});
    const StagedRows staged = stagesOf(bench, data);
    ASSERT_EQ(staged.stages.size(), 3);
    EXPECT_EQ(staged.stages[2].step, 1);
    EXPECT_EQ(staged.stages[2].rows, staged.stages[1].rows);
}

TEST(StagedRecipe, TakesTheFirstRowsThatWhereKeeps) {
    Bench bench;
    bench.spec.dataset.where = "x % 2 = 1";
    MemoryColumns data({{"x", ints({1, 2, 3, 4, 5, 6, 7})}});
    const StagedRows staged = stagesOf(bench, data, 1, 2);
    EXPECT_THAT(staged.stages[0].rows, ElementsAre(2, 4));
    EXPECT_EQ(staged.stages[0].rowsIn, 4);  // rows 1 to 4 were looked at
    const SplitInput split{0, "f.csv", 0, data.rows(), &data};
    EXPECT_EQ(*compiled(bench, data)->count(split, 1, 2), 2);
    EXPECT_EQ(*compiled(bench, data)->count(split, 5, 9), 1);
    EXPECT_EQ(*compiled(bench, data)->count(split, 7, 9), 0);
}

TEST(StagedRecipe, NullsAreToldFromEmptyTexts) {
    Bench bench;
    MemoryColumns data({{"s", texts({"", "\x01", "a"})}, {"x", ints({1, 2, 3})}});
    const Stage stage = stagesOf(bench, data).stages[0];
    EXPECT_THAT(column(stage, "s").values, ElementsAre("", "", "a"));
    EXPECT_THAT(column(stage, "s").isNull, ElementsAre(false, true, false));
    EXPECT_THAT(column(stage, "x").isNull, IsEmpty());
}

TEST(StagedRecipe, DrawsAndJoinsWhatTrainingDoes) {
    Bench bench;
    bench.firstRow = 40;
    bench.dir.text("t.csv", "k,name\n1,one\n2,two\n");
    auto& join = bench.add<spec::JoinStep>();
    join.table = "t.csv";
    join.on = {{"k", "k"}};
    join.take = {{"name", "name"}};
    auto& sample = bench.add<spec::SampleStep>();
    sample.keep = 0.5;
    sample.isInverseWeighted = true;
    bench.spec.labels["y"].expr = "k > 0";
    std::vector<std::int64_t> keys;
    for (std::int64_t i = 0; i < 300; ++i) {
        keys.push_back(i % 3);
    }
    MemoryColumns data({{"k", ints(keys)}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    std::vector<std::int64_t> trained;
    for (const std::uint64_t row : batch->rowNumbers) {
        trained.push_back(static_cast<std::int64_t>(row) - 40);
    }
    const StagedRows staged = stagesOf(bench, data);
    ASSERT_EQ(staged.stages.size(), 3);
    EXPECT_THAT(staged.stages[2].rows, ElementsAreArray(trained));
    EXPECT_THAT(column(staged.stages[2], kRowWeightColumn).values,
                Contains("2").Times(trained.size()));
    const StageColumn& names = column(staged.stages[1], "name");
    EXPECT_TRUE(names.isNull[0]);
    EXPECT_EQ(names.values[1], "one");
    EXPECT_EQ(names.values[2], "two");
}

TEST(StagedRecipe, ASliceDrawsAsTheWholeSplitDoes) {
    Bench bench;
    bench.add<spec::SampleStep>().keep = 0.3;
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < 200; ++i) {
        values.push_back(i);
    }
    MemoryColumns whole({{"x", ints(values)}});
    std::vector<std::string> expected;
    const StagedRows staged = stagesOf(bench, whole);
    for (const std::string& value : column(staged.stages[1], "x").values) {
        if (std::stoi(value) >= 120) {
            expected.push_back(value);
        }
    }
    MemoryColumns part({{"x", ints({values.begin() + 120, values.end()})}});
    bench.firstRow = 120;
    EXPECT_THAT(column(stagesOf(bench, part).stages[1], "x").values, ElementsAreArray(expected));
    EXPECT_GT(expected.size(), 5);
}

TEST(StagedRecipe, AStepThatFailsEndsTheStagesAndIsNamed) {
    Bench bench;
    bench.filter("x > 0");
    bench.derive("y", "cast(s as int)");
    bench.filter("x > 1");
    MemoryColumns data({{"x", ints({1, 2})}, {"s", texts({"1", "oops"})}});
    const StagedRows staged = stagesOf(bench, data);
    EXPECT_EQ(staged.stages.size(), 2);
    EXPECT_EQ(staged.failedStep, 1);
    EXPECT_THAT(messageOf(staged.status), HasSubstr("row 1"));
}

TEST(StagedRecipe, AStepThatDoesNotFitTheColumnsEndsTheStages) {
    Bench bench;
    bench.filter("x > 0");
    bench.filter("nothing > 0");
    MemoryColumns data({{"x", ints({1, 2})}});
    const StagedRows staged = stagesOf(bench, data);
    EXPECT_EQ(staged.stages.size(), 2);
    EXPECT_EQ(staged.failedStep, 1);
    EXPECT_THAT(messageOf(staged.status), HasSubstr("nothing"));
}

TEST(StagedRecipe, SelectLeavesColumnsOutOfLaterStages) {
    Bench bench;
    bench.add<spec::SelectStep>().columns = {"b"};
    MemoryColumns data({{"a", ints({1})}, {"b", ints({2})}});
    const StagedRows staged = stagesOf(bench, data);
    EXPECT_EQ(staged.stages[0].columns.size(), 2);
    ASSERT_EQ(staged.stages[1].columns.size(), 1);
    EXPECT_EQ(staged.stages[1].columns[0].name, "b");
}

TEST(StagedRecipe, NoRowsAreStagesWithoutRows) {
    Bench bench;
    bench.filter("x > 100");
    bench.derive("y", "x + 1");
    MemoryColumns data({{"x", ints({1, 2})}});
    const StagedRows staged = stagesOf(bench, data);
    ASSERT_EQ(staged.stages.size(), 3);
    EXPECT_EQ(staged.stages[2].rowsOut, 0);
    EXPECT_THAT(column(staged.stages[2], "y").values, IsEmpty());
}

}  // namespace
}  // namespace millrace::recipe

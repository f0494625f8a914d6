// Side tables that training and evaluation share: they are loaded and counted once.
#include "backend/recipe/join/shared_tables.h"

#include "backend/recipe/join/table_need.h"
#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::recipe {
namespace {

using namespace test;

TEST(SharedTables, GiveWhatLivesAndMakeItAgainWhenItIsGone) {
    SharedTables tables;
    int made = 0;
    const auto make = [&]() -> Result<std::shared_ptr<const int>> {
        return std::make_shared<const int>(++made);
    };
    auto first = tables.get<int>("a", make);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(tables.get<int>("a", make)->get(), first->get());
    EXPECT_EQ(**tables.get<int>("b", make), 2) << "another key, another table";
    *first = nullptr;
    EXPECT_EQ(**tables.get<int>("a", make), 3);
    const auto failing = []() -> Result<std::shared_ptr<const int>> {
        return invalidArgument("no such table");
    };
    EXPECT_EQ(messageOf(tables.get<int>("c", failing).status()), "no such table");
    EXPECT_EQ(**tables.get<int>("c", make), 4) << "a failure is not kept";
}

/// A join, a semi join and a vocabulary of tables of 1,000 rows, in training and evaluation.
class SharedByParts : public ::testing::Test {
 protected:
    void SetUp() override {
        std::string text = "k,v\n";
        for (int i = 0; i < 1000; ++i) {
            strAppend(&text, i, ",", i % 7, "\n");
        }
        bench_.dir.text("t.csv", text);
        tables_ = diskTables({bench_.dir.path(), std::make_shared<dataset::MetadataCache>()});
        tables_.load = [this, load = tables_.load](const spec::TableRef& table,
                                                   const std::vector<std::string>& columns) {
            ++loads_;
            return load(table, columns);
        };
        auto& join = bench_.add<spec::JoinStep>();
        join.table = "t.csv";
        join.on = {{"x", "k"}};
        join.take = {{"v", "v"}};
        join.missing = "drop";
        spec::EvalSpec eval;
        eval.recipe = bench_.spec.recipe;
        eval.labelRecipe = bench_.spec.recipe;
        eval.labels["l"].expr = "v > 3";
        bench_.spec.eval = eval;
        bench_.spec.labels["l"].expr = "v > 3";
        auto& semi = bench_.add<spec::SemiJoinStep>();
        semi.table = "t.csv";
        semi.on = {{"x", "k"}};
        bench_.spec.features.ids = {"x"};
        bench_.spec.embeddings["x"].features = {"x"};
        bench_.spec.embeddings["x"].vocabulary = spec::VocabularySpec{"t.csv", "k"};
    }

    std::shared_ptr<const CompiledRecipe> compile(Part part) {
        auto recipe = CompiledRecipe::compile(bench_.spec, part, data_.schema(), tables_, &budget_);
        EXPECT_TRUE(recipe.ok()) << recipe.status();
        return recipe.ok() ? *recipe : nullptr;
    }

    std::vector<std::uint64_t> rowsOf(const CompiledRecipe& recipe) {
        const auto batch = recipe.run({1, "f.csv", 0, data_.rows(), &data_}, 0);
        EXPECT_TRUE(batch.ok()) << batch.status();
        return batch->rowNumbers;
    }

    Bench bench_;
    MemoryColumns data_{{{"x", ints({1, 5000, 999})}}};
    MemoryBudget budget_{10'000'000};
    TableSource tables_;
    int loads_ = 0;
};

TEST_F(SharedByParts, EvaluationLoadsNothingAgain) {
    auto train = compile(Part::kTrain);
    EXPECT_EQ(loads_, 3) << "join, semi join, vocabulary";
    const std::int64_t used = budget_.usedBytes();
    EXPECT_EQ(used, train->tableBytes());
    auto eval = compile(Part::kEval);
    EXPECT_EQ(loads_, 3);
    EXPECT_EQ(budget_.usedBytes(), used);
    EXPECT_LT(eval->tableBytes(), used) << "without the semi join, and the join's once";
    // One table, but each part has its own rule for rows without a partner.
    EXPECT_EQ(rowsOf(*train), (std::vector<std::uint64_t>{0, 2}));
    EXPECT_EQ(rowsOf(*eval), (std::vector<std::uint64_t>{0, 1, 2}));
    train.reset();
    EXPECT_EQ(budget_.usedBytes(), eval->tableBytes()) << "what is still looked into stays";
    eval.reset();
    EXPECT_EQ(budget_.usedBytes(), 0);
    compile(Part::kEval);
    EXPECT_EQ(loads_, 5);
}

TEST_F(SharedByParts, AnotherKeyOrColumnIsAnotherTable) {
    std::get<spec::JoinStep>(bench_.spec.eval->labelRecipe[0].body).take = {{"v", "v + 1"}};
    const auto eval = compile(Part::kEval);
    EXPECT_EQ(loads_, 3) << "two joins and the vocabulary";
}

TEST_F(SharedByParts, TheirNeedIsThatOfEachTableOnce) {
    const auto need = [&](const std::vector<Part>& parts) {
        const auto need = tableNeed(bench_.spec, tables_, parts);
        EXPECT_TRUE(need.ok()) << need.status();
        return need.ok() ? need->held : -1;
    };
    const std::int64_t train = need({Part::kTrain});
    EXPECT_GE(train, compile(Part::kTrain)->tableBytes());
    EXPECT_EQ(need({Part::kTrain, Part::kEval}), train);
    EXPECT_LT(need({Part::kEval}), train);
    EXPECT_GE(need({Part::kEval}), compile(Part::kEval)->tableBytes());
    std::get<spec::JoinStep>(bench_.spec.eval->labelRecipe[0].body).take = {{"v", "v + 1"}};
    EXPECT_GT(need({Part::kTrain, Part::kEval}), train);
}

}  // namespace
}  // namespace millrace::recipe

#include "backend/recipe/join/join_table.h"

#include <random>
#include <thread>
#include <unordered_map>

#include <arrow/array/array_dict.h>
#include <arrow/array/builder_decimal.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/util/decimal.h>

#include "backend/recipe/join/as_of_table.h"
#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;
using test::Bench;
using test::ints;
using test::kNull;
using test::MemoryColumns;
using test::texts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const expr::DataType kInt{expr::TypeKind::kInt64};
const expr::DataType kText{expr::TypeKind::kString};

std::string errorOf(const Status& status) {
    return std::string(messageOf(status));
}

ArrayPtr decimals(int precision, int scale, const std::vector<std::string>& texts) {
    arrow::Decimal128Builder builder(arrow::decimal128(precision, scale));
    for (const std::string& text : texts) {
        EXPECT_TRUE(builder.Append(arrow::Decimal128::FromString(text).ValueOrDie()).ok());
    }
    return builder.Finish().ValueOrDie();
}

TEST(JoinTable, DecimalsOfTwoPrecisionsMeetByTheirDigits) {
    const expr::DataType decimal{expr::TypeKind::kDecimal};
    std::vector<std::string> cents, millionths;
    for (int i = 1; i < 10'000; ++i) {
        cents.push_back(std::to_string(i));
        millionths.push_back(std::to_string(i) + "0000");
    }
    const auto table = JoinTable::make({"t", false, nullptr}, {{"a", "b", decimal, decimal}},
                                       {decimals(12, 6, millionths)});
    ASSERT_TRUE(table.ok()) << table.status();
    const auto found = (*table)->find({decimals(8, 2, cents)});
    ASSERT_TRUE(found.ok()) << found.status();
    for (std::size_t row = 0; row < found->size(); ++row) {
        ASSERT_EQ((*found)[row], static_cast<std::int64_t>(row));
    }
    // As doubles the two would be the same key.
    const auto ids = JoinTable::make({"t", false, nullptr}, {{"a", "b", decimal, decimal}},
                                     {decimals(38, 0, {"9007199254740992", "9007199254740993"})});
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_THAT(*(*ids)->find({decimals(20, 1, {"90071992547409930", "90071992547409935"})}),
                ElementsAre(1, -1));
}

TEST(JoinTable, FindsTheFirstRowOfEveryKey) {
    std::mt19937_64 random(1);
    std::vector<std::int64_t> keys;
    std::unordered_map<std::int64_t, std::int64_t> firsts;
    for (std::int64_t row = 0; row < 100'000; ++row) {
        // Few and many different keys, and keys that differ only in their high bits.
        const std::int64_t key = row % 3 == 0   ? static_cast<std::int64_t>(random() % 1000)
                                 : row % 3 == 1 ? static_cast<std::int64_t>(random() << 40)
                                                : static_cast<std::int64_t>(random());
        keys.push_back(key == kNull ? 0 : key);
        firsts.emplace(keys.back(), row);
    }
    const auto table =
        JoinTable::make({"t", true, nullptr}, {{"k", "k", kInt, kInt}}, {ints(keys)});
    ASSERT_TRUE(table.ok()) << table.status();
    std::vector<std::int64_t> asked = keys;
    for (int i = 0; i < 50'000; ++i) {
        asked.push_back(static_cast<std::int64_t>(random()));
    }
    const ArrayPtr column = ints(asked);
    const auto check = [&] {
        const auto found = (*table)->find({column});
        ASSERT_TRUE(found.ok());
        for (std::size_t i = 0; i < asked.size(); ++i) {
            const auto known = firsts.find(asked[i]);
            ASSERT_EQ((*found)[i], known == firsts.end() ? -1 : known->second);
        }
    };
    std::jthread other(check);
    check();
}

TEST(JoinTable, ManyEqualHashesSpillIntoTheNextBuckets) {
    // Texts that nearly fill the table: each is there once, and none is lost.
    std::vector<std::string> words;
    for (int i = 0; i < 5000; ++i) {
        words.push_back(strCat("w", i));
    }
    const auto table =
        JoinTable::make({"t", false, nullptr}, {{"s", "s", kText, kText}}, {texts(words)});
    ASSERT_TRUE(table.ok()) << table.status();
    const auto found = (*table)->find({texts(words)});
    for (std::size_t i = 0; i < words.size(); ++i) {
        ASSERT_EQ((*found)[i], static_cast<std::int64_t>(i));
    }
    EXPECT_THAT(*(*table)->find({texts({"w", "\x01", "w5000"})}), ElementsAre(-1, -1, -1));
}

TEST(JoinTable, IsCompact) {
    EXPECT_LT(JoinTable::bucketBytes(20'000'000), 350'000'000);
    EXPECT_EQ(JoinTable::bucketBytes(0), 128);
}

TEST(JoinTable, OverTheBudgetIsRefusedWithTheNumber) {
    std::vector<std::int64_t> keys(100'000);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i] = static_cast<std::int64_t>(i) * 1'000'003;  // too far apart for an array by value
    }
    MemoryBudget budget(1'000'000);
    const auto refused =
        JoinTable::make({"table big.csv", false, &budget}, {{"k", "k", kInt, kInt}}, {ints(keys)});
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(errorOf(refused.status()),
              "table big.csv needs 2 MB, but 0 MB of memory_limit_mb 1 are taken; raise "
              "memory_limit_mb");
    EXPECT_EQ(budget.usedBytes(), 0);
}

/// Rows of one split with an as-of join with t.csv.
struct AsOf : public ::testing::Test {
    AsOf() {
        bench.dir.text("t.csv", "k,at,v\n1,10,100\n1,20,200\n1,30,300\n2,5,1\n,7,9\n2,,8\n");
        auto& join = bench.add<spec::JoinStep>();
        join.table = "t.csv";
        join.on = {{"k", "k"}};
        join.asOf = spec::AsOf{"now", "at", 0};
        join.take = {{"v", "v"}};
        bench.spec.features.dense = {{"v", -1}};
    }
    std::vector<float> values(const std::vector<std::int64_t>& k,
                              const std::vector<std::int64_t>& now) {
        MemoryColumns data({{"k", ints(k)}, {"now", ints(now)}});
        const auto batch = bench.run(data);
        EXPECT_TRUE(batch.ok()) << batch.status();
        if (!batch.ok()) {
            return {};
        }
        count = batch->steps[1];
        return {batch->dense[0].values, batch->dense[0].values + batch->rows};
    }
    Bench bench;
    StepCount count;
};

TEST_F(AsOf, TakesTheNewestThatIsNotNewer) {
    EXPECT_THAT(values({1, 1, 1, 1, 2, 3, kNull, 1}, {9, 10, 29, 1000, 6, 6, 6, kNull}),
                ElementsAre(-1, 100, 200, 300, 1, -1, -1, -1));
    MemoryColumns data({{"k", ints({1})}, {"now", ints({1})}});
    EXPECT_THAT((*bench.compile(data))->stepReasons()[1],
                ElementsAre("no partner", "none before", "too old"));
    EXPECT_THAT(count.reasons, ElementsAre(2, 2, 0, 0));
}

TEST_F(AsOf, WithinTheTolerance) {
    bench.step<spec::JoinStep>(0).asOf->tolerance = 5;
    EXPECT_THAT(values({1, 1, 1}, {15, 16, 20}), ElementsAre(100, -1, 200));
    EXPECT_THAT(count.reasons, ElementsAre(0, 0, 1, 0));
}

TEST_F(AsOf, MayDropRowsWithoutOne) {
    bench.step<spec::JoinStep>(0).missing = "drop";
    EXPECT_THAT(values({1, 1, 3}, {9, 10, 10}), ElementsAre(100));
    EXPECT_EQ(count.rowsOut, 1);
}

TEST_F(AsOf, AKeyTwiceAtOneTimeIsNamedUnlessTheFirstMayBeTaken) {
    bench.dir.text("t.csv", "k,at,v\n1,10,1\n1,20,2\n1,10,3\n");
    MemoryColumns data({{"k", ints({1})}, {"now", ints({15})}});
    EXPECT_EQ(errorOf(bench.run(data).status()),
              "recipe.join: table t.csv: a key occurs twice at one at, in rows 1 and 3; "
              "on_duplicate: first takes the first");
    bench.step<spec::JoinStep>(0).onDuplicate = "first";
    EXPECT_THAT(values({1, 1}, {15, 25}), ElementsAre(1, 2));
}

TEST_F(AsOf, ToleranceOfTimestampsIsInSeconds) {
    bench.dir.text("t.csv", "k,at,v\n1,2024-01-01 00:00:00,7\n");
    bench.derive("when", "make_timestamp(now * 1000000)");
    std::swap(bench.spec.recipe[0], bench.spec.recipe[1]);
    bench.step<spec::JoinStep>(1).asOf = spec::AsOf{"when", "at", 1.5};
    const std::int64_t base = 1704067200;
    MemoryColumns data({{"k", ints({1, 1, 1})}, {"now", ints({base - 1, base + 1, base + 2})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(std::vector<float>(batch->dense[0].values, batch->dense[0].values + 3),
                ElementsAre(-1, 7, -1));
}

TEST(StepReasons, SayWhatHappenedToTheRows) {
    Bench bench;
    bench.dir.text("t.csv", "k\n1\n2\n");
    bench.spec.dataset.where = "x >= 0";
    bench.filter("x <> 5");
    auto& anti = bench.add<spec::AntiJoinStep>();
    anti.table = "t.csv";
    anti.on = {{"x", "k"}};
    auto& sample = bench.add<spec::SampleStep>();
    sample.keep = 1e-9;
    sample.where = "x > 3";
    bench.add<spec::WeightStep>().expr = "x";
    MemoryColumns data({{"x", ints({-1, kNull, 0, 1, 2, 3, 4, 5})}});
    const auto compiled = bench.compile(data);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_THAT((*compiled)->stepReasons(),
                ElementsAre(ElementsAre("false", "null"), ElementsAre("false", "null"),
                            ElementsAre("partner"), ElementsAre("dropped", "did not draw"),
                            ElementsAre("weight 0")));
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(batch->steps[0].reasons, ElementsAre(1, 1, 0, 0));
    EXPECT_THAT(batch->steps[1].reasons, ElementsAre(1, 0, 0, 0));
    EXPECT_THAT(batch->steps[2].reasons, ElementsAre(2, 0, 0, 0));
    EXPECT_THAT(batch->steps[3].reasons, ElementsAre(1, 2, 0, 0));
    EXPECT_THAT(batch->steps[4].reasons, ElementsAre(1, 0, 0, 0));
}

TEST(Vocabulary, CountsWhatItDoesNotKnow) {
    Bench bench;
    bench.dir.text("v.csv", "word\nred\ngreen\n");
    bench.spec.features.ids = {"c", "d"};
    for (const char* name : {"c", "d"}) {
        bench.spec.embeddings["words"].features.push_back(name);
    }
    bench.spec.embeddings["words"].vocabulary = spec::VocabularySpec{"v.csv", "word"};
    MemoryColumns data({{"c", texts({"blue", "pink", "red", "\x01"})},
                        {"d", texts({"red", "red", "x", "green"})}});
    const auto compiled = bench.compile(data);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_THAT((*compiled)->vocabularies(), ElementsAre("c", "d"));
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_EQ(batch->vocabularies[0].ids, 3);
    EXPECT_EQ(batch->vocabularies[0].unknown, 2);
    EXPECT_EQ(batch->vocabularies[1].unknown, 1);
}

/// A column of lists of which rows 0 to 2 have the first and row 3 the second, stored once each.
class SharedLists : public MemoryColumns {
 public:
    SharedLists()
        : MemoryColumns({{"k", ints({0, 1, 2, 3})}, {"l", column({0, 0, 0, 1}, false)}}) {}

    Result<std::vector<ArrayPtr>> columns(const std::vector<std::string>& names) override {
        ASSIGN_OR_RETURN(std::vector<ArrayPtr> arrays, MemoryColumns::columns(names));
        for (std::size_t i = 0; i < names.size(); ++i) {
            arrays[i] = names[i] == "l" ? column({0, 0, 0, 1}, true) : arrays[i];
        }
        return arrays;
    }

 private:
    static ArrayPtr column(const std::vector<std::int32_t>& items, bool isShared) {
        auto values = std::make_shared<arrow::Int64Builder>();
        arrow::ListBuilder lists(arrow::default_memory_pool(), values);
        const auto add = [&](std::int32_t item) {
            EXPECT_TRUE(lists.Append().ok());
            EXPECT_TRUE(values
                            ->AppendValues(item == 0 ? std::vector<std::int64_t>{1, 9, 8}
                                                     : std::vector<std::int64_t>{2})
                            .ok());
        };
        for (const std::int32_t item : isShared ? std::vector<std::int32_t>{0, 1} : items) {
            add(item);
        }
        arrow::Int32Builder indices;
        EXPECT_TRUE(indices.AppendValues(items).ok());
        const ArrayPtr stored = *lists.Finish();
        const auto type = arrow::dictionary(arrow::int32(), stored->type());
        return isShared ? *arrow::DictionaryArray::FromArrays(type, *indices.Finish(), stored)
                        : stored;
    }
};

TEST(Vocabulary, CountsTheListsOfRowsHoweverTheyAreStored) {
    Bench bench;
    bench.filter("k > 0");
    bench.dir.text("v.csv", "id\n1\n2\n");
    bench.spec.features.lists = {"l"};
    bench.spec.embeddings["l"].features = {"l"};
    bench.spec.embeddings["l"].vocabulary = spec::VocabularySpec{"v.csv", "id"};
    SharedLists data;
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    ASSERT_NE(batch->lists[0].items, nullptr) << "the lists were read as they are stored";
    EXPECT_EQ(batch->vocabularies[0].ids, 7) << "two rows with three ids, one with one";
    EXPECT_EQ(batch->vocabularies[0].unknown, 4);
}

TEST(SideTables, AreRefusedBeforeTheyAreRead) {
    Bench bench;
    std::string text = "k,v\n";
    for (int i = 0; i < 2000; ++i) {
        strAppend(&text, i, ",", i, "\n");
    }
    bench.dir.text("t.csv", text);
    auto& join = bench.add<spec::JoinStep>();
    join.table = "t.csv";
    join.on = {{"x", "k"}};
    join.take = {{"v", "v"}};
    MemoryColumns data({{"x", ints({1})}});
    TableSource tables = diskTables({bench.dir.path(), std::make_shared<dataset::MetadataCache>()});
    int reads = 0;
    tables.load = [&, load = tables.load](const spec::TableRef& table,
                                          const std::vector<std::string>& columns) {
        ++reads;
        return load(table, columns);
    };
    MemoryBudget small(50'000), large(10'000'000);
    const auto refused =
        CompiledRecipe::compile(bench.spec, Part::kTrain, data.schema(), tables, &small);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(errorOf(refused.status()), HasSubstr("recipe.join: table t.csv needs 1 MB"));
    EXPECT_EQ(reads, 0);
    EXPECT_EQ(small.usedBytes(), 0);
    const auto fine =
        CompiledRecipe::compile(bench.spec, Part::kTrain, data.schema(), tables, &large);
    ASSERT_TRUE(fine.ok()) << fine.status();
    EXPECT_EQ(large.usedBytes(), (*fine)->tableBytes());
}

}  // namespace
}  // namespace millrace::recipe

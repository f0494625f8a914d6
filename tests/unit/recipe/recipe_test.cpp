#include <cmath>
#include <set>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_nested.h>

#include "backend/core/philox.h"
#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::recipe {
namespace {

using test::Bench;
using test::ints;
using test::kNull;
using test::MemoryColumns;
using test::reals;
using test::texts;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::int64_t> upTo(std::int64_t n) {
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < n; ++i) {
        values.push_back(i);
    }
    return values;
}

std::vector<float> floats(const float* values, std::int64_t n) {
    return {values, values + n};
}

std::vector<std::uint64_t> rowsOf(Bench& bench, MemoryColumns& data) {
    const auto batch = bench.run(data);
    EXPECT_TRUE(batch.ok()) << batch.status();
    return batch.ok() ? batch->rowNumbers : std::vector<std::uint64_t>();
}

std::string errorOf(Bench& bench, MemoryColumns& data) {
    return std::string(messageOf(bench.run(data).status()));
}

TEST(Recipe, FilterDropsFalseAndNull) {
    Bench bench;
    bench.firstRow = 100;
    bench.filter("x > 1");
    MemoryColumns data({{"x", ints({1, 2, kNull, 3})}});
    EXPECT_THAT(rowsOf(bench, data), ElementsAre(101, 103));
}

TEST(Recipe, WhereComesFirstAndStepsAreCounted) {
    Bench bench;
    bench.spec.dataset.where = "x < 3";
    bench.filter("x > 0");
    bench.add<spec::FilterStep>("off").expr = "false";
    bench.spec.recipe.back().enabled = false;
    MemoryColumns data({{"x", ints({0, 1, 2, 3})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    ASSERT_EQ(batch->steps.size(), 2);
    EXPECT_EQ(batch->steps[0].rowsIn, 4);
    EXPECT_EQ(batch->steps[0].rowsOut, 3);
    EXPECT_EQ(batch->steps[1].rowsOut, 2);
    EXPECT_THAT((*bench.compile(data))->stepNames(), ElementsAre("where", "filter"));
}

TEST(Recipe, ColumnsAreReadOnceAndOnlyWhenRowsAreLeft) {
    Bench bench;
    bench.spec.dataset.where = "x > 10";
    bench.spec.features.dense = {{"y", 0}};
    MemoryColumns none({{"x", ints({1, 2})}, {"y", reals({1, 2})}});
    EXPECT_THAT(rowsOf(bench, none), IsEmpty());
    EXPECT_EQ(none.reads["x"], 1);
    EXPECT_EQ(none.reads["y"], 0);
    MemoryColumns some({{"x", ints({1, 20})}, {"y", reals({1, 2})}});
    bench.spec.labels["h"].expr = "y > 1";
    const auto batch = bench.run(some);
    EXPECT_THAT(floats(batch->dense[0].values, 1), ElementsAre(2));
    EXPECT_EQ(some.reads["y"], 1);
}

TEST(Recipe, DeriveSeesTheColumnsBeforeTheStep) {
    Bench bench;
    spec::DeriveStep& step = bench.derive("x", "x + 1");
    step.columns.push_back({"y", "x * 10"});
    bench.filter("x <> 3");
    bench.derive("z", "x + y");
    bench.spec.features.dense = {{"x", 0}, {"y", 0}, {"z", 0}};
    MemoryColumns data({{"x", ints({1, 2, 3})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(floats(batch->dense[0].values, 2), ElementsAre(2, 4));
    EXPECT_THAT(floats(batch->dense[1].values, 2), ElementsAre(10, 30));
    EXPECT_THAT(floats(batch->dense[2].values, 2), ElementsAre(12, 34));
}

TEST(Recipe, AnErrorNamesFileRowStepAndReason) {
    Bench bench;
    bench.firstRow = 1000;
    bench.filter("x <> 2");
    bench.derive("y", "x * 9223372036854775807");
    MemoryColumns data({{"x", ints({1, 2, 3})}});
    EXPECT_EQ(errorOf(bench, data),
              "f.csv: row 1002, column 'x': recipe.derive_y.y: integer overflow");
}

TEST(Recipe, JoinTakesExpressionsOverTheTable) {
    Bench bench;
    bench.dir.text("movies.csv",
                   "movieId,title,genres\n1,Toy Story (1995),Animation|Comedy\n"
                   "2,\"American President, The (1995)\",Drama\n3,No Year,(none)\n");
    auto& join = bench.add<spec::JoinStep>();
    join.table = "movies.csv";
    join.on = {{"movieId", "movieId"}};
    join.take = {{"genres", "split(genres, '|')"},
                 {"year", "try_cast(regexp_extract(title, '\\((\\d{4})\\)', 1) as int)"}};
    bench.spec.features.dense = {{"year", -1}};
    bench.spec.features.lists = {"genres"};
    bench.spec.embeddings["genres"].features = {"genres"};
    bench.spec.embeddings["genres"].rows = 1024;
    MemoryColumns data({{"movieId", ints({2, 1, 9, kNull, 3})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(floats(batch->dense[0].values, 5), ElementsAre(1995, 1995, -1, -1, -1));
    const ListColumn& genres = batch->lists[0];
    EXPECT_THAT(std::vector<std::int32_t>(genres.offsets, genres.offsets + 6),
                ElementsAre(0, 1, 3, 3, 3, 4));
    EXPECT_EQ(genres.values[2],
              static_cast<std::int64_t>(1 + CanonicalBytes().text("Comedy").hash() % 1023));
}

TEST(Recipe, WhatIsLookedUpMayBeAnExpressionOverTheRow) {
    Bench bench;
    bench.dir.text("t.csv", "k,v\n11,10\n13,30\n");
    bench.dir.text("u.csv", "k,since,w\na,100,1\na,200,2\nb,100,3\n");
    auto& join = bench.add<spec::JoinStep>("first");
    join.table = "t.csv";
    join.on = {{"x + 10", "k"}};
    join.take = {{"v", "v"}};
    auto& timed = bench.add<spec::JoinStep>("second");
    timed.table = "u.csv";
    timed.on = {{"lower(s)", "k"}};
    timed.asOf = spec::AsOf{"100 * x", "since", 0};
    timed.take = {{"w", "w"}};
    auto& semi = bench.add<spec::SemiJoinStep>();
    semi.table = "u.csv";
    semi.on = {{"lower(s)", "k"}};
    bench.spec.features.dense = {{"v", -1}, {"w", -1}};
    MemoryColumns data({{"x", ints({3, 2, 1, 1})}, {"s", texts({"A", "a", "B", "C"})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(batch->rowNumbers, ElementsAre(0, 1, 2));
    EXPECT_THAT(floats(batch->dense[0].values, 3), ElementsAre(30, -1, 10));
    EXPECT_THAT(floats(batch->dense[1].values, 3), ElementsAre(2, 2, 3));
    bench.step<spec::JoinStep>(1).asOf = spec::AsOf{"x", "since - 99", 0};
    const auto shifted = bench.run(data);
    ASSERT_TRUE(shifted.ok()) << shifted.status();
    EXPECT_THAT(floats(shifted->dense[1].values, 3), ElementsAre(1, 1, 3)) << "of the table";
    bench.step<spec::JoinStep>(0).on = {{"x + 9223372036854775807", "k"}};
    EXPECT_THAT(errorOf(bench, data), HasSubstr("recipe.first.on: integer overflow"));
    bench.step<spec::JoinStep>(0).on = {{"xx", "k"}};
    EXPECT_THAT(errorOf(bench, data), HasSubstr("no column 'xx'"));
}

TEST(Recipe, JoinMayDropRowsWithoutPartner) {
    Bench bench;
    bench.dir.text("t.csv", "k,v\n1,10\n3,30\n");
    auto& join = bench.add<spec::JoinStep>();
    join.table = "t.csv";
    join.on = {{"x", "k"}};
    join.take = {{"v", "v"}};
    join.missing = "drop";
    bench.spec.features.dense = {{"v", 0}};
    MemoryColumns data({{"x", ints({3, 2, 1, kNull})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(batch->rowNumbers, ElementsAre(0, 2));
    EXPECT_THAT(floats(batch->dense[0].values, 2), ElementsAre(30, 10));
}

TEST(Recipe, ADuplicateKeyIsNamedUnlessTheFirstMayBeTaken) {
    Bench bench;
    bench.dir.text("t.csv", "k,v\n1,10\n7,70\n7,71\n");
    auto& join = bench.add<spec::JoinStep>();
    join.table = "t.csv";
    join.on = {{"x", "k"}};
    join.take = {{"v", "v"}};
    bench.spec.features.dense = {{"v", 0}};
    MemoryColumns data({{"x", ints({7})}});
    EXPECT_EQ(
        errorOf(bench, data),
        "recipe.join: table t.csv: the key k = 7 occurs twice, in rows 2 and 3; on_duplicate: "
        "first takes the first");
    bench.step<spec::JoinStep>(0).onDuplicate = "first";
    EXPECT_THAT(floats(bench.run(data)->dense[0].values, 1), ElementsAre(70));
}

TEST(Recipe, KeysMayBeStringsOrSeveralColumns) {
    Bench bench;
    bench.dir.text("t.csv", "a,b,v\nx,1,1\nx,2,2\ny,1,3\n");
    auto& join = bench.add<spec::JoinStep>();
    join.table = "t.csv";
    join.on = {{"p", "a"}, {"q", "b"}};
    join.take = {{"v", "v"}};
    bench.spec.features.dense = {{"v", -1}};
    MemoryColumns data({{"p", texts({"x", "y", "y", "\x01"})}, {"q", reals({2, 1, 2, 1})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(floats(batch->dense[0].values, 4), ElementsAre(2, 3, -1, -1));
}

TEST(Recipe, KeysOfDifferentKindsAreRefused) {
    Bench bench;
    bench.dir.text("t.csv", "k\nabc\n");
    auto& step = bench.add<spec::SemiJoinStep>();
    step.table = "t.csv";
    step.on = {{"x", "k"}};
    MemoryColumns data({{"x", reals({1.5})}});
    EXPECT_THAT(errorOf(bench, data), HasSubstr("x"));
    EXPECT_FALSE(bench.run(data).ok());
}

TEST(Recipe, SemiAndAntiJoinTreatNullAsNoMatch) {
    Bench bench;
    bench.dir.text("t.csv", "k\n1\n1\n");
    auto& step = bench.add<spec::SemiJoinStep>();
    step.table = "t.csv";
    step.on = {{"x", "k"}};
    MemoryColumns data({{"x", ints({1, 2, kNull})}});
    EXPECT_THAT(rowsOf(bench, data), ElementsAre(0));
    spec::AntiJoinStep anti;
    anti.table = "t.csv";
    anti.on = {{"x", "k"}};
    bench.spec.recipe[0].body = anti;
    EXPECT_THAT(rowsOf(bench, data), ElementsAre(1, 2));
}

TEST(Recipe, AMissingTableOrColumnIsNamed) {
    Bench bench;
    auto& step = bench.add<spec::SemiJoinStep>();
    step.table = "none.csv";
    step.on = {{"x", "k"}};
    MemoryColumns data({{"x", ints({1})}});
    EXPECT_THAT(errorOf(bench, data), HasSubstr("table none.csv: none.csv: no such file"));
    bench.dir.text("none.csv", "key\n1\n");
    EXPECT_THAT(errorOf(bench, data), HasSubstr("no column 'k'"));
}

TEST(Recipe, SampleIsMonotoneAndUnmovedByOtherSteps) {
    MemoryColumns data({{"x", ints(upTo(2000))}});
    Bench bench;
    bench.add<spec::SampleStep>().keep = 0.1;
    const auto few = rowsOf(bench, data);
    bench.step<spec::SampleStep>(0).keep = 0.2;
    const auto more = rowsOf(bench, data);
    EXPECT_NEAR(static_cast<double>(few.size()), 200, 45);
    EXPECT_NEAR(static_cast<double>(more.size()), 400, 60);
    const std::set<std::uint64_t> all(more.begin(), more.end());
    for (const std::uint64_t row : few) {
        EXPECT_TRUE(all.contains(row)) << row;
    }
    spec::FilterStep unrelated;
    unrelated.expr = "x >= 0";
    bench.spec.recipe.insert(bench.spec.recipe.begin(), {"unrelated", true, unrelated});
    EXPECT_EQ(rowsOf(bench, data), more);
}

TEST(Recipe, ADrawIsThatOfSemantics2) {
    MemoryColumns data({{"x", ints({5, 6, 7})}});
    Bench bench;
    bench.firstRow = 40;
    auto& sample = bench.add<spec::SampleStep>("neg");
    sample.keep = 0.5;
    DrawKey key(DrawPurpose::kDraw, "neg");
    key.noEpoch().rest().text("f.csv");
    std::vector<std::uint64_t> expected;
    for (std::uint64_t row = 40; row < 43; ++row) {
        if (unitInterval(philox64(7, key.counter(), row)) < 0.5) {
            expected.push_back(row);
        }
    }
    EXPECT_EQ(rowsOf(bench, data), expected);
    bench.step<spec::SampleStep>(0).by = {"x"};
    expected.clear();
    for (std::int64_t x = 5; x < 8; ++x) {
        DrawKey by(DrawPurpose::kDraw, "neg");
        by.noEpoch().rest().integer(x);
        if (unitInterval(philox64(7, by.counter(), 0)) < 0.5) {
            expected.push_back(static_cast<std::uint64_t>(x) + 35);
        }
    }
    EXPECT_EQ(rowsOf(bench, data), expected);
}

TEST(Recipe, SampleByColumnsDoesNotDependOnFileOrRow) {
    MemoryColumns data({{"x", ints(upTo(500))}});
    Bench bench;
    auto& sample = bench.add<spec::SampleStep>();
    sample.keep = 0.3;
    sample.by = {"x"};
    const auto here = rowsOf(bench, data);
    bench.relativePath = "other.csv";
    EXPECT_EQ(rowsOf(bench, data), here);
    bench.step<spec::SampleStep>(0).by.clear();
    const auto byRow = rowsOf(bench, data);
    bench.relativePath = "f.csv";
    EXPECT_NE(rowsOf(bench, data), byRow);
}

TEST(Recipe, SampleIsDrawnAgainEachEpochOnlyWhenAsked) {
    MemoryColumns data({{"x", ints(upTo(500))}});
    Bench bench;
    bench.add<spec::SampleStep>().keep = 0.5;
    const auto first = rowsOf(bench, data);
    bench.epoch = 1;
    EXPECT_EQ(rowsOf(bench, data), first);
    bench.step<spec::SampleStep>(0).redrawEachEpoch = true;
    const auto second = rowsOf(bench, data);
    bench.epoch = 2;
    EXPECT_NE(rowsOf(bench, data), second);
}

TEST(Recipe, InverseWeightsMultiplyAndOnlyForRowsThatDraw) {
    MemoryColumns data({{"x", ints(upTo(200))}});
    Bench bench;
    auto& sample = bench.add<spec::SampleStep>();
    sample.where = "x >= 100";
    sample.keep = 0.25;
    sample.isInverseWeighted = true;
    bench.add<spec::WeightStep>().expr = "case when x < 50 then 0.5 else 1 end";
    bench.spec.labels["h"] = {"x > 0", "2", ""};
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    ASSERT_GT(batch->rows, 100);
    ASSERT_LT(batch->rows, 160);
    for (std::int64_t i = 0; i < batch->rows; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const std::uint64_t row = batch->rowNumbers[at];
        EXPECT_EQ(batch->heads[0].weight[at], row < 50 ? 1.0F : row < 100 ? 2.0F : 8.0F);
    }
}

TEST(Recipe, ANullWeightIsAnError) {
    Bench bench;
    bench.add<spec::WeightStep>().expr = "x / 2";
    MemoryColumns data({{"x", ints({1, kNull})}});
    EXPECT_EQ(errorOf(bench, data),
              "f.csv: row 1: recipe.weight: the weight is null; it must be a number from 0 up");
    MemoryColumns negative({{"x", ints({-2})}});
    EXPECT_THAT(errorOf(bench, negative), HasSubstr("the weight is -1"));
}

TEST(Recipe, LabelsAreMaskedPerHead) {
    Bench bench;
    bench.spec.labels["a"] = {"r >= 4", "", ""};
    bench.spec.labels["b"] = {"r / 5", "", "u = 1"};
    MemoryColumns data({{"r", reals({5, 1, -999})}, {"u", ints({1, 2, 1})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_EQ(batch->heads[0].head, "a");
    EXPECT_THAT(batch->heads[0].label, ElementsAre(1, 0, 0));
    EXPECT_THAT(batch->heads[0].mask, ElementsAre(1, 1, 0));
    EXPECT_THAT(batch->heads[1].label, ElementsAre(1, 0, 0));
    EXPECT_THAT(batch->heads[1].mask, ElementsAre(1, 0, 0));
    EXPECT_THAT(batch->heads[1].weight, ElementsAre(1, 1, 1));
}

TEST(Recipe, ALabelOutsideOfZeroToOneIsAnErrorWithFileAndRow) {
    Bench bench;
    bench.spec.labels["a"] = {"r", "", "u = 1"};
    MemoryColumns large({{"r", reals({0.5, 7, 4})}, {"u", ints({1, 2, 1})}});
    EXPECT_EQ(
        errorOf(bench, large),
        "f.csv: row 2: labels.a: the label is 4; it must be a number from 0 to 1 (a condition "
        "such as `\"r\" > 0` makes one)");
    MemoryColumns negative({{"r", reals({-0.5})}, {"u", ints({1})}});
    EXPECT_THAT(errorOf(bench, negative), HasSubstr("the label is -0.5"));
    MemoryColumns borders({{"r", reals({0, 1})}, {"u", ints({1, 1})}});
    EXPECT_TRUE(bench.run(borders).ok());
}

TEST(Recipe, DenseFillsNullsAndTakesBools) {
    Bench bench;
    bench.derive("b", "x > 1");
    bench.spec.features.dense = {{"x", 9}, {"b", 0}, {"d", -1}};
    MemoryColumns data({{"x", ints({1, kNull, 3})}, {"d", reals({0.5, -999, 1e300})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(floats(batch->dense[0].values, 3), ElementsAre(1, 9, 3));
    EXPECT_THAT(floats(batch->dense[1].values, 3), ElementsAre(0, 0, 1));
    EXPECT_THAT(floats(batch->dense[2].values, 3), ElementsAre(0.5, -1, INFINITY));
}

TEST(Recipe, IdsAreHashedIntoRowsUnlessMade) {
    Bench bench;
    auto& hash = bench.add<spec::HashStep>();
    hash.column = "s";
    hash.as = "h";
    hash.buckets = 100;
    hash.seed = 5;
    auto& bucketize = bench.add<spec::BucketizeStep>();
    bucketize.column = "x";
    bucketize.as = "age";
    bucketize.boundaries = {10, 20};
    bench.spec.features.ids = {"x", "h", "age"};
    bench.spec.embeddings["x"].features = {"x"};
    bench.spec.embeddings["x"].rows = 50;
    MemoryColumns data({{"x", ints({5, 10, 25, kNull})}, {"s", texts({"a", "b", "\x01", "a"})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    const std::int64_t* x = batch->ids[0].values;
    EXPECT_EQ(x[0], static_cast<std::int64_t>(1 + CanonicalBytes().integer(5).hash() % 49));
    EXPECT_EQ(x[3], 0);
    const std::int64_t* h = batch->ids[1].values;
    EXPECT_EQ(h[0], static_cast<std::int64_t>(1 + CanonicalBytes().text("a").hash(5) % 99));
    EXPECT_EQ(h[0], h[3]);
    EXPECT_EQ(h[2], 0);
    const std::int64_t* age = batch->ids[2].values;
    EXPECT_THAT(std::vector<std::int64_t>(age, age + 4), ElementsAre(1, 2, 3, 0));
}

TEST(Recipe, AnIntegersIdDoesNotDependOnItsWidth) {
    Bench bench;
    bench.derive("small", "cast(x as int32)");
    bench.derive("tiny", "cast(x as int8)");
    bench.spec.features.ids = {"x", "small", "tiny"};
    bench.spec.embeddings["t"].features = {"x", "small", "tiny"};
    bench.spec.embeddings["t"].rows = 1'000'000;
    MemoryColumns data({{"x", ints({5, -6, kNull})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    for (std::int64_t i = 0; i < 3; ++i) {
        EXPECT_EQ(batch->ids[0].values[i], batch->ids[1].values[i]);
        EXPECT_EQ(batch->ids[0].values[i], batch->ids[2].values[i]);
    }
    EXPECT_EQ(batch->ids[0].values[1],
              static_cast<std::int64_t>(1 + CanonicalBytes().integer(-6).hash() % 999'999));
}

TEST(Recipe, IdsWithoutCardinalityAreRefusedByName) {
    Bench bench;
    bench.spec.features.ids = {"x"};
    MemoryColumns data({{"x", ints({1})}});
    EXPECT_THAT(errorOf(bench, data), HasSubstr("'x' has no number of ids"));
}

TEST(Recipe, AVocabularyGivesTheRowOfTheTable) {
    Bench bench;
    bench.dir.text("v.csv", "word\nred\ngreen\nblue\n");
    bench.spec.features.ids = {"c"};
    bench.spec.embeddings["c"].features = {"c"};
    bench.spec.embeddings["c"].vocabulary = spec::VocabularySpec{"v.csv", "word"};
    MemoryColumns data({{"c", texts({"blue", "pink", "red", "\x01"})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(std::vector<std::int64_t>(batch->ids[0].values, batch->ids[0].values + 4),
                ElementsAre(3, 0, 1, 0));
}

std::shared_ptr<arrow::Array> listOf(const std::vector<std::vector<std::int64_t>>& rows) {
    auto values = std::make_shared<arrow::Int64Builder>();
    arrow::ListBuilder lists(arrow::default_memory_pool(), values);
    for (const auto& row : rows) {
        if (row == std::vector<std::int64_t>{-1}) {
            EXPECT_TRUE(lists.AppendNull().ok());
        } else {
            EXPECT_TRUE(lists.Append().ok() && values->AppendValues(row).ok());
        }
    }
    return *lists.Finish();
}

TEST(Recipe, ListsAreTruncatedHashedAndEmptyWhenNull) {
    Bench bench;
    bench.filter("k <> 1");
    auto& cut = bench.add<spec::TruncateStep>();
    cut.column = cut.as = "l";
    cut.length = 2;
    cut.from = "last";
    bench.spec.features.lists = {"l"};
    bench.spec.embeddings["l"].features = {"l"};
    bench.spec.embeddings["l"].rows = 1000;
    MemoryColumns data({{"k", ints({0, 1, 2, 3})}, {"l", listOf({{1, 2, 3}, {4}, {-1}, {5}})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    const ListColumn& l = batch->lists[0];
    EXPECT_THAT(std::vector<std::int32_t>(l.offsets, l.offsets + 4), ElementsAre(0, 2, 2, 3));
    EXPECT_EQ(l.values[0], static_cast<std::int64_t>(1 + CanonicalBytes().integer(2).hash() % 999));
    EXPECT_EQ(l.values[2], static_cast<std::int64_t>(1 + CanonicalBytes().integer(5).hash() % 999));
}

TEST(Recipe, VectorsAreRowMajorFloats) {
    Bench bench;
    bench.spec.features.vectors = {"v"};
    auto values = std::make_shared<arrow::FloatBuilder>();
    arrow::FixedSizeListBuilder vectors(arrow::default_memory_pool(), values, 2);
    ASSERT_TRUE(vectors.Append().ok() && values->AppendValues({1, 2}).ok());
    ASSERT_TRUE(vectors.AppendNull().ok());
    MemoryColumns data({{"v", *vectors.Finish()}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_EQ(batch->vectors[0].width, 2);
    EXPECT_THAT(floats(batch->vectors[0].values, 4), ElementsAre(1, 2, 0, 0));
}

TEST(Recipe, CarryPassesValuesUntouched) {
    Bench bench;
    bench.filter("x > 1");
    bench.spec.features.carry = {"s"};
    MemoryColumns data({{"x", ints({1, 2, 3})}, {"s", texts({"a", "b", "\x01"})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_TRUE(batch->carry[0].array->Equals(texts({"b", "\x01"})));
}

TEST(Recipe, AnEmptySplitHasAllColumnsOfNoRows) {
    Bench bench;
    bench.filter("x > 0");
    bench.add<spec::SampleStep>().keep = 0.5;
    bench.derive("y", "x * 2");
    bench.spec.features.dense = {{"y", 0}};
    bench.spec.labels["h"].expr = "x > 1";
    MemoryColumns data({{"x", ints({0, -1})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_EQ(batch->rows, 0);
    EXPECT_EQ(batch->dense.size(), 1);
    EXPECT_EQ(batch->heads.size(), 1);
    EXPECT_EQ(batch->steps.size(), 4);
}

TEST(Recipe, EvaluationKeepsEveryRowOfItsWhereAndTheBasesLabels) {
    Bench bench;
    bench.dir.text("t.csv", "k,v\n1,10\n");
    bench.filter("x > 2");
    bench.add<spec::SampleStep>().keep = 0.5;
    auto& join = bench.add<spec::JoinStep>();
    join.table = "t.csv";
    join.on = {{"x", "k"}};
    join.take = {{"v", "v"}};
    join.missing = "drop";
    bench.derive("lim", "100");
    bench.spec.features.dense = {{"v", -1}};
    bench.spec.labels["h"].expr = "x > lim";
    spec::EvalSpec eval;
    eval.dataset.where = "x <> 0";
    eval.labels["h"].expr = "x > lim";
    eval.recipe = bench.spec.recipe;
    spec::DeriveStep base;
    base.columns = {{"lim", "1"}};
    eval.labelRecipe = {{"derive", true, base}};
    bench.spec.eval = eval;
    bench.part = Part::kEval;
    MemoryColumns data({{"x", ints({0, 1, 2, 3})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(batch->rowNumbers, ElementsAre(1, 2, 3));
    EXPECT_THAT(floats(batch->dense[0].values, 3), ElementsAre(10, -1, -1));
    EXPECT_THAT(batch->heads[0].label, ElementsAre(0, 1, 1));
    EXPECT_THAT(batch->heads[0].weight, ElementsAre(1, 1, 1));
    EXPECT_EQ(data.reads["x"], 1);
}

TEST(Recipe, SideTablesCountAgainstTheBudget) {
    Bench bench;
    bench.dir.text("t.csv", "k\n1\n");
    auto& step = bench.add<spec::SemiJoinStep>();
    step.table = "t.csv";
    step.on = {{"x", "k"}};
    MemoryColumns data({{"x", ints({1})}});
    MemoryBudget budget(1'000'000);
    const TableSource tables =
        diskTables({bench.dir.path(), std::make_shared<dataset::MetadataCache>()});
    {
        const auto recipe =
            CompiledRecipe::compile(bench.spec, Part::kTrain, data.schema(), tables, &budget);
        ASSERT_TRUE(recipe.ok()) << recipe.status();
        EXPECT_EQ(budget.usedBytes(), (*recipe)->tableBytes());
        EXPECT_GT(budget.usedBytes(), 0);
    }
    EXPECT_EQ(budget.usedBytes(), 0);
    MemoryBudget tiny(10);
    EXPECT_EQ(CompiledRecipe::compile(bench.spec, Part::kTrain, data.schema(), tables, &tiny)
                  .status()
                  .code(),
              absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace millrace::recipe

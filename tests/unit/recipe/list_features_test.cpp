#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>

#include "backend/core/philox.h"
#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;
using spec::SequenceValue;
using test::Bench;
using test::ints;
using test::kNull;
using test::MemoryColumns;
using test::texts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Lists of int64; an element kNull is null, a row of {kNull, kNull} is a null list.
ArrayPtr longs(const std::vector<std::vector<std::int64_t>>& rows) {
    auto values = std::make_shared<arrow::Int64Builder>();
    arrow::ListBuilder lists(arrow::default_memory_pool(), values);
    for (const auto& row : rows) {
        if (row == std::vector<std::int64_t>{kNull, kNull}) {
            EXPECT_TRUE(lists.AppendNull().ok());
            continue;
        }
        EXPECT_TRUE(lists.Append().ok());
        for (const std::int64_t value : row) {
            EXPECT_TRUE((value == kNull ? values->AppendNull() : values->Append(value)).ok());
        }
    }
    return *lists.Finish();
}

/// The same numbers as doubles or timestamps.
ArrayPtr cast(const ArrayPtr& lists, const expr::DataType& from, const expr::DataType& to) {
    return *eval::castValues(lists, from, to, false);
}
const expr::DataType kLongs{expr::TypeKind::kInt64, true, 0, true};
const expr::DataType kDoubles{expr::TypeKind::kDouble, true, 0, true};

ArrayPtr realLists(const std::vector<std::vector<std::int64_t>>& rows) {
    return cast(longs(rows), kLongs, kDoubles);
}

ArrayPtr times(const ArrayPtr& micros) {
    if (micros->type_id() != arrow::Type::LIST) {
        return *micros->View(arrow::timestamp(arrow::TimeUnit::MICRO));
    }
    const auto& list = static_cast<const arrow::ListArray&>(*micros);
    return *arrow::ListArray::FromArrays(
        *list.offsets(), **list.values()->View(arrow::timestamp(arrow::TimeUnit::MICRO)));
}

std::int64_t hashed(std::int64_t value, std::uint64_t rows) {
    return static_cast<std::int64_t>(1 + CanonicalBytes().integer(value).hash() % (rows - 1));
}

template <class T>
std::vector<T> firstOf(const void* values, std::int64_t n) {
    return {static_cast<const T*>(values), static_cast<const T*>(values) + n};
}

void embed(Bench& bench, const std::string& feature, std::int64_t rows = 1000) {
    bench.spec.embeddings[feature].features = {feature};
    bench.spec.embeddings[feature].rows = rows;
}

TEST(WeightedLists, CarryAWeightBesideEachId) {
    Bench bench;
    bench.filter("k <> 1");
    bench.spec.features.weighted = {{"w", "ids", "ws"}};
    embed(bench, "w");
    MemoryColumns data({{"k", ints({0, 1, 2, 3})},
                        {"ids", longs({{1, kNull}, {4}, {kNull, kNull}, {5, 6}})},
                        {"ws", realLists({{10, 20}, {40}, {}, {50, 60}})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    ASSERT_EQ(batch->weighted.size(), 1);
    const WeightedColumn& w = batch->weighted[0];
    EXPECT_EQ(w.name, "w");
    EXPECT_THAT(firstOf<std::int32_t>(w.offsets, 4), ElementsAre(0, 2, 2, 4));
    EXPECT_THAT(firstOf<std::int64_t>(w.values, 4),
                ElementsAre(hashed(1, 1000), 0, hashed(5, 1000), hashed(6, 1000)));
    EXPECT_THAT(firstOf<float>(w.weights, 4), ElementsAre(10, 20, 50, 60));
}

TEST(WeightedLists, OfUnequalLengthsAndNullWeightsAreNamed) {
    Bench bench;
    bench.firstRow = 10;
    bench.spec.features.weighted = {{"w", "ids", "ws"}};
    embed(bench, "w");
    MemoryColumns longer({{"ids", longs({{1}, {2, 3}})}, {"ws", realLists({{1}, {2}})}});
    EXPECT_EQ(std::string(messageOf(bench.run(longer).status())),
              "f.csv: row 11: features.weighted.w: 2 ids in 'ids', but 1 weights in 'ws'; the "
              "lists of a row must be of one length");
    MemoryColumns null({{"ids", longs({{}, {2}})}, {"ws", realLists({{}, {kNull}})}});
    EXPECT_EQ(std::string(messageOf(bench.run(null).status())),
              "f.csv: row 11: features.weighted.w: a weight in 'ws' is null; it must be a finite "
              "number");
}

struct HistoryTest : public ::testing::Test {
    HistoryTest() {
        spec::SequenceFeature& history = bench.spec.features.sequences["history"];
        history.columns = {"item", "price", "at"};
        history.time = "at";
        embed(bench, "item");
    }
    /// Three rows with the times 30, 20, null, and actions at 10, 20, 30.
    MemoryColumns actions() {
        return MemoryColumns({{"now", times(ints({30, 20, kNull}))},
                              {"item", longs({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}})},
                              {"price", realLists({{1, kNull, 3}, {4, 5, 6}, {7, 8, 9}})},
                              {"at", times(longs({{10, 20, 30}, {10, 20, 30}, {10, 20, 30}}))}});
    }
    Bench bench;
};

TEST_F(HistoryTest, AlignedListsShareTheirOffsets) {
    MemoryColumns data = actions();
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    ASSERT_EQ(batch->sequences.size(), 3);
    const SequenceColumn &item = batch->sequences[0], &price = batch->sequences[1],
                         &at = batch->sequences[2];
    EXPECT_EQ(item.sequence, "history");
    EXPECT_EQ(item.offsets, at.offsets);
    EXPECT_THAT(firstOf<std::int32_t>(item.offsets, 4), ElementsAre(0, 3, 6, 9));
    EXPECT_EQ(firstOf<std::int64_t>(item.values, 1)[0], hashed(1, 1000));
    EXPECT_EQ(price.value, SequenceValue::kFloat);
    EXPECT_THAT(firstOf<float>(price.values, 3), ElementsAre(1, 0, 3));
    EXPECT_EQ(at.value, SequenceValue::kTime);
    EXPECT_THAT(firstOf<std::int64_t>(at.values, 3), ElementsAre(10, 20, 30));
}

TEST_F(HistoryTest, OnlyWhatIsBeforeTheRowsTimeStays) {
    bench.spec.features.sequences["history"].before = "now";
    MemoryColumns data = actions();
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    // The row at 30 has the actions at 10 and 20, not the one at 30. A row without a time has no
    // past.
    EXPECT_THAT(firstOf<std::int32_t>(batch->sequences[0].offsets, 4), ElementsAre(0, 2, 3, 3));
    EXPECT_THAT(firstOf<std::int64_t>(batch->sequences[0].values, 3),
                ElementsAre(hashed(1, 1000), hashed(2, 1000), hashed(4, 1000)));
    EXPECT_THAT(firstOf<std::int64_t>(batch->sequences[2].values, 3), ElementsAre(10, 20, 10));
}

TEST_F(HistoryTest, LastKeepsTheNewestOfWhatIsBefore) {
    bench.spec.features.sequences["history"].before = "now";
    bench.spec.features.sequences["history"].last = 1;
    MemoryColumns data = actions();
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(firstOf<std::int32_t>(batch->sequences[0].offsets, 4), ElementsAre(0, 1, 2, 2));
    EXPECT_THAT(firstOf<std::int64_t>(batch->sequences[2].values, 2), ElementsAre(20, 10));
}

TEST_F(HistoryTest, IntegersMayBeTimesAndNullTimesAreNotBefore) {
    bench.spec.features.sequences["history"].columns = {"item"};
    bench.spec.features.sequences["history"].before = "now";
    MemoryColumns data(
        {{"now", ints({30})}, {"item", longs({{1, 2, 3}})}, {"at", longs({{40, kNull, 10}})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(firstOf<std::int32_t>(batch->sequences[0].offsets, 2), ElementsAre(0, 1));
    EXPECT_EQ(firstOf<std::int64_t>(batch->sequences[0].values, 1)[0], hashed(3, 1000));
}

TEST_F(HistoryTest, ListsThatAreNotAlignedAreNamed) {
    bench.spec.features.sequences["history"].columns = {"item", "price"};
    bench.spec.features.sequences["history"].before = "now";
    MemoryColumns data({{"now", ints({30})},
                        {"item", longs({{1, 2}})},
                        {"price", realLists({{1, 2}})},
                        {"at", longs({{1}})}});
    EXPECT_EQ(std::string(messageOf(bench.run(data).status())),
              "f.csv: row 0: features.sequences.history: 2 elements in 'item', but 1 in 'at'; the "
              "lists of a row must be of one length");
}

TEST_F(HistoryTest, AColumnMayBeInTwoSequences) {
    spec::SequenceFeature recent = bench.spec.features.sequences["history"];
    recent.last = 1;
    bench.spec.features.sequences["recent"] = recent;
    MemoryColumns data = actions();
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    ASSERT_EQ(batch->sequences.size(), 6);
    EXPECT_EQ(batch->sequences[3].sequence, "recent");
    EXPECT_THAT(firstOf<std::int32_t>(batch->sequences[3].offsets, 4), ElementsAre(0, 1, 2, 3));
}

TEST_F(HistoryTest, AnEmptySplitHasAllColumns) {
    bench.filter("false");
    bench.spec.features.sequences["history"].before = "now";
    bench.spec.features.weighted = {{"w", "item", "price"}};
    embed(bench, "w");
    MemoryColumns data = actions();
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    ASSERT_EQ(batch->sequences.size(), 3);
    EXPECT_EQ(batch->sequences[0].offsets[0], 0);
    EXPECT_EQ(batch->weighted[0].offsets[0], 0);
}

/// Records the columns of each request.
struct AskedColumns : MemoryColumns {
    using MemoryColumns::MemoryColumns;
    Result<std::vector<ArrayPtr>> columns(const std::vector<std::string>& names) override {
        asked.push_back(names);
        return MemoryColumns::columns(names);
    }
    std::vector<std::vector<std::string>> asked;
};

// Neighbouring truncations read their lists in one request, except lists that one of them has made,
// and lists for later steps.
TEST(TruncatedLists, AreReadTogether) {
    Bench bench;
    const auto truncate = [&](const std::string& column, const std::string& as,
                              const std::string& from) {
        auto& step =
            bench.add<spec::TruncateStep>("cut" + std::to_string(bench.spec.recipe.size()));
        step.column = column;
        step.as = as;
        step.length = 2;
        step.from = from;
    };
    truncate("a", "a", "last");
    truncate("b", "short", "first");
    truncate("short", "shorter", "last");
    bench.derive("sum", "length(a) + length(c)");
    truncate("d", "d", "last");
    bench.spec.features.lists = {"a", "shorter", "d"};
    for (const std::string& name : bench.spec.features.lists) {
        embed(bench, name);
    }
    const ArrayPtr lists = longs({{1, 2, 3}, {}, {kNull, kNull}, {4, 5}});
    AskedColumns data({{"a", lists}, {"b", lists}, {"c", lists}, {"d", lists}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(data.asked, ElementsAre(ElementsAre("a", "b"), ElementsAre("c"), ElementsAre("d")));
    ASSERT_EQ(batch->lists.size(), 3);
    for (const ListColumn& list : batch->lists) {
        const bool isFirst = list.name == "shorter";
        EXPECT_THAT(firstOf<std::int32_t>(list.offsets, 5), ElementsAre(0, 2, 2, 2, 4))
            << list.name;
        EXPECT_THAT(firstOf<std::int64_t>(list.values, 4),
                    ElementsAre(hashed(isFirst ? 1 : 2, 1000), hashed(isFirst ? 2 : 3, 1000),
                                hashed(4, 1000), hashed(5, 1000)))
            << list.name;
    }
    EXPECT_EQ(batch->steps[1].reasons[0], 1);
    EXPECT_EQ(batch->steps[3].reasons[0], 0);
}

TEST(ListFeatures, PlainListsAreVectorsOfAGivenSizeOrAnErrorWithTheirRow) {
    Bench bench;
    bench.spec.features.vectors = {"v"};
    bench.spec.features.vectorSizes = {{"v", 2}};
    MemoryColumns data({{"v", realLists({{kNull, kNull}, {1, 2}, {3, kNull}})}});
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_EQ(batch->vectors[0].width, 2);
    EXPECT_THAT(std::vector<float>(batch->vectors[0].values, batch->vectors[0].values + 6),
                ElementsAre(0, 0, 1, 2, 3, 0));
    for (const auto& [wrong, count] : {std::pair(std::vector<std::int64_t>{1, 2, 3}, "3"),
                                       std::pair(std::vector<std::int64_t>{}, "0")}) {
        MemoryColumns other({{"v", realLists({{1, 2}, {3, 4}, wrong})}});
        EXPECT_THAT(std::string(messageOf(bench.run(other).status())),
                    HasSubstr(strCat(": row 2: features.vectors: column 'v' has ", count,
                                     " values, not 2 (its size)")));
    }
}

}  // namespace
}  // namespace millrace::recipe

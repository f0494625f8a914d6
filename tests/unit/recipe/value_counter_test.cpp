// Counted values: their order, limits and memory, and their file.
#include "backend/recipe/value_counter.h"

#include <thread>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_primitive.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/recipe/recipe_fixture.h"

namespace millrace::recipe {
namespace {

using test::ints;
using test::texts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kPlenty = 64'000'000;

/// Numbers the values and counts them as the rows have them.
void count(ValueCounter& counter, const eval::ArrayPtr& values) {
    const Result<eval::ArrayPtr> numbers = counter.number(values);
    ASSERT_TRUE(numbers.ok()) << numbers.status();
    const auto& ids = static_cast<const arrow::Int64Array&>(**numbers);
    counter.add({ids.raw_values(), static_cast<std::size_t>(ids.length())});
}

/// "value x count", in the order of the ids.
std::vector<std::string> shown(const Result<CountedValues>& counted) {
    EXPECT_TRUE(counted.ok()) << counted.status();
    std::vector<std::string> out;
    for (std::int64_t i = 0; counted.ok() && i < counted->values->length(); ++i) {
        out.push_back(strCat((*counted->values->GetScalar(i))->ToString(), " x ",
                             (*counted->counts->GetScalar(i))->ToString()));
    }
    return out;
}

class ValueCounterTest : public ::testing::Test {
 protected:
    MemoryBudget budget_{kPlenty};
};

TEST_F(ValueCounterTest, IntegersComeByFallingCountAndThenAsNumbers) {
    ValueCounter counter("c", budget_);
    counter.setType("int64");
    count(counter, ints({7, -3, 100, 7, -20, 5, 100, test::kNull, 7}));
    EXPECT_THAT(shown(counter.take(1, 0)),
                ElementsAre("7 x 3", "100 x 2", "-20 x 1", "-3 x 1", "5 x 1"));
}

TEST_F(ValueCounterTest, AValueThatDoesNotFitIsNotKnownLater) {
    MemoryBudget none(1);
    ValueCounter counter("c", none);
    counter.setType("int64");
    for (int i = 0; i < 2; ++i) {
        EXPECT_FALSE(counter.number(ints({7})).ok());
    }
}

TEST_F(ValueCounterTest, TextsOfOneCountComeByTheirBytes) {
    ValueCounter counter("c", budget_);
    counter.setType("string");
    count(counter, texts({"b", "B", "\xc3\xa4", "ab", "a", "b", "", "\x01"}));
    EXPECT_THAT(shown(counter.take(1, 0)),
                ElementsAre("b x 2", " x 1", "B x 1", "a x 1", "ab x 1", "\xc3\xa4 x 1"))
        << "null, which is not a value, is left out";
}

TEST_F(ValueCounterTest, UnsignedIntegersOfAllBitsAreTheLargest) {
    ValueCounter counter("c", budget_);
    counter.setType("uint64");
    arrow::UInt64Builder values;
    ASSERT_TRUE(values.AppendValues({UINT64_MAX, 1, std::uint64_t{1} << 63}).ok());
    count(counter, *values.Finish());
    EXPECT_THAT(shown(counter.take(1, 0)),
                ElementsAre("1 x 1", "9223372036854775808 x 1", "18446744073709551615 x 1"));
}

TEST_F(ValueCounterTest, RareValuesAndThoseBeyondTheBoundAreLeftOut) {
    ValueCounter counter("c", budget_);
    count(counter, ints({1, 1, 1, 2, 2, 3, 3, 4}));
    EXPECT_THAT(shown(counter.take(2, 0)), ElementsAre("1 x 3", "2 x 2", "3 x 2"));
    EXPECT_THAT(shown(counter.take(1, 2)), ElementsAre("1 x 3", "2 x 2"));
    EXPECT_THAT(shown(counter.take(9, 0)), IsEmpty());
}

TEST_F(ValueCounterTest, WhatIsOnlyNumberedDoesNotCount) {
    ValueCounter counter("c", budget_);
    ASSERT_TRUE(counter.number(ints({1, 2, 3})).ok());
    count(counter, ints({2}));
    EXPECT_THAT(shown(counter.take(1, 0)), ElementsAre("2 x 1"));
}

TEST_F(ValueCounterTest, ManyThreadsCountAsOneDoes) {
    const auto counted = [this](int threads) {
        ValueCounter counter("c", budget_);
        std::vector<std::jthread> all;
        for (int t = 0; t < threads; ++t) {
            all.emplace_back([&counter, t, threads] {
                for (std::int64_t i = t; i < 4'000; i += threads) {
                    count(counter, ints({i % 997, i % 31, i * i % 1'009}));
                }
            });
        }
        all.clear();
        const auto values = counter.take(1, 0);
        EXPECT_TRUE(values.ok());
        return values->hash();
    };
    EXPECT_EQ(counted(1), counted(7));
}

TEST_F(ValueCounterTest, MoreValuesThanFitAreRefusedWithTheWaysOut) {
    MemoryBudget little(100'000);
    ValueCounter counter("user", little);
    std::vector<std::int64_t> many(5'000);
    for (std::size_t i = 0; i < many.size(); ++i) {
        many[i] = static_cast<std::int64_t>(i);
    }
    const auto numbers = counter.number(ints(many));
    EXPECT_EQ(numbers.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(messageOf(numbers.status())),
                ::testing::AllOf(HasSubstr("embeddings.user.vocabulary: more than "),
                                 HasSubstr("resources.memory_limit_mb"), HasSubstr("rows")));
}

TEST_F(ValueCounterTest, AFileGivesTheValuesBackUnlessItIsDamaged) {
    ValueCounter counter("c", budget_);
    counter.setType("string");
    count(counter, texts({"red", "green", "red"}));
    const auto counted = counter.take(1, 0);
    ASSERT_TRUE(counted.ok());
    const auto file = counted->toFile();
    ASSERT_TRUE(file.ok()) << file.status();
    const auto read = CountedValues::ofFile(*file, counted->hash(), "x");
    EXPECT_THAT(shown(read), ElementsAre("red x 2", "green x 1"));
    EXPECT_EQ(CountedValues::ofFile(*file, std::string(32, '0'), "x").status().code(),
              absl::StatusCode::kDataLoss);
    for (std::size_t at = 0; at < file->size(); at += 7) {
        std::string damaged = *file;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
        const auto found = CountedValues::ofFile(damaged, counted->hash(), "x");
        EXPECT_TRUE(!found.ok() || found->hash() == counted->hash()) << at;
    }
    EXPECT_FALSE(
        CountedValues::ofFile(file->substr(0, file->size() / 2), counted->hash(), "x").ok());
    EXPECT_FALSE(CountedValues::ofFile("", counted->hash(), "x").ok());
}

// Values of a binary column are the engine's texts and need not be UTF-8.
TEST_F(ValueCounterTest, AFileHoldsBytesThatAreNotUtf8) {
    ValueCounter counter("c", budget_);
    counter.setType("string");
    const std::string zeros("\0\xfe\0", 3);
    count(counter, texts({"\xff\x80", "plain", "\xff\x80", zeros, ""}));
    const auto counted = counter.take(1, 0);
    ASSERT_TRUE(counted.ok());
    const auto file = counted->toFile();
    ASSERT_TRUE(file.ok()) << file.status();
    const auto read = CountedValues::ofFile(*file, counted->hash(), "x");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->type().kind, expr::TypeKind::kString);
    EXPECT_EQ(read->hash(), counted->hash());
    const auto& values = static_cast<const arrow::StringArray&>(*read->values);
    EXPECT_EQ(values.GetView(0), "\xff\x80");
    EXPECT_EQ(values.GetView(2), zeros);
}

TEST(CountedVocabulary, ValuesHaveTheIdsOfTheirPlaces) {
    test::Bench bench;
    bench.spec.features.ids = {"c"};
    bench.spec.embeddings["c"].features = {"c"};
    spec::VocabularySpec vocabulary;
    vocabulary.hash = std::string(32, 'a');
    bench.spec.embeddings["c"].vocabulary = vocabulary;
    test::MemoryColumns data({{"c", texts({"blue", "pink", "red", "\x01"})}});
    auto tables = diskTables({bench.dir.path(), std::make_shared<dataset::MetadataCache>()});
    tables.counted = [](const std::string&) -> Result<CountedValues> {
        return CountedValues{texts({"red", "blue"}), ints({9, 3})};
    };
    const auto compiled =
        CompiledRecipe::compile(bench.spec, Part::kTrain, data.schema(), tables, nullptr);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const auto batch = (*compiled)->run({1, "f.csv", 0, 4, &data}, 0);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(std::vector<std::int64_t>(batch->ids[0].values, batch->ids[0].values + 4),
                ElementsAre(2, 0, 1, 0));
    EXPECT_EQ(batch->vocabularies[0].unknown, 1);
}

TEST(CountedVocabulary, ASpecWhoseValuesAreNotCountedIsNotRun) {
    test::Bench bench;
    bench.spec.features.ids = {"c"};
    bench.spec.embeddings["c"].features = {"c"};
    bench.spec.embeddings["c"].vocabulary = spec::VocabularySpec();
    test::MemoryColumns data({{"c", texts({"blue"})}});
    EXPECT_THAT(std::string(messageOf(bench.run(data).status())),
                HasSubstr("embeddings.c.vocabulary: its values are not counted yet"));
}

TEST(Vocabulary, AVocabularyMayTakeTheFirstOfEqualValues) {
    test::Bench bench;
    bench.dir.text("v.csv", "word\nred\ngreen\nred\nblue\n");
    bench.spec.features.ids = {"c"};
    bench.spec.embeddings["c"].features = {"c"};
    bench.spec.embeddings["c"].vocabulary = spec::VocabularySpec{"v.csv", "word"};
    test::MemoryColumns data({{"c", texts({"blue", "red"})}});
    EXPECT_THAT(std::string(messageOf(bench.run(data).status())),
                HasSubstr("on_duplicate: first takes the first"));
    bench.spec.embeddings["c"].vocabulary->onDuplicate = "first";
    const auto batch = bench.run(data);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(std::vector<std::int64_t>(batch->ids[0].values, batch->ids[0].values + 2),
                ElementsAre(4, 1));
}

}  // namespace
}  // namespace millrace::recipe

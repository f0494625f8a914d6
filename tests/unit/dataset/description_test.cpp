#include "backend/dataset/description.h"

#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_time.h>
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>

#include "backend/arrays/value_text.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::dataset {
namespace {

using test::DataDirectory;
using test::ints;
using test::reals;
using test::texts;
using ::testing::HasSubstr;

constexpr std::int64_t kNull = INT64_MIN;

Result<std::shared_ptr<const Dataset>> openAt(const DataDirectory& dir, const std::string& path,
                                              const std::string& format = "parquet") {
    files::ReadOptions options;
    options.format = format;
    return Dataset::open({path}, dir.path(), options, std::make_shared<MetadataCache>(), 2);
}

std::vector<ColumnInfo> factsOf(const DataDirectory& dir, const std::string& path,
                                const DescribeOptions& options = {}) {
    const auto dataset = openAt(dir, path);
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    const auto facts = columnFacts(**dataset, options);
    EXPECT_TRUE(facts.ok()) << facts.status();
    return *facts;
}

TEST(Description, CountsFilesRowsRowGroupsAndBytes) {
    DataDirectory dir;
    dir.parquet("a.parquet", {{"x", ints(std::vector<std::int64_t>(20, 1))}}, 10);
    dir.parquet("b.parquet", {{"x", ints(std::vector<std::int64_t>(5, 1))}}, 10);
    const Json json = *describe(**openAt(dir, "."));
    EXPECT_EQ(json.at("files_total"), 2);
    EXPECT_EQ(json.at("rows"), 25);
    EXPECT_EQ(json.at("row_groups"), 3);
    EXPECT_EQ(json.at("decoded_bytes"), 200);
    EXPECT_EQ(json.at("columns").at(0).at("type"), "int64");
    const Json& file = json.at("files").at(0);
    EXPECT_EQ(file.at("path"), dir.at("a.parquet"));
    EXPECT_EQ(file.at("bytes"), std::filesystem::file_size(dir.at("a.parquet")));
    ASSERT_EQ(file.at("row_groups").size(), 2);
    EXPECT_EQ(file.at("row_groups").at(1).at("rows"), 10);
    EXPECT_EQ(file.at("row_groups").at(1).at("decoded_bytes"), 80);
    EXPECT_GT(file.at("row_groups").at(1).at("disk_bytes"), 0);
}

TEST(Description, ListsTheFirstFilesAndCountsAll) {
    DataDirectory dir;
    for (const char* name : {"a.parquet", "b.parquet", "c.parquet"}) {
        dir.parquet(name, {{"x", ints({1, 2})}});
    }
    DescribeOptions options;
    options.filesMax = 2;
    const Json json = *describe(**openAt(dir, "."), options);
    EXPECT_EQ(json.at("files").size(), 2);
    EXPECT_EQ(json.at("files_total"), 3);
    EXPECT_EQ(json.at("rows"), 6);
}

TEST(Description, StatisticsAreThoseOfAllRowGroupsAndFiles) {
    DataDirectory dir;
    dir.parquet("a.parquet", {{"x", ints({5, kNull, 7, 8})}, {"s", texts({"m", "n", "b", "\x01"})}},
                2);
    dir.parquet("b.parquet", {{"x", ints({-3, kNull})}, {"s", texts({"z", "y"})}}, 2);
    const std::vector<ColumnInfo> facts = factsOf(dir, ".");
    EXPECT_EQ(facts[0].nulls, 2);
    EXPECT_EQ(facts[0].min, "-3");
    EXPECT_EQ(facts[0].max, "8");
    EXPECT_GT(facts[0].diskBytes, 0);
    EXPECT_EQ(facts[0].decodedBytes, 48);
    EXPECT_TRUE(facts[0].isNullable);
    EXPECT_THAT(facts[0].encoding, HasSubstr("PLAIN"));
    EXPECT_EQ(facts[1].nulls, 1);
    EXPECT_EQ(facts[1].min, "b");
    EXPECT_EQ(facts[1].max, "z");
}

TEST(Description, AColumnWithoutAnyValueHasNoBounds) {
    DataDirectory dir;
    dir.parquet("a.parquet", {{"x", ints({kNull, kNull})}});
    const ColumnInfo facts = factsOf(dir, ".")[0];
    EXPECT_EQ(facts.nulls, 2);
    EXPECT_EQ(facts.min, "");
    EXPECT_EQ(facts.max, "");
}

TEST(Description, ListsHaveNoNullCountAndNoBounds) {
    DataDirectory dir;
    arrow::ListBuilder builder(arrow::default_memory_pool(),
                               std::make_shared<arrow::Int64Builder>());
    auto& values = static_cast<arrow::Int64Builder&>(*builder.value_builder());
    ASSERT_TRUE(builder.Append().ok() && values.AppendValues({1, 2}).ok() &&
                builder.AppendNull().ok());
    dir.parquet("a.parquet", {{"l", *builder.Finish()}});
    const ColumnInfo facts = factsOf(dir, ".")[0];
    EXPECT_FALSE(facts.nulls.has_value());
    EXPECT_EQ(facts.min, "");
    EXPECT_FALSE(facts.toJson().contains("nulls"));
}

TEST(Description, WhatIsNotKnownIsAbsentNotZero) {
    DataDirectory dir;
    dir.text("a.csv", "x,s\n1,a\n,b\n");
    const Json json = *describe(**openAt(dir, "a.csv", "csv"));
    const Json& column = json.at("columns").at(0);
    for (const char* key : {"nulls", "disk_bytes", "min", "max", "encoding", "codec"}) {
        EXPECT_FALSE(column.contains(key)) << key;
    }
    EXPECT_EQ(column.at("is_nullable"), true);
}

TEST(Description, SaysWhatIsLeftOutAndWhy) {
    DataDirectory dir;
    const auto pairs = arrow::json::ArrayFromJSONString(arrow::map(arrow::utf8(), arrow::int64()),
                                                        R"([[["a", 1]], []])");
    const auto user = arrow::json::ArrayFromJSONString(
        arrow::struct_({arrow::field("age", arrow::int64())}), R"([{"age": 7}, {"age": 8}])");
    dir.parquet("a.parquet", {{"x", ints({1, 2})}, {"pairs", *pairs}, {"user", *user}});
    const Json json = *describe(**openAt(dir, "."));
    ASSERT_EQ(json.at("columns").size(), 2) << json;
    EXPECT_EQ(json.at("columns").at(1).at("name"), "user.age");
    ASSERT_EQ(json.at("left_out").size(), 1) << "a struct's fields are columns";
    EXPECT_EQ(json.at("left_out").at(0).at("name"), "pairs");
    EXPECT_THAT(json.at("left_out").at(0).at("why").get<std::string>(),
                HasSubstr("is a map<string, int64>: its keys differ"));
    dir.parquet("b/b.parquet", {{"x", ints({1, 2})}});
    EXPECT_TRUE(describe(**openAt(dir, "b"))->at("left_out").empty());
}

TEST(Description, TooManyFilesGetNoStatistics) {
    DataDirectory dir;
    dir.parquet("a.parquet", {{"x", ints({1})}});
    dir.parquet("b.parquet", {{"x", ints({2})}});
    DescribeOptions options;
    options.statisticsMax = 1;
    EXPECT_FALSE(factsOf(dir, ".", options)[0].nulls.has_value());
    EXPECT_EQ(factsOf(dir, ".", options)[0].decodedBytes, 16);
}

TEST(Description, AFileThatVanishedIsNamed) {
    DataDirectory dir;
    dir.parquet("a.parquet", {{"x", ints({1})}});
    const auto dataset = openAt(dir, ".");
    ASSERT_TRUE(dataset.ok());
    std::filesystem::remove(dir.at("a.parquet"));
    EXPECT_THAT(messageOf(columnFacts(**dataset).status()), HasSubstr("a.parquet"));
}

TEST(ValueText, NumbersAreShortestRoundTrip) {
    EXPECT_EQ(arrays::valueText(*ints({-12}), 0), "-12");
    EXPECT_EQ(arrays::valueText(*reals({0.1}), 0), "0.1");
    EXPECT_EQ(arrays::valueText(*reals({1}), 0), "1");
    EXPECT_EQ(arrays::valueText(*reals({std::nan("")}), 0), "NaN");
    EXPECT_EQ(arrays::valueText(*reals({-INFINITY}), 0), "-Infinity");
}

std::string timeOf(std::int64_t micros) {
    arrow::TimestampBuilder builder(arrow::timestamp(arrow::TimeUnit::MICRO),
                                    arrow::default_memory_pool());
    EXPECT_TRUE(builder.Append(micros).ok());
    return arrays::valueText(**builder.Finish(), 0);
}

TEST(ValueText, TimesAreCivilTimesBeforeAndAfter1970) {
    EXPECT_EQ(timeOf(0), "1970-01-01 00:00:00");
    EXPECT_EQ(timeOf(951'826'553'500'000), "2000-02-29 12:15:53.5");
    EXPECT_EQ(timeOf(-1), "1969-12-31 23:59:59.999999");
    EXPECT_EQ(timeOf(-86'400'000'000), "1969-12-31 00:00:00");
    arrow::Date32Builder days;
    ASSERT_TRUE(days.Append(19'753).ok());
    EXPECT_EQ(arrays::valueText(**days.Finish(), 0), "2024-01-31");
}

TEST(ValueText, TextsAreCutAtACharacter) {
    EXPECT_EQ(arrays::valueText(*texts({"abc"}), 0, 3), "abc");
    EXPECT_EQ(arrays::valueText(*texts({"abcd"}), 0, 3), "abc…");
    EXPECT_EQ(arrays::valueText(*texts({"aäb"}), 0, 2), "a…");
    EXPECT_EQ(arrays::valueText(*texts({std::string(1000, 'x')}), 0).size(), 200 + 3);
}

TEST(ValueText, InvalidUtf8IsReplaced) {
    EXPECT_EQ(arrays::valueText(*texts({"a\xff"
                                        "b"}),
                                0),
              "a\xef\xbf\xbd"
              "b");
    EXPECT_EQ(arrays::valueText(*texts({"\xed\xa0\x80"}), 0),
              "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate
}

TEST(ValueText, ListsStandInBracketsAndAreCutBetweenElements) {
    arrow::ListBuilder builder(arrow::default_memory_pool(),
                               std::make_shared<arrow::StringBuilder>());
    auto& values = static_cast<arrow::StringBuilder&>(*builder.value_builder());
    ASSERT_TRUE(builder.Append().ok() && values.Append("a").ok() && values.AppendNull().ok() &&
                values.Append("b").ok() && builder.Append().ok());
    const auto list = *builder.Finish();
    EXPECT_EQ(arrays::valueText(*list, 0), "[\"a\", null, \"b\"]");
    EXPECT_EQ(arrays::valueText(*list, 1), "[]");
    EXPECT_EQ(arrays::valueText(*list, 0, 10), "[\"a\", …]");
}

}  // namespace
}  // namespace millrace::dataset

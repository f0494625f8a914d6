// Fields of structs by path, and the error for every type that cannot be a feature.
#include "backend/arrays/column_tree.h"

#include <arrow/array/array_nested.h>
#include <arrow/array/builder_nested.h>
#include <arrow/buffer.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/writer.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>

#include "backend/dataset/dataset.h"
#include "backend/dataset/description.h"
#include "backend/dataset/plan/split_pruner.h"
#include "backend/dataset/side_table.h"
#include "backend/dataset/split_reader.h"
#include "backend/expr/expression.h"
#include "backend/files/facts_pack.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::dataset {
namespace {

using test::DataDirectory;
using test::ints;
using ::testing::HasSubstr;
using ArrayPtr = std::shared_ptr<arrow::Array>;
using TypePtr = std::shared_ptr<arrow::DataType>;

ArrayPtr fromJson(const TypePtr& type, const std::string& values) {
    auto array = arrow::json::ArrayFromJSONString(type, values);
    EXPECT_TRUE(array.ok()) << array.status();
    return *array;
}

TypePtr userType() {
    return arrow::struct_(
        {arrow::field("age", arrow::int64()),
         arrow::field("home", arrow::struct_({arrow::field("zip", arrow::utf8()),
                                              arrow::field("ids", arrow::list(arrow::int64()))}))});
}

ArrayPtr users() {
    return fromJson(userType(),
                    R"([{"age": 30, "home": {"zip": "10115", "ids": [1, 2]}},
                        null,
                        {"age": null, "home": null},
                        {"age": 7, "home": {"zip": null, "ids": []}},
                        {"age": 8, "home": {"zip": "8001", "ids": null}}])");
}

std::shared_ptr<const Dataset> opened(const std::string& path, const std::string& format) {
    files::ReadOptions options;
    options.format = format;
    auto dataset = Dataset::open({path}, "/", options, std::make_shared<MetadataCache>());
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return *dataset;
}

std::string writeArrow(const DataDirectory& dir, const std::string& name, const ArrayPtr& values) {
    const auto batch = arrow::RecordBatch::Make(
        arrow::schema({arrow::field("user", values->type())}), values->length(), {values});
    auto sink = *arrow::io::FileOutputStream::Open(dir.at(name));
    auto writer = *(name.ends_with("s") ? arrow::ipc::MakeStreamWriter(sink, batch->schema())
                                        : arrow::ipc::MakeFileWriter(sink, batch->schema()));
    EXPECT_TRUE(writer->WriteRecordBatch(*batch).ok() && writer->Close().ok() &&
                sink->Close().ok());
    return dir.at(name);
}

void expectUsers(const std::string& path, const std::string& format) {
    const auto dataset = opened(path, format);
    EXPECT_EQ(dataset->schema().names(),
              (std::vector<std::string>{"user.age", "user.home.zip", "user.home.ids"}))
        << format;
    SplitReader reader(dataset);
    const auto read =
        reader.readColumns({0, 0, 0, 5}, {"user.home.zip", "user.age", "user.home.ids"});
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(
        read->at(0)->Equals(fromJson(arrow::utf8(), R"(["10115", null, null, null, "8001"])")))
        << format << read->at(0)->ToString();
    EXPECT_TRUE(read->at(1)->Equals(fromJson(arrow::int64(), "[30, null, null, 7, 8]")))
        << format << read->at(1)->ToString();
    EXPECT_TRUE(read->at(2)->Equals(
        fromJson(arrow::list(arrow::int64()), "[[1, 2], null, null, [], null]")))
        << format << read->at(2)->ToString();
    const std::vector<std::int64_t> rows = {0, 3};
    const auto some = reader.readRows({0, 0, 0, 5}, {"user.age"}, {&rows, false});
    ASSERT_TRUE(some.ok()) << some.status();
    EXPECT_TRUE(some->at(0)->Equals(ints({30, 7})));
}

TEST(ColumnTree, FieldsOfStructsAreColumnsByPathInEveryFormat) {
    DataDirectory dir;
    expectUsers(dir.parquet("a.parquet", {{"user", users()}}), "parquet");
    expectUsers(writeArrow(dir, "a.arrow", users()), "arrow");
    expectUsers(writeArrow(dir, "a.arrows", users()), "arrow");
}

TEST(ColumnTree, AColumnOfItsOwnWinsOverAFieldOfTheSamePath) {
    DataDirectory dir;
    const ArrayPtr field =
        fromJson(arrow::struct_({arrow::field("age", arrow::int64())}), R"([{"age": 1}])");
    const auto dataset =
        opened(dir.parquet("a.parquet", {{"user", field}, {"user.age", ints({2})}}), "parquet");
    SplitReader reader(dataset);
    const auto read = reader.readColumns({0, 0, 0, 1}, {"user.age"});
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(read->at(0)->Equals(ints({2})));
    EXPECT_EQ((*columnFacts(*dataset)).at(0).max, "2");
}

TEST(ColumnTree, StatisticsOfFieldsPruneAndAreShown) {
    DataDirectory dir;
    const auto dataset = opened(
        dir.parquet("a.parquet", {{"user", users()}, {"n", ints({1, 2, 3, 4, 5})}}, 3), "parquet");
    const auto facts = columnFacts(*dataset);
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->at(0).name, "user.age");
    EXPECT_EQ(facts->at(0).nulls, 2);
    EXPECT_EQ(facts->at(0).min, "7");
    EXPECT_EQ(facts->at(0).max, "30");
    EXPECT_GT(facts->at(0).diskBytes.value_or(0), 0);
    spec::RunSpec spec;
    spec.dataset.where = "user.age > 20";
    const SplitPruner pruner = SplitPruner::make(spec, dataset->schema(), false);
    SplitReader reader(dataset);
    EXPECT_EQ(reader.provesEmpty({0, 0, 0, 3}, pruner).value(), false);
    EXPECT_EQ(reader.provesEmpty({0, 1, 3, 2}, pruner).value(), true);
}

TEST(ColumnTree, SideTablesHaveFieldsToo) {
    DataDirectory dir;
    dir.parquet("users.parquet", {{"user", users()}});
    const auto table =
        loadTable("users.parquet", {"user.age"}, {dir.path(), std::make_shared<MetadataCache>()});
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ((*table)->column(0)->null_count(), 2);
}

std::string refusal(const TypePtr& type) {
    expr::Schema schema;
    arrays::addColumns(*arrow::schema({arrow::field("c", type)}), schema);
    EXPECT_EQ(schema.find("c"), nullptr) << type->ToString();
    return schema.whyUnknown("c");
}

TEST(ColumnTree, WhatCannotBeAFeatureIsRefusedWithASentence) {
    using namespace arrow;  // NOLINT
    EXPECT_EQ(refusal(map(utf8(), int64())),
              "column 'c' is a map<string, int64>: its keys differ from row to row and are not "
              "columns; write the keys and the values as two list columns (c_keys, c_values)");
    EXPECT_EQ(refusal(list(struct_({field("id", int64()), field("w", float32())}))),
              "column 'c' is a list<item: struct<id: int64, w: float>>: an element has several "
              "values; write each field as a list column of its own (c_id, ...)");
    EXPECT_EQ(refusal(large_list(list(int64()))),
              "column 'c' is a large_list<item: list<item: int64>>: a feature is a list of plain "
              "values; write the inner lists one after the other as one list, and their lengths "
              "as a second list column (c_lengths)");
    EXPECT_EQ(refusal(list(map(utf8(), int64()))),
              "column 'c' is a list<item: map<string, int64>>: an element has no fixed fields; "
              "write the keys and the values that matter as list columns of their own (c_keys, "
              "c_values)");
    EXPECT_EQ(refusal(struct_({field("a", int64()), field("b", utf8())})),
              "column 'c' is a struct<a: int64, b: string>: a struct is not one value; name one "
              "of its fields: c.a, c.b");
    EXPECT_EQ(refusal(struct_({})),
              "column 'c' is a struct<>: a struct without fields has no value; leave it out");
    EXPECT_EQ(refusal(list(month_interval())),
              "column 'c' is a list<item: month_interval>: no feature can be made of elements of "
              "type month_interval; write them as integers in one unit, numbers or texts");
    for (const auto& interval :
         {month_interval(), day_time_interval(), month_day_nano_interval()}) {
        EXPECT_EQ(
            refusal(interval),
            "column 'c' is a " + interval->ToString() +
                ": months and days have no fixed length, so it is not a number; write it as an "
                "integer in one unit, such as microseconds");
    }
    EXPECT_EQ(refusal(duration(TimeUnit::MILLI)),
              "column 'c' is a duration[ms]: a length of time has no form that features and "
              "expressions know; write it as an integer in one unit, such as microseconds");
    EXPECT_THAT(refusal(dense_union({field("i", int64()), field("s", utf8())})),
                HasSubstr("its type changes from row to row; write one column for each type"));
    EXPECT_THAT(refusal(sparse_union({field("i", int64()), field("s", utf8())})),
                HasSubstr("its type changes from row to row; write one column for each type"));
    EXPECT_THAT(refusal(dictionary(int32(), map(utf8(), int64()))),
                HasSubstr("a dictionary of values that cannot be a feature"));
    expr::Schema twice;
    arrays::addColumns(*schema({field("c", int64()), field("c", utf8())}), twice);
    ASSERT_EQ(twice.refused.size(), 1);
    EXPECT_EQ(
        twice.refused[0].why,
        "appears twice in the file, and only the first is read; give the second another name");
}

TEST(ColumnTree, AnExpressionThatNamesARefusedColumnSaysWhy) {
    expr::Schema schema;
    arrays::addColumns(*arrow::schema({arrow::field("user", userType())}), schema);
    const auto typed = expr::tryTypeExpression(
        std::get<expr::Expr>(expr::tryParseExpression("user is not null")), schema);
    const auto* error = std::get_if<expr::ExprError>(&typed);
    ASSERT_NE(error, nullptr);
    EXPECT_THAT(error->message, HasSubstr("name one of its fields: user.age, user.home"));
    const auto fine = expr::tryTypeExpression(
        std::get<expr::Expr>(expr::tryParseExpression("user.home.zip = 'x' and user.age > 3")),
        schema);
    EXPECT_TRUE(std::holds_alternative<expr::Expr>(fine));
}

TEST(ColumnTree, AFieldThatIsAMapInTheSecondFileIsRefusedWithBoth) {
    DataDirectory dir;
    dir.parquet("a.parquet", {{"c", ints({1})}});
    dir.parquet("b.parquet",
                {{"c", fromJson(arrow::map(arrow::utf8(), arrow::int64()), R"([[["k", 1]]])")}});
    const auto dataset =
        Dataset::open({dir.at("*.parquet")}, "/", {}, std::make_shared<MetadataCache>());
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    const std::string why = (*dataset)->schema().whyUnknown("c");
    EXPECT_THAT(why, HasSubstr("column 'c' is int64 in " + dir.at("a.parquet") + ", and in " +
                               dir.at("b.parquet") + " it is a map"));
    EXPECT_THAT(why, HasSubstr("its keys differ from row to row"));
}

TEST(ColumnTree, FactsWithRefusedColumnsSurviveTheCache) {
    DataDirectory dir;
    const auto dataset = opened(dir.parquet("a.parquet", {{"user", users()}}), "parquet");
    const auto facts = *dataset->facts(0);
    const std::string pack = dir.at("facts.pack");
    files::addToPack(dir.path(), pack, {}, {{"a\n0", facts}});
    const auto again = files::readPack(pack).at("a\n0");
    EXPECT_EQ(again->schema, facts->schema);
    EXPECT_EQ(again->schema.refused.size(), 2);
}

}  // namespace
}  // namespace millrace::dataset

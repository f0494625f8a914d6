// Columns that differ between the files of a dataset, and columns without a name.
#include <arrow/array/array_primitive.h>
#include <arrow/buffer.h>
#include <gmock/gmock.h>

#include "backend/dataset/dataset.h"
#include "backend/dataset/split_reader.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::dataset {
namespace {

using test::ints;
using test::reals;
using test::texts;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ColumnsOfFiles : public ::testing::Test {
 protected:
    Result<std::shared_ptr<const Dataset>> open(const files::ReadOptions& options = {},
                                                const std::string& path = "*.parquet") const {
        return Dataset::open({path}, dir_.path(), options, std::make_shared<MetadataCache>(), 2);
    }
    /// The first rows of a file.
    static std::shared_ptr<arrow::Array> values(const std::shared_ptr<const Dataset>& dataset,
                                                std::uint32_t file, std::int64_t rows,
                                                const std::string& column) {
        SplitReader reader(dataset);
        const auto read = reader.readColumns({file, 0, 0, rows}, {column});
        EXPECT_TRUE(read.ok()) << read.status();
        return read.ok() ? read->at(0) : ints({});
    }
    test::DataDirectory dir_;
};

TEST_F(ColumnsOfFiles, AColumnThatDiffersBetweenFilesIsRefusedOnlyWhereItIsUsed) {
    dir_.parquet("a.parquet", {{"k", ints({1})}, {"x", ints({1})}});
    dir_.parquet("b.parquet", {{"k", ints({2})}, {"x", texts({"1"})}, {"y", ints({1})}});
    const auto dataset = open();
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    const expr::Schema& schema = (*dataset)->schema();
    EXPECT_EQ(schema.names(), std::vector<std::string>{"k"});
    EXPECT_EQ(schema.whyUnknown("x"),
              "column 'x' is string in " + dir_.at("b.parquet") + ", but int64 in " +
                  dir_.at("a.parquet") +
                  "; `dataset.types: {x: string}` reads it as one type in all files");
    EXPECT_EQ(schema.whyUnknown("y"),
              "column 'y' is not in " + dir_.at("a.parquet") + ", but in " + dir_.at("b.parquet") +
                  "; `dataset.missing_columns: null` reads it as null there");
    files::ReadOptions ofSideTable;
    ofSideTable.csvKey = "the table's csv";
    EXPECT_EQ((*open(ofSideTable))->schema().whyUnknown("y"),
              "column 'y' is not in " + dir_.at("a.parquet") + ", but in " + dir_.at("b.parquet") +
                  "; all files of a side table must have it");
    EXPECT_THAT((*open(ofSideTable))->schema().whyUnknown("x"),
                HasSubstr("; all files of a side table must have it in one type"));
    SplitReader reader(*dataset);
    const auto columns = reader.readColumns({1, 0, 0, 1}, {"k"});
    ASSERT_TRUE(columns.ok()) << columns.status();
    EXPECT_TRUE(columns->at(0)->Equals(ints({2})));
}

TEST_F(ColumnsOfFiles, ADriftInFile37NamesItAndTheFileWhoseTypeItBreaks) {
    for (int i = 0; i < 40; ++i) {
        const std::string name = "part-" + std::to_string(100 + i) + ".parquet";
        if (i == 5) {
            dir_.parquet(name, {{"x", reals({0.5})}});
        } else if (i == 37) {
            dir_.parquet(name, {{"x", texts({"1"})}});
        } else {
            dir_.parquet(name,
                         {{"x", std::make_shared<arrow::Int32Array>(
                                    1, arrow::Buffer::FromVector(std::vector<std::int32_t>{1}))}});
        }
    }
    const auto dataset = open();
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_THAT((*dataset)->schema().whyUnknown("x"),
                HasSubstr("column 'x' is string in " + dir_.at("part-137.parquet") +
                          ", but double in " + dir_.at("part-105.parquet")));
}

TEST_F(ColumnsOfFiles, IntegersBesideDoublesAreDoublesWhereEachHasOne) {
    constexpr std::int64_t kLargest = std::int64_t{1} << 53;
    dir_.parquet("a.parquet", {{"q", ints({7, -1, kLargest}, -1)}});
    dir_.parquet("b.parquet", {{"q", reals({0.5, -999})}});
    dir_.parquet("c.parquet", {{"q", ints({1, kLargest + 1})}});
    const auto dataset = open();
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ((*dataset)->schema().find("q")->type.name(), "double");
    SplitReader reader(*dataset);
    const auto whole = reader.readColumns({0, 0, 0, 3}, {"q"});
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_TRUE(whole->at(0)->Equals(reals({7, -999, static_cast<double>(kLargest)})));
    EXPECT_EQ(messageOf(reader.readColumns({2, 0, 0, 2}, {"q"}).status()),
              dir_.at("c.parquet") +
                  ": row group 0, column 'q': Integer value 9007199254740993 not in range: "
                  "-9007199254740992 to 9007199254740992; the column is int64 here and is read as "
                  "double, as in other files of the dataset; `dataset.types: {q: int64}` reads it "
                  "as int64 in all of them");
}

TEST_F(ColumnsOfFiles, TypesOfTheSpecAreReadInEveryFile) {
    dir_.parquet("a.parquet", {{"id", ints({94110, 7})}, {"q", reals({1, -999})}});
    dir_.parquet("b.parquet", {{"id", texts({"00501", "x"})}, {"q", reals({2.5, 3})}});
    files::ReadOptions options;
    options.types = {{"id", "string"}, {"q", "int64"}};
    const auto dataset = open(options);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    SplitReader reader(*dataset);
    const auto first = reader.readColumns({0, 0, 0, 2}, {"id", "q"});
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_TRUE(first->at(0)->Equals(texts({"94110", "7"})));
    EXPECT_TRUE(first->at(1)->Equals(ints({1, -999}, -999)));
    const auto second = reader.readColumns({1, 0, 0, 2}, {"id"});
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_TRUE(second->at(0)->Equals(texts({"00501", "x"})));
    EXPECT_THAT(
        messageOf(reader.readColumns({1, 0, 0, 2}, {"q"}).status()),
        AllOf(HasSubstr("Float value 2.5"), HasSubstr("read as int64, as dataset.types.q says")));
    options.types = {{"id", "int64"}, {"qq", "double"}};
    EXPECT_EQ(messageOf(open(options).status()),
              "dataset.types: no column 'qq'; did you mean 'q'?");
    options.types = {{"q", "date"}};
    EXPECT_THAT((*open(options))->schema().whyUnknown("q"),
                HasSubstr("dataset.types.q cannot read as date"));
}

TEST_F(ColumnsOfFiles, ColumnsWithoutANameOfTheirOwnAreLeftOut) {
    dir_.text("a.csv", ",x,q,x,\n0,1,0.5,a,7\n1,2,2,b,8\n");
    dir_.text("b.csv", ",x,q,x,\n2,3,oops,c,9\n");
    files::ReadOptions options;
    options.format = "csv";
    options.csvDropsBadRows = true;
    options.csvTypes = {{"x", "int64"}, {"q", "double"}};
    const auto dataset = open(options, ".");
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_THAT((*dataset)->schema().names(), ElementsAre("x", "q"));
    EXPECT_EQ((*dataset)->badRows(), 1);
    EXPECT_TRUE(values(*dataset, 0, 2, "x")->Equals(ints({1, 2}))) << "the first of two";
    EXPECT_TRUE(values(*dataset, 0, 2, "q")->Equals(reals({0.5, 2})));
    EXPECT_EQ((*dataset)->schema().findRefused("x")->why,
              "appears twice in the header, and only the first is read (column 4 is not); give it "
              "another name");
    EXPECT_EQ((*dataset)->schema().whyUnknown(""),
              "column '' has no name in the header (column 1); write a name there to read it");
}

}  // namespace
}  // namespace millrace::dataset

#include "backend/dataset/plan/partitions.h"

#include <arrow/array/array_binary.h>
#include <arrow/array/array_primitive.h>
#include <gmock/gmock.h>

#include "backend/dataset/dataset.h"
#include "backend/dataset/description.h"
#include "backend/dataset/plan/plan_builder.h"
#include "backend/dataset/plan/split_pruner.h"
#include "backend/dataset/split_reader.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::dataset {
namespace {

using test::DataDirectory;
using test::ints;
using test::texts;
using ::testing::HasSubstr;

std::vector<files::DataFile> at(const std::vector<std::string>& paths) {
    std::vector<files::DataFile> files;
    for (const std::string& path : paths) {
        files.push_back({path, path, 0, 0, 0});
    }
    return files;
}

std::string typeOf(const std::vector<std::string>& values) {
    std::vector<std::string> paths;
    for (const std::string& value : values) {
        paths.push_back("/d/k=" + value + "/f.csv");
    }
    const auto columns = partitionColumns(at(paths), false);
    EXPECT_TRUE(columns.ok() && columns->size() == 1) << columns.status();
    return columns.ok() ? columns->front().type.name() : "";
}

TEST(Partitions, TypesAreTheNarrowestThatAllValuesHave) {
    EXPECT_EQ(typeOf({"1", "-20"}), "int64");
    EXPECT_EQ(typeOf({"2024-01-01", "2024-12-31"}), "date");
    EXPECT_EQ(typeOf({"1", "2024-12-31"}), "string");
    EXPECT_EQ(typeOf({"1.5"}), "string");
    EXPECT_EQ(typeOf({"7", "__HIVE_DEFAULT_PARTITION__"}), "int64");
    EXPECT_EQ(typeOf({"__HIVE_DEFAULT_PARTITION__"}), "string");
    EXPECT_EQ(typeOf({"99999999999999999999"}), "string") << "beyond int64";
}

TEST(Partitions, NamesAndValuesArePercentDecoded) {
    const auto columns = partitionColumns(at({"/d/a%20b=x%2Fy%3D%/z=%41/c=d.csv"}), false);
    ASSERT_TRUE(columns.ok()) << columns.status();
    ASSERT_EQ(columns->size(), 2U) << "the file's own name is not a directory";
    EXPECT_EQ(columns->at(0).name, "a b");
    EXPECT_EQ(columns->at(0).values[0], "x/y=%");
    EXPECT_EQ(columns->at(1).values[0], "A");
}

TEST(Partitions, AFileWithoutTheDirectoryIsNamedOrNull) {
    const std::vector<files::DataFile> files = at({"/d/k=1/a.csv", "/d/b.csv", "/d/k=3/c.csv"});
    EXPECT_EQ(messageOf(partitionColumns(files, false).status()),
              "/d/b.csv: has no directory k=..., which /d/k=1/a.csv has; "
              "dataset.missing_columns: null reads it as null");
    EXPECT_THAT(messageOf(partitionColumns(at({"/d/b.csv", "/d/k=1/a.csv"}), false).status()),
                HasSubstr("/d/b.csv: has no directory k=..., which /d/k=1/a.csv has"));
    const auto columns = partitionColumns(files, true);
    ASSERT_TRUE(columns.ok()) << columns.status();
    EXPECT_EQ(columns->at(0).values[1], std::nullopt);
    EXPECT_TRUE(columns->at(0).type.nullable);
    EXPECT_EQ(columns->at(0).values[2], "3");
}

class PartitionedFiles : public testing::Test {
 protected:
    PartitionedFiles() {
        dir_.parquet("log/day=2024-01-01/country=DE/a.parquet", {{"x", ints({1, 2})}});
        dir_.parquet("log/day=2024-01-01/country=a%2Fb/a.parquet", {{"x", ints({3})}});
        dir_.parquet("log/day=2024-01-02/country=__HIVE_DEFAULT_PARTITION__/a.parquet",
                     {{"x", ints({4, 5})}});
        const auto dataset =
            Dataset::open({"log"}, dir_.path(), {}, std::make_shared<MetadataCache>());
        EXPECT_TRUE(dataset.ok()) << dataset.status();
        dataset_ = *dataset;
    }
    bool isPruned(std::uint32_t file, const std::string& where) const {
        spec::RunSpec spec;
        spec.dataset.where = where;
        const auto typed = expr::compilePredicate(where, dataset_->schema(), "where");
        EXPECT_TRUE(typed.ok()) << typed.status();
        SplitReader reader(dataset_);
        const auto isEmpty =
            reader.provesEmpty({file, 0, 0, 1}, SplitPruner::make(spec, dataset_->schema(), false));
        EXPECT_TRUE(isEmpty.ok()) << isEmpty.status();
        return *isEmpty;
    }
    DataDirectory dir_;
    std::shared_ptr<const Dataset> dataset_;
};

TEST_F(PartitionedFiles, TheirColumnsReadAsOneValueAFile) {
    EXPECT_EQ(dataset_->schema().find("day")->type.name(), "date");
    SplitReader reader(dataset_);
    const auto columns = reader.readColumns({0, 0, 0, 2}, {"country", "x", "day"});
    ASSERT_TRUE(columns.ok()) << columns.status();
    EXPECT_TRUE(columns->at(0)->Equals(texts({"DE", "DE"})));
    EXPECT_TRUE(columns->at(1)->Equals(ints({1, 2})));
    EXPECT_EQ(static_cast<const arrow::Date32Array&>(*columns->at(2)).Value(1), 19723);
    const auto null = reader.readColumns({2, 0, 0, 2}, {"country"});
    ASSERT_TRUE(null.ok()) << null.status();
    EXPECT_EQ(null->at(0)->null_count(), 2);
    EXPECT_TRUE(reader.readColumns({1, 0, 0, 1}, {"country"})->at(0)->Equals(texts({"a/b"})));
}

TEST_F(PartitionedFiles, AFilterOnThemPrunesWholeFiles) {
    const std::string day = "day = date '2024-01-02'";
    EXPECT_TRUE(isPruned(0, "day = '2024-01-02'"));
    EXPECT_FALSE(isPruned(2, "day = '2024-01-02'"));
    EXPECT_TRUE(isPruned(0, "day between '2024-01-02' and '2024-01-31'"));
    EXPECT_TRUE(isPruned(0, "country in ('FR', 'a/b')"));
    EXPECT_FALSE(isPruned(1, "country in ('FR', 'a/b')"));
    EXPECT_TRUE(isPruned(2, "country <> 'DE'")) << "null is not an answer";
    EXPECT_FALSE(isPruned(1, "not (country = 'DE')"));
    EXPECT_TRUE(isPruned(0, "country is null or day > '2024-01-01'"));
    EXPECT_FALSE(isPruned(2, "country is null and x > 4"));
}

TEST_F(PartitionedFiles, APrunedFileIsNotOpened) {
    std::filesystem::remove(dataset_->files()[0].path);
    EXPECT_TRUE(isPruned(0, "day = '2024-01-02' and x > 0"));
}

TEST_F(PartitionedFiles, TheyAreDescribedByTheirValues) {
    const auto columns = columnFacts(*dataset_, {});
    ASSERT_TRUE(columns.ok()) << columns.status();
    for (const ColumnInfo& column : *columns) {
        if (column.name == "day") {
            EXPECT_EQ(column.min, "2024-01-01");
            EXPECT_EQ(column.max, "2024-01-02");
            EXPECT_EQ(column.nulls, 0);
        } else if (column.name == "country") {
            EXPECT_EQ(column.nulls, 2);
            EXPECT_EQ(column.max, "a/b");
        }
    }
}

TEST_F(PartitionedFiles, APlanPinsThemWithItsFiles) {
    spec::RunSpec spec;
    spec.dataset.where = "country = 'DE' and x > 0";
    const auto plan = buildPlan(spec, *dataset_, nullptr);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->schema.names(), std::vector<std::string>{"x"});
    const auto read = stream::Plan::fromJson(*parseJson(plan->toJsonText(), "plan"));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, *plan);
    const auto again =
        Dataset::ofPlan(read->files, {}, std::make_shared<MetadataCache>(), read->schema);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*again)->schema(), dataset_->schema());
}

TEST(Partitions, AColumnOfTheFilesThemselvesIsTheirs) {
    DataDirectory dir;
    dir.parquet("x=7/a.parquet", {{"x", ints({1})}});
    const auto dataset =
        Dataset::open({"*/a.parquet"}, dir.path(), {}, std::make_shared<MetadataCache>());
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_TRUE((*dataset)->partitions().empty());
    SplitReader reader(*dataset);
    EXPECT_TRUE(reader.readColumns({0, 0, 0, 1}, {"x"})->at(0)->Equals(ints({1})));
}

}  // namespace
}  // namespace millrace::dataset

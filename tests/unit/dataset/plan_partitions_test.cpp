#include "backend/dataset/plan/plan_partitions.h"

#include <arrow/array/builder_time.h>
#include <gmock/gmock.h>

#include "backend/dataset/plan/plan_builder.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::dataset {
namespace {

using test::DataDirectory;
using test::ints;
using test::texts;
using ::testing::HasSubstr;

class PlanPartitions : public testing::Test {
 protected:
    Result<stream::Plan> plan(const std::string& column, const files::ReadOptions& options = {}) {
        const auto dataset =
            Dataset::open({"log"}, dir_.path(), options, std::make_shared<MetadataCache>());
        EXPECT_TRUE(dataset.ok()) << dataset.status();
        spec::RunSpec spec;
        spec.batch.order = "by";
        spec.batch.orderBy = column;
        warnings_.clear();
        return buildPlan(spec, **dataset, nullptr, {}, &warnings_);
    }
    /// By file and split.
    std::vector<std::vector<std::int64_t>> partitions(const std::string& column) {
        const auto made = plan(column);
        EXPECT_TRUE(made.ok()) << made.status();
        std::vector<std::vector<std::int64_t>> all;
        for (const stream::PlanFile& file : made->files) {
            all.emplace_back();
            for (const stream::PlanSplit& split : file.splits) {
                all.back().push_back(split.partition);
            }
        }
        return all;
    }
    std::string refusal(const std::string& column, const files::ReadOptions& options = {}) {
        const auto made = plan(column, options);
        EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
        return std::string(messageOf(made.status()));
    }
    using Numbers = std::vector<std::vector<std::int64_t>>;
    DataDirectory dir_;
    std::vector<std::string> warnings_;
};

TEST_F(PlanPartitions, DirectoriesAscendByTheirTypeAndNullsAreLast) {
    for (const char* value : {"10", "9", "__HIVE_DEFAULT_PARTITION__", "-1"}) {
        dir_.parquet(std::string("log/hour=") + value + "/a.parquet", {{"x", ints({1, 2})}}, 1);
        dir_.parquet(std::string("log/hour=") + value + "/b.parquet", {{"x", ints({3})}});
    }
    // In byte order of the paths: -1, 10, 9, __HIVE.
    EXPECT_EQ(partitions("hour"), (Numbers{{0, 0}, {0}, {2, 2}, {2}, {1, 1}, {1}, {3, 3}, {3}}));
    EXPECT_TRUE(warnings_.empty());
}

TEST_F(PlanPartitions, DirectoriesServeEveryFormat) {
    dir_.text("log/day=2024-01-02/a.csv", "x\n1\n");
    dir_.text("log/day=2024-01-01/a.csv", "x\n1\n");
    files::ReadOptions options;
    options.format = "csv";
    const auto made = plan("day", options);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->files[0].splits[0].partition, 0);
    EXPECT_EQ(made->files[1].splits[0].partition, 1);
    EXPECT_THAT(refusal("x", options), HasSubstr("a.csv: a file of format csv says nothing"));
}

TEST_F(PlanPartitions, RowGroupsOfOneValueStandTogetherWhereverTheyAre) {
    dir_.parquet("log/a.parquet", {{"day", ints({7, 7, 5, 5})}}, 2);
    dir_.parquet("log/b.parquet", {{"day", ints({5, 5, 6, 6, 7, 7})}}, 2);
    EXPECT_EQ(partitions("day"), (Numbers{{2, 0}, {0, 1, 2}}));
    EXPECT_TRUE(warnings_.empty());
}

TEST_F(PlanPartitions, ARowGroupOfSeveralValuesIsAPartitionOfItsOwn) {
    dir_.parquet("log/a.parquet", {{"name", texts({"d", "e", "f", "f"})}}, 2);
    dir_.parquet("log/b.parquet", {{"name", texts({"a", "a", "b", "c"})}}, 2);
    EXPECT_EQ(partitions("name"), (Numbers{{2, 3}, {0, 1}}));
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_THAT(warnings_[0], HasSubstr("2 of 4 partitions by 'name' are row groups that hold "
                                        "several values"));
}

TEST_F(PlanPartitions, ValuesThatInterleaveAreRefusedWithBothPlaces) {
    dir_.parquet("log/a.parquet", {{"day", ints({1, 2, 3, 5})}}, 2);
    dir_.parquet("log/b.parquet", {{"day", ints({4, 6})}}, 2);
    const std::string refused = refusal("day");
    EXPECT_THAT(refused, HasSubstr("/log/b.parquet: row group 0 holds 4 to 6 of 'day', and row "
                                   "group 1 of "));
    EXPECT_THAT(refused, HasSubstr("/log/a.parquet holds 3 to 5, so that the files cannot be "
                                   "taken in the order of 'day'. Put each value into a directory "
                                   "day=VALUE, or write Parquet"));
}

TEST_F(PlanPartitions, AValueThatGoesOnInTheNextRowGroupInterleavesToo) {
    dir_.parquet("log/a.parquet", {{"day", ints({1, 2, 2, 2})}}, 2);
    EXPECT_THAT(refusal("day"), HasSubstr("row group 1 holds 2 of 'day', and row group 0 of"));
}

TEST_F(PlanPartitions, DatesAreShownAsDates) {
    arrow::Date32Builder days;
    ASSERT_TRUE(days.AppendValues({19723, 19725, 19724, 19724}).ok());
    dir_.parquet("log/a.parquet", {{"day", *days.Finish()}}, 2);
    EXPECT_THAT(refusal("day"),
                HasSubstr("row group 1 holds 2024-01-02 of 'day', and row group 0"));
    EXPECT_THAT(refusal("day"), HasSubstr("holds 2024-01-01 to 2024-01-03, so"));
}

TEST_F(PlanPartitions, NullsStandAloneOrAreRefused) {
    dir_.parquet("log/a.parquet", {{"day", ints({0, 0, 5, 5}, 0)}}, 2);
    EXPECT_EQ(partitions("day"), (Numbers{{1, 0}}));
    dir_.parquet("log/b.parquet", {{"day", ints({0, 9}, 0)}}, 2);
    EXPECT_THAT(refusal("day"), HasSubstr("b.parquet: row group 0 holds nulls beside values of "
                                          "'day', or does not say how many"));
}

TEST_F(PlanPartitions, ThePlanKeepsThemAndItsHashCoversThem) {
    dir_.parquet("log/a.parquet", {{"day", ints({7, 5})}}, 1);
    const auto made = plan("day");
    ASSERT_TRUE(made.ok()) << made.status();
    const auto read = stream::Plan::fromJson(*parseJson(made->toJsonText(), "plan"));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, *made);
    stream::Plan other = *made;
    other.files[0].splits[0].partition = 0;
    EXPECT_NE(other.planHash(), made->planHash());
    for (stream::PlanSplit& split : other.files[0].splits) {
        split.partition = 0;
    }
    EXPECT_EQ(other.toJsonText().find("partition"), std::string::npos)
        << "plans without partitions read as before";
}

}  // namespace
}  // namespace millrace::dataset

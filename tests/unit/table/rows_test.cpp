// Rows of a dataset as a table: the files are the planned ones, from the first row to the end.
#include <arrow/api.h>
#include <gmock/gmock.h>

#include "backend/core/files.h"
#include "backend/dataset/plan_builder.h"
#include "backend/spec/bind.h"
#include "backend/spec/spec_reader.h"
#include "backend/table/row_stream.h"
#include "tests/support/temp_dir.h"

namespace millrace::table {
namespace {

using ::testing::HasSubstr;

class RowsTest : public ::testing::Test {
 protected:
    void SetUp() override {
        write("a.csv", "user,label\n1,0\n2,1\n");
        write("b.csv", "user,label\n3,1\n9,0\n");
        write("table.csv", "user\n1\n2\n3\n");
        spec::SpecOptions options;
        options.baseDir = directory_.path();
        const spec::ResolvedSpec read = spec::readSpec(
            "name: t\n"
            "dataset: {path: [a.csv, b.csv]}\n"
            "recipe:\n"
            "  - semi_join: {table: table.csv, on: user}\n"
            "labels: {label: label}\n"
            "features: {dense: [user]}\n"
            "model: {type: mlp, hidden: [4]}\n"
            "batch: {rows: 2, micro_rows: 2}\n",
            options);
        ASSERT_TRUE(read.ok()) << spec::toStatus(read.errors, "spec");
        spec_ = *read.spec;
        const auto cache = std::make_shared<dataset::FactsCache>();
        const auto data = dataset::Dataset::open(spec_.dataset.path, spec_.baseDir,
                                                 dataset::readOptionsOf(spec_.dataset), cache);
        ASSERT_TRUE(data.ok()) << data.status();
        const auto tables = recipe::diskTables({spec_.baseDir, cache});
        const auto bound = spec::bindSchema(spec_, (*data)->schema(), tables.schema);
        ASSERT_TRUE(bound.ok()) << spec::toStatus(bound.errors, "spec");
        plan_ = *dataset::buildPlan(spec_, **data, nullptr);
    }

    void write(const std::string& name, const std::string& text) {
        ASSERT_TRUE(writeFileAtomic(directory_ / name, text).ok());
    }
    Result<std::unique_ptr<RowStream>> open() { return RowStream::open(spec_, plan_, budget_, {}); }

    tests::TempDir directory_;
    spec::RunSpec spec_;
    stream::Plan plan_;
    MemoryBudget budget_{std::int64_t{1} << 30};
};

TEST_F(RowsTest, AreThoseThatTheRecipeKeepsInFileOrder) {
    const auto rows = open();
    ASSERT_TRUE(rows.ok()) << rows.status();
    std::string users;
    const Status status = (*rows)->run(
        [&](const BatchPtr& batch) {
            users += batch->GetColumnByName("user")->ToString();
            return okStatus();
        },
        {});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ((*rows)->rowsRead(), 4);
    EXPECT_EQ((*rows)->rowsKept(), 3);
    EXPECT_EQ(users, "[\n  1,\n  2\n][\n  3\n]");
}

TEST_F(RowsTest, AFileThatChangesBehindItsLastRowEndsTheExport) {
    const auto rows = open();
    ASSERT_TRUE(rows.ok()) << rows.status();
    int batches = 0;
    const Status status = (*rows)->run(
        [&](const BatchPtr&) {
            if (++batches == 2) {
                write("a.csv", "user,label\n1,0\n2,0\n");
            }
            return okStatus();
        },
        {});
    EXPECT_EQ(batches, 2);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(messageOf(status),
                HasSubstr((directory_ / "a.csv") + ": changed since the run was planned"));
}

TEST_F(RowsTest, ASideTableThatIsNotThePlannedOneIsRefused) {
    write("table.csv", "user\n1\n2\n9\n");
    const Status status = open().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(messageOf(status),
                HasSubstr((directory_ / "table.csv") + ": changed since the run was planned"));
}

}  // namespace
}  // namespace millrace::table

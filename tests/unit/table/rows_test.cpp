// Rows of a dataset as a table: the planned files, from the first row to the last.
#include <filesystem>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include "backend/dataset/plan/plan_builder.h"
#include "backend/filesystem/files.h"
#include "backend/spec/bind.h"
#include "backend/spec/spec_reader.h"
#include "backend/table/row_stream.h"
#include "backend/table/table_output.h"
#include "backend/table/table_writer.h"
#include "backend/text/text.h"
#include "tests/support/temp_dir.h"

namespace millrace::table {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class RowsTest : public ::testing::Test {
 protected:
    void SetUp() override {
        write("a.csv", "user,label\n1,0\n2,1\n");
        write("b.csv", "user,label\n3,1\n9,0\n");
        write("table.csv", "user\n1\n2\n3\n");
        plan(
            "dataset: {path: [a.csv, b.csv]}\n"
            "recipe:\n"
            "  - semi_join: {table: table.csv, on: user}\n");
    }

    void plan(const std::string& lines) {
        spec::SpecOptions options;
        options.baseDir = directory_.path();
        const spec::ResolvedSpec read = spec::readSpec("name: t\n" + lines +
                                                           "labels: {label: label}\n"
                                                           "features: {dense: [user]}\n"
                                                           "model: {type: mlp, hidden: [4]}\n"
                                                           "batch: {rows: 2, micro_rows: 2}\n",
                                                       options);
        ASSERT_TRUE(read.ok()) << spec::toStatus(read.errors, "spec");
        spec_ = *read.spec;
        const auto cache = std::make_shared<dataset::MetadataCache>();
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
    Result<std::unique_ptr<RowStream>> open(int threads = 1) {
        RowStream::Options options;
        options.threads = threads;
        return RowStream::open(spec_, plan_, budget_, options);
    }

    /// Row groups that several threads read, a column each.
    void writeGroups(int groups) {
        constexpr std::int64_t kRows = 10'000;
        constexpr int kColumns = 12;
        std::unique_ptr<TableWriter> writer;
        for (int group = 0; group < groups; ++group) {
            arrow::FieldVector fields;
            arrow::ArrayVector columns;
            for (int c = 0; c < kColumns; ++c) {
                arrow::Int64Builder values;
                for (std::int64_t row = 0; row < kRows; ++row) {
                    ASSERT_TRUE(values.Append(c == 0 ? row % 2 : (group * kRows + row) * c).ok());
                }
                const std::string name = c == 0   ? "label"
                                         : c == 1 ? "user"
                                                  : "c" + std::to_string(c);
                fields.push_back(arrow::field(name, arrow::int64(), false));
                columns.push_back(*values.Finish());
            }
            const auto batch = arrow::RecordBatch::Make(arrow::schema(fields), kRows, columns);
            if (writer == nullptr) {
                writer = *TableWriter::open(directory_ / "groups.parquet", batch->schema(), {});
            }
            ASSERT_TRUE(writer->write(*batch).ok());
        }
        ASSERT_TRUE(writer->close().ok());
    }

    /// The bytes of the integers that a stream on `threads` threads delivers, and "! ..." for the
    /// error that ends it.
    std::string rowsOf(int threads, int failsAt = -1) {
        const auto rows = open(threads);
        EXPECT_TRUE(rows.ok()) << rows.status();
        std::string all;
        int batches = 0;
        const Status status = (*rows)->run(
            [&](const BatchPtr& batch) {
                if (batches++ == failsAt) {
                    return resourceExhausted("no place for batch ", failsAt);
                }
                for (const auto& column : batch->columns()) {
                    const auto& values = static_cast<const arrow::Int64Array&>(*column);
                    all.append(reinterpret_cast<const char*>(values.raw_values()),
                               static_cast<std::size_t>(values.length()) * sizeof(std::int64_t));
                }
                return okStatus();
            },
            {});
        return status.ok() ? all : strCat(all, "! ", messageOf(status));
    }

    /// The bytes of the table that a stream on `threads` threads writes; its threads encode it.
    std::string tableOf(int threads, std::int64_t memoryBytes) {
        TableOptions options;
        options.directory = directory_ / "table";
        options.isForced = true;
        options.isShared = true;
        options.writer.threads = threads;
        options.rowGroupRows = 3000;
        options.memoryBytes = memoryBytes;
        const auto output = TableOutput::open(options);
        const auto rows = open(threads);
        EXPECT_TRUE(rows.ok() && (*output)->start((*rows)->schema()).ok());
        SharedWork* const work = (*output)->sharedWork();
        EXPECT_EQ(work != nullptr, threads > 1);
        Status status =
            (*rows)->run([&](const BatchPtr& batch) { return (*output)->add(batch); }, {}, work);
        EXPECT_TRUE(status.ok()) << status;
        EXPECT_TRUE(work == nullptr || !work->isOpen());
        status = (*output)->commit({});
        EXPECT_TRUE(status.ok()) << status;
        return *readFile(options.directory + "/part-00000.parquet");
    }

    void movePartialTable(const std::string& to) {
        std::vector<std::filesystem::path> partial;
        for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
            if (entry.path().filename().string().starts_with(".table.partial")) {
                partial.push_back(entry.path());
            }
        }
        ASSERT_EQ(partial.size(), 1U);
        std::filesystem::rename(partial.front(), directory_ / to);
    }

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

TEST_F(RowsTest, AreTheSameOnAnyNumberOfThreads) {
    writeGroups(7);
    plan(
        "dataset: {path: groups.parquet}\n"
        "recipe:\n"
        "  - filter: user % 3 = 0\n");
    const std::string one = rowsOf(1);
    EXPECT_EQ(one.size(), std::size_t{23'334} * 12 * sizeof(std::int64_t));
    for (const int threads : {2, 3, 9}) {
        EXPECT_TRUE(rowsOf(threads) == one) << threads;
        const std::string failed = rowsOf(threads, 4);
        EXPECT_TRUE(failed == rowsOf(1, 4)) << threads;
        EXPECT_THAT(failed, EndsWith("! no place for batch 4"));
    }
}

TEST_F(RowsTest, TheTableThatTheirThreadsEncodeIsTheSame) {
    writeGroups(7);
    plan("dataset: {path: groups.parquet}\n");
    constexpr std::int64_t kGroupBytes = 3000 * 12 * sizeof(std::int64_t);
    const std::string one = tableOf(1, 1'000'000'000);
    for (const int threads : {2, 3, 9}) {
        EXPECT_TRUE(tableOf(threads, 1'000'000'000) == one) << threads;
        // Two and a half groups may wait or be encoded.
        EXPECT_TRUE(tableOf(threads, kGroupBytes / 2 * 5 * 5) == one) << threads;
    }
}

TEST_F(RowsTest, ATableThatCannotBeWrittenEndsThem) {
    writeGroups(7);
    plan("dataset: {path: groups.parquet}\n");
    for (const int threads : {2, 9}) {
        TableOptions options;
        options.directory = directory_ / "table";
        options.isShared = true;
        options.writer.threads = threads;
        options.rowGroupRows = 1000;
        options.fileBytes = 1;  // a file a row group
        const auto output = TableOutput::open(options);
        const auto rows = open(threads);
        ASSERT_TRUE(rows.ok() && (*output)->start((*rows)->schema()).ok());
        std::int64_t batches = 0;
        Status status = (*rows)->run(
            [&](const BatchPtr& batch) {
                if (++batches == 3) {
                    movePartialTable(strCat("moved-", threads));
                }
                return (*output)->add(batch);
            },
            {}, (*output)->sharedWork());
        status = status.ok() ? (*output)->commit({}) : status;
        EXPECT_THAT(messageOf(status), HasSubstr(directory_ / "")) << status;
    }
}

TEST_F(RowsTest, ADamagedColumnIsToldWhoeverReadIt) {
    writeGroups(5);
    std::string bytes = *readFile(directory_ / "groups.parquet");
    const auto file = parquet::ParquetFileReader::OpenFile(directory_ / "groups.parquet");
    const std::int64_t at = file->metadata()->RowGroup(3)->ColumnChunk(7)->data_page_offset();
    bytes.replace(static_cast<std::size_t>(at), 8, "\xff\xff\xff\xff\xff\xff\xff\xff");
    write("groups.parquet", bytes);
    plan("dataset: {path: groups.parquet}\n");
    const std::string one = rowsOf(1);
    EXPECT_THAT(one, HasSubstr("! "));
    EXPECT_THAT(one, HasSubstr("column 'c7'"));
    for (const int threads : {2, 3, 9}) {
        EXPECT_TRUE(rowsOf(threads) == one) << threads;
    }
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

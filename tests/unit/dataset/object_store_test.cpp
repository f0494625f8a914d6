// Reading from a store over the network: listing, reading ahead, retries, and errors that end a
// run.
#include "backend/objects/object_store.h"

#include <numeric>

#include <arrow/array/array_primitive.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>

#include "backend/dataset/dataset.h"
#include "backend/dataset/read_ahead.h"
#include "backend/dataset/side_table.h"
#include "backend/dataset/split_reader.h"
#include "tests/support/range_server.h"
#include "tests/support/s3_environment.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::dataset {
namespace {

using test::ints;
using test::RangeServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// One directory of objects and one server per process; a test that stops the server starts it
/// again at the same address.
class Objects : public testing::Test {
 protected:
    static void SetUpTestSuite() {
        files_ = std::make_unique<test::DataDirectory>();
        std::filesystem::create_directories(files_->at("lake"));
        server_ = *RangeServer::start(files_->path());
        test::useS3Server(server_->endpoint(), 3);
    }
    static void TearDownTestSuite() {
        server_.reset();
        files_.reset();
    }
    void TearDown() override {
        const int port = server_->port();
        server_.reset();
        server_ = *RangeServer::start(files_->path(), port);
        std::filesystem::remove_all(files_->at("lake"));
        std::filesystem::create_directories(files_->at("lake"));
    }

    static std::vector<std::int64_t> numbers(std::int64_t from, std::int64_t count) {
        std::vector<std::int64_t> out(static_cast<std::size_t>(count));
        std::iota(out.begin(), out.end(), from);
        return out;
    }
    static std::string parquet(const std::string& name, std::int64_t from, std::int64_t count,
                               std::int64_t rowGroupRows = 1000) {
        files_->parquet("lake/" + name,
                        {{"x", ints(numbers(from, count))}, {"y", ints(numbers(-from, count))}},
                        rowGroupRows);
        return "s3://lake/" + name;
    }
    static Result<std::shared_ptr<const Dataset>> open(const std::string& path,
                                                       const std::string& format = "parquet") {
        files::ReadOptions options;
        options.format = format;
        return Dataset::open({path}, "/", options, std::make_shared<MetadataCache>(), 4);
    }
    static std::vector<std::string> names(const Result<std::vector<files::DataFile>>& files) {
        std::vector<std::string> out;
        EXPECT_TRUE(files.ok()) << files.status();
        for (const files::DataFile& file : files.ok() ? *files : std::vector<files::DataFile>()) {
            out.push_back(file.relativePath);
        }
        return out;
    }

    static std::unique_ptr<test::DataDirectory> files_;
    static std::unique_ptr<RangeServer> server_;
};

std::unique_ptr<test::DataDirectory> Objects::files_;
std::unique_ptr<RangeServer> Objects::server_;

TEST_F(Objects, GlobsPrefixesAndSingleObjectsAreListedAsLocalFilesAre) {
    for (const char* name : {"log/day=2/a.csv", "log/day=1/b.csv", "log/day=1/_hidden.csv",
                             "log/other/c.csv", "log/day=1/deep/d.csv", "log/e.txt+ 1.csv"}) {
        files_->text(std::string("lake/") + name, "x\n1\n");
    }
    EXPECT_THAT(names(files::listFiles({"s3://lake/log/day=*/*.csv"}, "/", "csv")),
                ElementsAre("day=1/b.csv", "day=2/a.csv"));
    EXPECT_THAT(names(files::listFiles({"s3://lake/log/**/{b,d}.csv"}, "/", "csv")),
                ElementsAre("day=1/b.csv", "day=1/deep/d.csv"));
    EXPECT_THAT(names(files::listFiles({"s3://lake/log/day=1"}, "/", "csv")),
                ElementsAre("b.csv", "deep/d.csv"));
    EXPECT_THAT(names(files::listFiles({"s3://lake/log/e.txt+ 1.csv"}, "/", "csv")),
                ElementsAre("e.txt+ 1.csv"));
    const auto one = files::listFiles({"s3://lake/log/day=2/a.csv"}, "/", "csv");
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_EQ(one->front().path, "s3://lake/log/day=2/a.csv");
    EXPECT_EQ(one->front().bytes, 4);
    EXPECT_GT(one->front().mtimeNs, 0);
}

TEST_F(Objects, AListingOfSeveralPagesIsWhole) {
    for (int i = 0; i < 1234; ++i) {
        files_->text("lake/many/" + std::to_string(i) + ".csv", "");
    }
    EXPECT_EQ(names(files::listFiles({"s3://lake/many/*.csv"}, "/", "csv")).size(), 1234U);
    EXPECT_EQ(server_->lists(), 2);
}

TEST_F(Objects, WhatIsNotThereIsNamed) {
    EXPECT_THAT(messageOf(open("s3://lake/none.parquet").status()),
                HasSubstr("s3://lake/none.parquet: no such object at 127.0.0.1:"));
    EXPECT_THAT(messageOf(open("s3://lake/*.parquet").status()),
                HasSubstr("s3://lake/*.parquet: no object matches this pattern"));
    EXPECT_THAT(messageOf(open("s3://dry/*.parquet").status()),
                HasSubstr("s3://dry/: no such bucket at 127.0.0.1:"));
    EXPECT_THAT(messageOf(open("s3://").status()), HasSubstr("name the bucket"));
}

TEST_F(Objects, DeniedAccessSaysWhichCredentialsToCheck) {
    const std::string uri = parquet("a.parquet", 0, 10);
    RangeServer::Faults faults;
    faults.deniesAll = true;
    server_->setFaults(faults);
    const Status status = open(uri).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(messageOf(status), HasSubstr(uri + ": "));
    EXPECT_THAT(messageOf(status), HasSubstr("AWS_ACCESS_KEY_ID"));
}

TEST_F(Objects, ParquetCsvAndSideTablesReadAsFromADisk) {
    const auto dataset = open(parquet("a.parquet", 5, 2500));
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    SplitReader reader(*dataset);
    const auto columns = reader.readColumns({0, 2, 2000, 500}, {"y", "x"});
    ASSERT_TRUE(columns.ok()) << columns.status();
    EXPECT_TRUE(columns->at(1)->Equals(ints(numbers(2005, 500))));
    EXPECT_TRUE(columns->at(0)->Equals(ints(numbers(1995, 500))));

    files_->text("lake/t.csv", "k,v\n1,2\n3,4\n");
    const auto csv = open("s3://lake/t.csv", "csv");
    ASSERT_TRUE(csv.ok()) << csv.status();
    SplitReader rows(*csv);
    EXPECT_TRUE(rows.readColumns({0, 0, 0, 2}, {"v"})->at(0)->Equals(ints({2, 4})));
    const auto tables = sideTablesOf("s3://lake/t.csv", {"/", std::make_shared<MetadataCache>()});
    ASSERT_TRUE(tables.ok()) << tables.status();
    EXPECT_EQ(tables->at(0).hash,
              sideTablesOf(files_->at("lake/t.csv"), {"/", std::make_shared<MetadataCache>()})
                  ->at(0)
                  .hash);
    EXPECT_TRUE(verifySideTable(tables->at(0)).ok());
}

TEST_F(Objects, NeighbouringColumnsAreOneRequest) {
    const auto dataset = open(parquet("a.parquet", 0, 1000));
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    SplitReader reader(*dataset);
    ASSERT_TRUE(reader.readColumns({0, 0, 0, 10}, {"x"}).ok());
    const std::int64_t before = server_->gets();
    SplitReader other(*dataset);
    ASSERT_TRUE(other.readColumns({0, 0, 0, 1000}, {"x", "y"}).ok());
    EXPECT_EQ(server_->gets() - before, 1);
}

TEST_F(Objects, PageIndexesAreFetchedWithTheColumnsWhereRowsWillBeLeftOut) {
    files_->parquet("lake/i.parquet", {{"x", ints(numbers(0, 50'000))}}, 50'000, 1000);
    const auto dataset = open("s3://lake/i.parquet");
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    const std::vector<std::int64_t> few{7, 30'000};
    const SplitRange split{0, 0, 0, 50'000};
    ASSERT_TRUE(SplitReader(*dataset).readColumns(split, {"x"}).ok()) << "the footer is known";
    for (const bool hasIndexes : {false, true}) {
        ReadAheadOptions options;
        options.hasIndexes = hasIndexes;
        const auto ahead =
            std::make_shared<ReadAhead>(*dataset, arrow::default_memory_pool(), options);
        const std::int64_t before = server_->gets();
        const auto rows = SplitReader(*dataset, nullptr, ahead).readRows(split, {"x"}, {&few});
        ASSERT_TRUE(rows.ok()) << rows.status();
        EXPECT_TRUE(rows->at(0)->Equals(ints({7, 30'000})));
        const std::int64_t beside = server_->gets() - before - ahead->requests();
        EXPECT_EQ(beside, hasIndexes ? 0 : 1) << "requests that the decoder waits for";
    }
}

TEST_F(Objects, AnnouncedSplitsAreFetchedSideBySideWithinTheLimit) {
    for (int i = 0; i < 8; ++i) {
        parquet("p" + std::to_string(i) + ".parquet", i * 10'000, 10'000, 10'000);
    }
    const auto dataset = open("s3://lake/p*.parquet");
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    RangeServer::Faults faults;
    faults.latency = std::chrono::milliseconds(30);
    server_->setFaults(faults);
    ReadAheadOptions options;
    options.connections = 4;
    options.bytesMax = 400'000;
    const auto ahead = std::make_shared<ReadAhead>(*dataset, arrow::default_memory_pool(), options);
    SplitReader reader(*dataset, nullptr, ahead);
    std::vector<SplitRange> splits;
    for (std::uint32_t i = 0; i < 8; ++i) {
        splits.push_back({i, 0, 0, 10'000});
    }
    reader.announce(splits, {"x", "y"});
    for (std::uint32_t i = 0; i < 8; ++i) {
        const auto columns = reader.readColumns(splits[i], {"x", "y"});
        ASSERT_TRUE(columns.ok()) << columns.status();
        EXPECT_TRUE(columns->at(0)->Equals(ints(numbers(i * 10'000, 10'000))));
    }
    EXPECT_LE(ahead->bytesHeldMost(), options.bytesMax);
    EXPECT_GT(ahead->bytesHeldMost(), 200'000) << "more than one split ahead";
    EXPECT_EQ(ahead->requests(), 8);
}

TEST_F(Objects, WhatIsFetchedAheadCountsAgainstThePool) {
    const auto dataset = open(parquet("a.parquet", 0, 50'000, 50'000));
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    arrow::ProxyMemoryPool pool(arrow::default_memory_pool());
    {
        SplitReader reader(*dataset, &pool);
        ASSERT_TRUE(reader.readColumns({0, 0, 0, 50'000}, {"x"}).ok());
        EXPECT_GE(pool.bytes_allocated(), 100'000) << "the chunk that the reader still holds";
    }
    EXPECT_EQ(pool.bytes_allocated(), 0);
}

TEST_F(Objects, RefusedAndCutAnswersAreAskedForAgain) {
    parquet("a.parquet", 0, 20'000);
    const auto dataset = open("s3://lake/a.parquet");
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    RangeServer::Faults faults;
    faults.failEvery = 3;
    faults.cutEvery = 5;
    server_->setFaults(faults);
    SplitReader reader(*dataset);
    for (std::int64_t group = 0; group < 8; ++group) {
        const auto columns = reader.readColumns({0, group, group * 1000, 1000}, {"x"});
        ASSERT_TRUE(columns.ok()) << columns.status();
        EXPECT_TRUE(columns->at(0)->Equals(ints(numbers(group * 1000, 1000))));
    }
    EXPECT_GT(server_->gets(), 9) << "some were asked for again";
}

TEST_F(Objects, AVanishedServerEndsWithASentenceThatNamesTheObjectAndWhatToDo) {
    const std::string uri = parquet("a.parquet", 0, 20'000);
    const auto dataset = open(uri);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    SplitReader reader(*dataset);
    ASSERT_TRUE(reader.readColumns({0, 0, 0, 1000}, {"x"}).ok());
    server_->vanish();
    const Status status = reader.readColumns({0, 7, 7000, 1000}, {"x"}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(messageOf(status), HasSubstr(uri + ": the S3 server 127.0.0.1:"));
    EXPECT_THAT(messageOf(status), HasSubstr("does not answer"));
    EXPECT_THAT(messageOf(status), HasSubstr("3 tries"));
    EXPECT_THAT(messageOf(status), HasSubstr("continues from its last checkpoint"));
    EXPECT_THAT(messageOf(status), testing::Not(HasSubstr("corrupt")));
}

TEST_F(Objects, AReplacedObjectStopsTheRunAndIsNamed) {
    const std::string uri = parquet("a.parquet", 0, 10);
    const auto dataset = open(uri);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    stream::PlanFile planned;
    planned.path = uri;
    planned.relativePath = "a.parquet";
    planned.bytes = (*dataset)->files()[0].bytes;
    planned.footerHash = (*(*dataset)->facts(0))->contentHash;
    files::ReadOptions options;
    EXPECT_TRUE(Dataset::ofPlan({planned}, options, std::make_shared<MetadataCache>()).ok());
    parquet("a.parquet", 0, 11);
    const Status status =
        Dataset::ofPlan({planned}, options, std::make_shared<MetadataCache>()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(messageOf(status), HasSubstr(uri + ": changed since the run was planned"));
}

TEST_F(Objects, AnObjectReplacedByOneOfTheSameSizeWhileItIsReadStopsTheRun) {
    const std::string uri = parquet("a.parquet", 0, 20'000);
    const auto dataset = open(uri);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    SplitReader reader(*dataset);
    ASSERT_TRUE(reader.readColumns({0, 0, 0, 1000}, {"x"}).ok());
    EXPECT_EQ(server_->lastIfMatch(), (*(*dataset)->facts(0))->etag);
    std::fstream(files_->at("lake/a.parquet"), std::ios::in | std::ios::out).seekp(4).put('x');
    const Status status = reader.readColumns({0, 7, 7000, 1000}, {"x"}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(messageOf(status),
                HasSubstr(uri + ": changed since the run was planned: its ETag"));
}

TEST_F(Objects, AReplacedCsvObjectOfTheSameSizeIsToldByTheEtagOfItsFacts) {
    files_->text("lake/t.csv", "x\n1\n2\n");
    const auto dataset = open("s3://lake/t.csv", "csv");
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    std::fstream(files_->at("lake/t.csv"), std::ios::in | std::ios::out).seekp(2).put('7');
    SplitReader reader(*dataset);
    EXPECT_THAT(messageOf(reader.readColumns({0, 0, 0, 2}, {"x"}).status()),
                HasSubstr("s3://lake/t.csv: changed since the run was planned: its ETag"));
}

TEST_F(Objects, CompressedCsvObjectsAreReadInFewRequests) {
    std::string text = "x,y\n";
    for (int i = 0; i < 200'000; ++i) {
        text += std::to_string(i) + "," + std::to_string(i * 7919 % 100'003) + "\n";
    }
    for (const auto kind : {arrow::Compression::GZIP, arrow::Compression::ZSTD}) {
        const auto codec = *arrow::util::Codec::Create(kind);
        std::string packed(text.size(), '\0');
        packed.resize(static_cast<std::size_t>(
            *codec->Compress(static_cast<std::int64_t>(text.size()),
                             reinterpret_cast<const std::uint8_t*>(text.data()),
                             static_cast<std::int64_t>(packed.size()),
                             reinterpret_cast<std::uint8_t*>(packed.data()))));
        files_->text("lake/t.csv.gz", packed);
        const auto before = server_->gets();
        const auto dataset = open("s3://lake/t.csv.gz", "csv");
        ASSERT_TRUE(dataset.ok()) << dataset.status();
        ASSERT_EQ((*(*dataset)->facts(0))->rows, 200'000);
        SplitReader reader(*dataset);
        for (const std::int64_t chunk : {1, 2, 0}) {
            const auto read = reader.readColumns({0, chunk, chunk * 65'536, 1000}, {"x"});
            ASSERT_TRUE(read.ok()) << read.status();
            EXPECT_EQ(static_cast<const arrow::Int64Array&>(*read->at(0)).Value(5),
                      chunk * 65'536 + 5);
        }
        EXPECT_LT(server_->gets() - before, 20) << "each of the 8 MiB of a file of 2";
    }
}

TEST_F(Objects, AStoreWithoutEtagsIsReadWithoutThem) {
    RangeServer::Faults faults;
    faults.hasNoEtags = true;
    server_->setFaults(faults);
    const auto dataset = open(parquet("a.parquet", 0, 2000));
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    SplitReader reader(*dataset);
    EXPECT_TRUE(reader.readColumns({0, 1, 1000, 1000}, {"x"}).ok());
    EXPECT_EQ(server_->lastIfMatch(), "");
}

}  // namespace
}  // namespace millrace::dataset

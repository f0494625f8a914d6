#include "backend/dataset/dataset.h"

#include <optional>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_nested.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <gmock/gmock.h>

#include "backend/dataset/plan/plan_builder.h"
#include "backend/dataset/side_table.h"
#include "backend/dataset/split_reader.h"
#include "backend/pages/parquet_footers.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::dataset {
namespace {

using test::DataDirectory;
using test::ints;
using test::reals;
using test::texts;
using ::testing::HasSubstr;

files::ReadOptions as(const std::string& format) {
    files::ReadOptions options;
    options.format = format;
    return options;
}

Result<std::shared_ptr<const Dataset>> openAt(const DataDirectory& dir, const std::string& path,
                                              const files::ReadOptions& options) {
    return Dataset::open({path}, dir.path(), options, std::make_shared<MetadataCache>(), 2);
}

std::shared_ptr<arrow::Array> as32(const std::vector<std::int32_t>& values) {
    arrow::Int32Builder builder;
    EXPECT_TRUE(builder.AppendValues(values).ok());
    return *builder.Finish();
}

std::vector<std::int64_t> range(std::int64_t from, std::int64_t to) {
    std::vector<std::int64_t> values;
    for (; from < to; ++from) {
        values.push_back(from);
    }
    return values;
}

stream::Plan planOf(const Dataset& dataset, std::int64_t segmentSplits = 0) {
    spec::RunSpec spec;
    spec.batch.segmentSplits = segmentSplits;
    return *buildPlan(spec, dataset, nullptr, dataset.schema().names());
}

TEST(Dataset, ParquetRowGroupsBecomeSplits) {
    DataDirectory dir;
    dir.parquet("a.parquet",
                {{"x", ints(range(0, 250))}, {"s", texts(std::vector<std::string>(250, "ab"))}},
                100);
    const auto dataset = openAt(dir, "a.parquet", as("parquet"));
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    const stream::Plan plan = planOf(**dataset);
    ASSERT_EQ(plan.files.size(), 1);
    ASSERT_EQ(plan.files[0].splits.size(), 3);
    EXPECT_EQ(plan.files[0].splits[2].firstRow, 200);
    EXPECT_EQ(plan.files[0].splits[2].rows, 50);
    EXPECT_EQ(plan.files[0].rows, 250);
    EXPECT_GE(plan.files[0].splits[0].decodedBytes, 800);
    EXPECT_EQ(plan.segmentSplits, 3);
    EXPECT_EQ(plan.segmentRule, stream::SegmentRule::kAll);
    EXPECT_EQ(planOf(**dataset, 2).segmentRule, stream::SegmentRule::kGiven);
    EXPECT_TRUE(stream::Plan::fromJson(*parseJson(plan.toJsonText(), "plan")).ok());
}

TEST(Dataset, AColumnWithoutANameIsLeftOutAndSaysSo) {
    DataDirectory dir;
    dir.parquet("a.parquet", {{"", ints({1, 2})}, {"k", ints({3, 4})}});
    const auto dataset = openAt(dir, "a.parquet", as("parquet"));
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ((*dataset)->schema().names(), std::vector<std::string>{"k"});
    EXPECT_THAT((*dataset)->schema().whyUnknown(""), HasSubstr("has no name"));
}

TEST(Dataset, ColumnsAreReadSplitBySplit) {
    DataDirectory dir;
    dir.parquet("a.parquet", {{"x", ints({1, 2, 3, 4, INT64_MIN})}, {"y", reals({1, 2, 3, 4, 5})}},
                2);
    SplitReader reader(*openAt(dir, "a.parquet", as("parquet")));
    const auto columns = reader.readColumns({0, 1, 2, 2}, {"y", "x"});
    ASSERT_TRUE(columns.ok()) << columns.status();
    EXPECT_TRUE(columns->at(0)->Equals(reals({3, 4})));
    EXPECT_TRUE(columns->at(1)->Equals(ints({3, 4})));
    EXPECT_EQ(reader.readColumns({0, 2, 4, 1}, {"x"})->at(0)->null_count(), 1);
    EXPECT_GT(reader.bytesRead(), 0);
}

TEST(Dataset, ARowRangeOfARowGroupIsRead) {
    DataDirectory dir;
    dir.parquet("a.parquet", {{"x", ints(range(0, 200'000))}}, 200'000);
    SplitReader reader(*openAt(dir, "a.parquet", as("parquet")));
    const auto columns = reader.readColumns({0, 0, 66'000, 70'000}, {"x"});
    ASSERT_TRUE(columns.ok()) << columns.status();
    EXPECT_TRUE(columns->at(0)->Equals(ints(range(66'000, 136'000))));
}

TEST(Dataset, ListsAndTypesArePinned) {
    DataDirectory dir;
    auto values = std::make_shared<arrow::Int64Builder>();
    arrow::LargeListBuilder lists(arrow::default_memory_pool(), values);
    ASSERT_TRUE(lists.Append().ok() && values->Append(5).ok() && lists.AppendNull().ok());
    dir.parquet("a.parquet", {{"l", *lists.Finish()}});
    const auto dataset = openAt(dir, "a.parquet", as("parquet"));
    EXPECT_EQ((*dataset)->schema().find("l")->type.name(), "int64[]");
    SplitReader reader(*dataset);
    const auto columns = reader.readColumns({0, 0, 0, 2}, {"l"});
    ASSERT_TRUE(columns.ok()) << columns.status();
    EXPECT_EQ(columns->at(0)->type_id(), arrow::Type::LIST);
    EXPECT_EQ(columns->at(0)->null_count(), 1);
}

TEST(Dataset, ATruncatedParquetFileIsDataLoss) {
    DataDirectory dir;
    const std::string path = dir.parquet("a.parquet", {{"x", ints(range(0, 100))}});
    const std::string whole = test::read(path);
    test::write(path, whole.substr(0, whole.size() / 2));
    const Status status = openAt(dir, "a.parquet", as("parquet")).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(messageOf(status),
              path + ": truncated: it begins as a Parquet file but does not end with PAR1");
}

TEST(Dataset, OtherBrokenParquetFilesAreDataLoss) {
    DataDirectory dir;
    const std::string path = dir.parquet("a.parquet", {{"x", ints(range(0, 100))}});
    const std::string whole = test::read(path);
    const auto messageWith = [&](const std::string& bytes) {
        test::write(path, bytes);
        const Status status = openAt(dir, "a.parquet", as("parquet")).status();
        EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
        return std::string(messageOf(status));
    };
    EXPECT_THAT(messageWith("PAR1"), HasSubstr("too few for a Parquet file"));
    EXPECT_THAT(messageWith("hello, this is text"), HasSubstr("not a Parquet file"));
    std::string longFooter = whole;
    longFooter[longFooter.size() - 5] = '\x7f';
    EXPECT_THAT(messageWith(longFooter), HasSubstr("the footer claims"));
    std::string torn = whole;
    torn.replace(torn.size() - 40, 30, 30, '\xff');
    EXPECT_THAT(messageWith(torn), HasSubstr(path));
    EXPECT_THAT(messageWith("PAR1" + whole.substr(whole.size() - 8)), HasSubstr("footer claims"));
}

TEST(Dataset, CorruptPagesNameRowGroupAndColumn) {
    DataDirectory dir;
    const std::string path = dir.parquet("a.parquet", {{"x", ints(range(0, 5000))}}, 5000);
    std::string bytes = test::read(path);
    bytes.replace(4, 64, 64, '\xee');
    test::write(path, bytes);
    SplitReader reader(*openAt(dir, "a.parquet", as("parquet")));
    const Status status = reader.readColumns({0, 0, 0, 5000}, {"x"}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(messageOf(status), HasSubstr("a.parquet: row group 0, column 'x': "));
}

TEST(Dataset, TypesWidenWhereNoValueIsLost) {
    DataDirectory dir;
    dir.parquet("a.parquet", {{"i", as32({1, -2})}, {"d", as32({3, 4})}, {"k", ints({7, 8})}});
    dir.parquet("b.parquet",
                {{"i", ints({std::int64_t{1} << 40})}, {"d", reals({0.5})}, {"k", ints({9})}});
    const auto dataset = openAt(dir, "*.parquet", as("parquet"));
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ((*dataset)->schema().find("i")->type.name(), "int64");
    EXPECT_EQ((*dataset)->schema().find("d")->type.name(), "double");
    SplitReader reader(*dataset);
    const auto columns = reader.readColumns({0, 0, 0, 2}, {"i", "d", "k"});
    ASSERT_TRUE(columns.ok()) << columns.status();
    EXPECT_TRUE(columns->at(0)->Equals(ints({1, -2})));
    EXPECT_TRUE(columns->at(1)->Equals(reals({3, 4})));
    const stream::Plan plan = planOf(**dataset);
    const auto again =
        Dataset::ofPlan(plan.files, as("parquet"), std::make_shared<MetadataCache>(), plan.schema);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*again)->schema(), (*dataset)->schema());
}

TEST(Dataset, MissingColumnsMayBeNull) {
    DataDirectory dir;
    dir.parquet("a.parquet", {{"x", ints({1})}, {"y", ints({2})}});
    dir.parquet("b.parquet", {{"x", ints({3})}});
    EXPECT_THAT((*openAt(dir, "*.parquet", as("parquet")))->schema().whyUnknown("y"),
                HasSubstr("column 'y' is not in " + dir.at("b.parquet")));
    files::ReadOptions options = as("parquet");
    options.areMissingColumnsNull = true;
    SplitReader reader(*openAt(dir, "*.parquet", options));
    const auto columns = reader.readColumns({1, 0, 0, 1}, {"y", "x"});
    ASSERT_TRUE(columns.ok()) << columns.status();
    EXPECT_EQ(columns->at(0)->null_count(), 1);
    EXPECT_TRUE(columns->at(1)->Equals(ints({3})));
}

TEST(Dataset, CsvSplitsAreReadWithPinnedTypes) {
    DataDirectory dir;
    dir.text("a.csv", "i,s,d\n1,\"a\nb\",1\n2,,2.5\n,\"\",3\n");
    files::ReadOptions options = as("csv");
    options.csvSplitRows = 2;
    SplitReader reader(*openAt(dir, "a.csv", options));
    const auto first = reader.readColumns({0, 0, 0, 2}, {"i", "s", "d"});
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_TRUE(first->at(0)->Equals(ints({1, 2})));
    EXPECT_TRUE(first->at(1)->Equals(texts({"a\nb", "\x01"})));
    EXPECT_TRUE(first->at(2)->Equals(reals({1, 2.5})));
    const auto second = reader.readColumns({0, 1, 2, 1}, {"s", "i"});
    EXPECT_TRUE(second->at(0)->Equals(texts({""})));
    EXPECT_EQ(second->at(1)->null_count(), 1);
}

TEST(Dataset, TypesGivenByTheUserWin) {
    DataDirectory dir;
    dir.text("a.csv", "zip,x\n01234,1\n99999,oops\n");
    files::ReadOptions options = as("csv");
    options.csvTypes = {{"zip", "string"}, {"x", "int64"}};
    const auto dataset = openAt(dir, "a.csv", options);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    SplitReader reader(*dataset);
    EXPECT_TRUE(
        reader.readColumns({0, 0, 0, 2}, {"zip"})->at(0)->Equals(texts({"01234", "99999"})));
    EXPECT_THAT(messageOf(reader.readColumns({0, 0, 0, 2}, {"x"}).status()),
                HasSubstr("a.csv:3: column 'x': 'oops' is not of type int64"));
    options.csvTypes = {{"zap", "string"}};
    EXPECT_THAT(messageOf(openAt(dir, "a.csv", options).status()),
                HasSubstr("did you mean 'zip'?"));
}

TEST(Dataset, CsvTypesAreUnitedOverFiles) {
    DataDirectory dir;
    dir.text("a.csv", "x,y\n1,\n");
    dir.text("b.csv", "x,y\n1.5,7\n");
    const auto dataset = openAt(dir, "*.csv", as("csv"));
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ((*dataset)->schema().find("x")->type.name(), "double");
    EXPECT_EQ((*dataset)->schema().find("y")->type.name(), "int64");
    dir.text("b.csv", "x,y\nabc,7\n");
    EXPECT_EQ((*openAt(dir, "*.csv", as("csv")))->schema().find("x")->type.name(), "string");
}

TEST(Dataset, AnUnknownColumnIsRefusedWithTheNearestName) {
    DataDirectory dir;
    dir.parquet("a.parquet", {{"user_id", ints({1})}});
    SplitReader reader(*openAt(dir, "a.parquet", as("parquet")));
    EXPECT_THAT(messageOf(reader.readColumns({0, 0, 0, 1}, {"userid"}).status()),
                HasSubstr("did you mean 'user_id'?"));
}

TEST(Dataset, AChangedFileStopsTheRunAndIsNamed) {
    DataDirectory dir;
    const std::string path = dir.parquet("a.parquet", {{"x", ints({1, 2})}});
    const stream::Plan plan = planOf(**openAt(dir, "a.parquet", as("parquet")));
    const auto cache = std::make_shared<MetadataCache>();
    EXPECT_TRUE(Dataset::ofPlan(plan.files, as("parquet"), cache).ok());
    dir.parquet("a.parquet", {{"y", ints({1, 2})}});
    const Status status =
        Dataset::ofPlan(plan.files, as("parquet"), std::make_shared<MetadataCache>()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(messageOf(status), HasSubstr(path + ": changed since the run was planned"));
    std::filesystem::remove(path);
    EXPECT_EQ(Dataset::ofPlan(plan.files, as("parquet"), cache).status().code(),
              absl::StatusCode::kNotFound);
}

/// A reader of a planned file that has read its first rows.
class ReaderOfAChangingFile : public testing::Test {
 protected:
    void start(const std::string& name, const std::string& format) {
        path_ = dir_.at(name);
        const stream::Plan plan = planOf(**openAt(dir_, name, as(format)));
        dataset_ = *Dataset::ofPlan(plan.files, as(format), std::make_shared<MetadataCache>());
        reader_.emplace(dataset_);
        ASSERT_TRUE(reader_->readColumns({0, 0, 0, 2}, {"x"}).ok());
        ASSERT_TRUE(dataset_->verifyFiles().ok());
    }
    void startParquet() {
        dir_.parquet("a.parquet", {{"x", ints({1, 2, 3, 4})}}, 2);
        start("a.parquet", "parquet");
    }
    /// The next read and the end of an epoch both name the file, the change and a way out.
    void expectChanged(const std::string& what) {
        SplitReader other(dataset_);
        for (const Status& status :
             {reader_->readColumns({0, 1, 2, 2}, {"x"}).status(),
              other.readColumns({0, 1, 2, 2}, {"x"}).status(), dataset_->verifyFiles()}) {
            EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
            EXPECT_THAT(messageOf(status),
                        HasSubstr(path_ + ": changed since the run was planned: "));
            EXPECT_THAT(messageOf(status), HasSubstr("put the planned content back and resume"));
        }
        EXPECT_THAT(messageOf(other.readColumns({0, 1, 2, 2}, {"x"}).status()), HasSubstr(what));
    }

    DataDirectory dir_;
    std::string path_;
    std::shared_ptr<const Dataset> dataset_;
    std::optional<SplitReader> reader_;
};

TEST_F(ReaderOfAChangingFile, NamesAFileThatIsWrittenToInPlaceWithAsManyBytes) {
    startParquet();
    std::fstream(path_, std::ios::in | std::ios::out).seekp(4).put('x');
    expectChanged("it was written to at 2");
}

TEST_F(ReaderOfAChangingFile, NamesAFileWhoseOldTimeWasPutBack) {
    startParquet();
    const auto time = std::filesystem::last_write_time(path_);
    std::fstream(path_, std::ios::in | std::ios::out).seekp(4).put('x');
    std::filesystem::last_write_time(path_, time);
    expectChanged("its old time put back");
}

TEST_F(ReaderOfAChangingFile, NamesAFileThatAnotherOneTookThePlaceOf) {
    startParquet();
    dir_.parquet("b.parquet", {{"x", ints({1, 2, 9, 9})}}, 2);
    std::filesystem::rename(dir_.at("b.parquet"), path_);
    expectChanged("another file took its place at 2");
}

TEST_F(ReaderOfAChangingFile, NamesAFileThatIsNoLongerThere) {
    startParquet();
    std::filesystem::remove(path_);
    EXPECT_THAT(messageOf(dataset_->verifyFiles()), HasSubstr("it is no longer there"));
    EXPECT_THAT(messageOf(reader_->readColumns({0, 1, 2, 2}, {"x"}).status()),
                HasSubstr(path_ + ": changed since the run was planned: it was removed"));
}

TEST_F(ReaderOfAChangingFile, NamesACsvFileWhoseByteRangesHoldOtherRows) {
    dir_.text("a.csv", "x\n1\n2\n3\n4\n");
    files::ReadOptions options = as("csv");
    options.csvSplitRows = 2;
    path_ = dir_.at("a.csv");
    const stream::Plan plan = planOf(**openAt(dir_, "a.csv", options));
    dataset_ = *Dataset::ofPlan(plan.files, options, std::make_shared<MetadataCache>());
    reader_.emplace(dataset_);
    ASSERT_TRUE(reader_->readColumns({0, 0, 0, 2}, {"x"}).ok());
    std::fstream(path_, std::ios::in | std::ios::out).seekp(6).put('7');
    expectChanged("(its 10 bytes are as many as before)");
}

TEST(Dataset, AFooterThatIsReadAgainIsThePlannedOne) {
    DataDirectory dir;
    const std::string path = dir.parquet("a.parquet", {{"x", ints({1, 2})}});
    const files::DataFile file = *files::statFile(path, path);
    const files::FileSource source = *files::FileSource::open(file);
    pages::ParquetFooters footers;
    const Status status = footers.get(file, source, std::string(32, '0'), {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(messageOf(status),
                HasSubstr(path + ": changed since the run was planned: its hash"));
    EXPECT_TRUE(footers.get(file, source, readFacts(file, as("parquet"))->contentHash, {}).ok());
}

TEST(Dataset, ASideTableThatChangesWhileItIsLoadedIsNamed) {
    DataDirectory dir;
    const std::string path = dir.text("t.csv", "k,v\n1,2\n");
    const auto checked = verifySideTable(
        sideTablesOf("t.csv", {dir.path(), std::make_shared<MetadataCache>()})->front());
    ASSERT_TRUE(checked.ok()) << checked.status();
    EXPECT_TRUE(verifyStill(*checked).ok());
    std::fstream(path, std::ios::in | std::ios::out).seekp(6).put('3');
    EXPECT_THAT(messageOf(verifyStill(*checked)),
                HasSubstr(path + ": changed since the run was planned: it was written to"));
}

TEST(Dataset, FactsComeFromTheDiskCacheWhileTheFileIsTheSame) {
    DataDirectory dir, cacheDir;
    const std::string path = dir.text("a.csv", "x\n1\n");
    const files::ReadOptions options = as("csv");
    const files::DataFile file = *files::statFile(path, path);
    ASSERT_TRUE(MetadataCache(cacheDir.path()).get(file, options).ok());
    // The content changes under the same identity: the answer comes from the cache, not from the
    // file.
    const auto time = std::filesystem::last_write_time(path);
    test::write(path, "\n\n\n\n");
    std::filesystem::last_write_time(path, time);
    EXPECT_EQ((*MetadataCache(cacheDir.path()).get(file, options))->rows, 1);
    dir.text("a.csv", "x\n1\n2\n");
    EXPECT_EQ((*MetadataCache(cacheDir.path()).get(*files::statFile(path, path), options))->rows,
              2);
    for (const auto& entry : std::filesystem::directory_iterator(cacheDir.path())) {
        test::write(entry.path(), "{broken");
    }
    EXPECT_EQ((*MetadataCache(cacheDir.path()).get(*files::statFile(path, path), options))->rows,
              2);
}

TEST(Dataset, FactsOfManyFilesAreOnePackADirectory) {
    DataDirectory dir, cacheDir;
    for (int i = 0; i < 30; ++i) {
        dir.text("k=" + std::to_string(i % 3) + "/" + std::to_string(i) + ".csv", "x,y\n1,2\n");
    }
    const files::ReadOptions options = as("csv");
    const auto files = *files::listFiles({"k=*/*.csv"}, dir.path(), "csv");
    const auto first = *MetadataCache(cacheDir.path()).getAll(files, options, 2);
    const auto packs = std::filesystem::directory_iterator(cacheDir.path());
    EXPECT_EQ(std::distance(begin(packs), end(packs)), 3);
    // The files are removed; only the cache has their facts.
    for (const files::DataFile& file : files) {
        std::filesystem::remove(file.path);
    }
    const auto again = MetadataCache(cacheDir.path()).getAll(files, options, 2);
    ASSERT_TRUE(again.ok()) << again.status();
    for (std::size_t i = 0; i < files.size(); ++i) {
        EXPECT_EQ(*(*again)[i], *first[i]);
    }
    // A torn pack is ignored.
    for (const auto& entry : std::filesystem::directory_iterator(cacheDir.path())) {
        std::filesystem::resize_file(entry.path(), entry.file_size() - 1);
    }
    EXPECT_EQ(MetadataCache(cacheDir.path()).getAll(files, options, 2).status().code(),
              absl::StatusCode::kNotFound);
}

TEST(Dataset, ArrowFilesAndStreamsReadTheSame) {
    DataDirectory dir;
    const auto batch = arrow::RecordBatch::Make(
        arrow::schema({arrow::field("x", arrow::int64()), arrow::field("s", arrow::utf8())}), 3,
        {ints({1, 2, 3}), texts({"a", "\x01", "c"})});
    const auto options = arrow::ipc::IpcWriteOptions::Defaults();
    for (const std::string name : {"a.arrow", "b.arrows"}) {
        auto sink = *arrow::io::FileOutputStream::Open(dir.at(name));
        auto writer = name == "a.arrow"
                          ? *arrow::ipc::MakeFileWriter(sink, batch->schema(), options)
                          : *arrow::ipc::MakeStreamWriter(sink, batch->schema(), options);
        ASSERT_TRUE(writer->WriteRecordBatch(*batch).ok());
        ASSERT_TRUE(writer->WriteRecordBatch(*batch->Slice(1)).ok());
        ASSERT_TRUE(writer->Close().ok());
        ASSERT_TRUE(sink->Close().ok());
    }
    const auto dataset = openAt(dir, dir.path(), as("arrow"));
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    ASSERT_EQ((*dataset)->files().size(), 2U);
    SplitReader reader(*dataset);
    for (const std::uint32_t file : {0U, 1U}) {
        const auto second = reader.readColumns({file, 1, 3, 2}, {"s", "x"});
        ASSERT_TRUE(second.ok()) << second.status();
        EXPECT_TRUE(second->at(1)->Equals(ints({2, 3})));
        EXPECT_TRUE(
            reader.readColumns({file, 0, 0, 3}, {"s"})->at(0)->Equals(texts({"a", "\x01", "c"})));
    }
    const std::string whole = test::read(dir.at("b.arrows"));
    test::write(dir.at("b.arrows"), whole.substr(0, whole.size() * 3 / 4));
    EXPECT_THAT(messageOf(openAt(dir, "b.arrows", as("arrow")).status()),
                HasSubstr("b.arrows: record batch 1: truncated"));
    test::write(dir.at("b.arrows"), "\xff\xff\xff\xffgarbage that is long enough");
    EXPECT_THAT(messageOf(openAt(dir, "b.arrows", as("arrow")).status()),
                HasSubstr("b.arrows: neither an Arrow IPC file"));
}

TEST(Plan, TheReadColumnsAreThoseThatTheSpecMentions) {
    spec::RunSpec spec;
    spec.dataset.where = "a > 1";
    spec::FilterStep step;
    step.expr = "b is null and f(c)";
    spec.recipe.push_back({"filter", true, step});
    step.expr = "off > 1";
    spec.recipe.push_back({"off", false, step});
    spec.labels["y"].expr = "d >= 4";
    spec.features.ids = {"made", "e"};
    expr::Schema schema;
    for (const char* name : {"a", "b", "c", "d", "e", "off", "unused"}) {
        schema.set(name, {expr::TypeKind::kInt64});
    }
    EXPECT_THAT(columnsRead(spec, schema), testing::ElementsAre("a", "b", "c", "d", "e"));
}

TEST(Plan, SideTablesAreHashedAndChecked) {
    DataDirectory dir;
    dir.text("t.csv", "k\n1\n");
    dir.text("u.csv", "k\n12\n13\n");
    const auto tables = sideTablesOf(spec::TableRef(std::vector<std::string>{"u.csv", "t*.csv"}),
                                     {dir.path(), std::make_shared<MetadataCache>()});
    ASSERT_TRUE(tables.ok()) << tables.status();
    ASSERT_EQ(tables->size(), 2);
    EXPECT_EQ(tables->at(0).bytes, 8);
    EXPECT_EQ(tables->at(0).rows, 2);
    const stream::SideTable& table = tables->at(1);
    EXPECT_EQ(table.bytes, 4);
    EXPECT_EQ(table.rows, 1);
    EXPECT_TRUE(verifySideTable(table).ok());
    dir.text("t.csv", "k\n2\n");
    EXPECT_THAT(messageOf(verifySideTable(table).status()), HasSubstr("t.csv: changed since"));
}

TEST(Plan, ATableHasTheFilesOfThePlanAndNoOther) {
    DataDirectory dir;
    dir.text("t-1.csv", "k\n1\n");
    const TablePlace place{
        dir.path(), std::make_shared<MetadataCache>(),
        std::make_shared<std::set<std::string>>(std::set<std::string>{dir.path() + "/t-1.csv"})};
    const auto table = loadTable("t-*.csv", {"k"}, place);
    ASSERT_TRUE(table.ok()) << table.status();
    dir.text("t-2.csv", "k\n1\n");
    const Status status = loadTable("t-*.csv", {"k"}, place).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(messageOf(status), HasSubstr("t-2.csv is not a file of the plan"));
}

TEST(Plan, AFileOfTwoTablesIsPinnedOnce) {
    DataDirectory dir;
    dir.text("d.csv", "k\n1\n");
    dir.text("t.csv", "k\n1\n");
    dir.text("u.csv", "k\n1\n");
    const auto dataset = openAt(dir, "d.csv", as("csv"));
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    spec::RunSpec spec;
    spec.baseDir = dir.path();
    spec::SemiJoinStep step;
    step.on = {{"k", "k"}};
    step.table = spec::TableRef("t.csv");
    spec.recipe.push_back({"join", true, step});
    step.table = spec::TableRef(std::vector<std::string>{"t.csv", "u.csv"});
    spec.recipe.push_back({"join", true, step});
    const auto plan = buildPlan(spec, **dataset, nullptr, {"k"});
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_EQ(plan->sideTables.size(), 2);
    EXPECT_THAT(plan->sideTables[0].path, HasSubstr("t.csv"));
    EXPECT_THAT(plan->sideTables[1].path, HasSubstr("u.csv"));
}

TEST(Plan, ZonesOfWhatAJoinLooksUpArePinned) {
    spec::RunSpec spec;
    spec::JoinStep step;
    step.on = {{"date_trunc('day', t at time zone 'Europe/Berlin')", "day"}};
    step.asOf = spec::AsOf();
    step.asOf->left = "t at time zone 'America/New_York'";
    spec.recipe.push_back({"join", true, step});
    EXPECT_THAT(zoneFiles(spec), testing::UnorderedElementsAre(HasSubstr("/Europe/Berlin"),
                                                               HasSubstr("/America/New_York")));
}

TEST(Plan, TheSameFilesElsewhereGiveTheSamePlanHash) {
    DataDirectory a, b;
    a.text("x.csv", "k\n1\n");
    b.text("x.csv", "k\n1\n");
    EXPECT_EQ(planOf(**openAt(a, "x.csv", as("csv"))).planHash(),
              planOf(**openAt(b, "x.csv", as("csv"))).planHash());
}

}  // namespace
}  // namespace millrace::dataset

// Directories that appear whole or not at all, and tables in the three formats.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <arrow/api.h>
#include <gtest/gtest.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include "backend/core/thread.h"
#include "backend/dataset/dataset.h"
#include "backend/dataset/split_reader.h"
#include "backend/filesystem/files.h"
#include "backend/frame/frame.h"
#include "backend/spec/run_spec.h"
#include "backend/table/frame_table.h"
#include "backend/table/table_output.h"
#include "tests/support/temp_dir.h"

namespace millrace::table {
namespace {

namespace fs = std::filesystem;

class OutputTest : public ::testing::Test {
 protected:
    std::size_t entriesBeside() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator()));
    }
    std::string target() const { return directory_ / "table"; }

    /// number 0..n-1, half float, list of (number % 3) numbers.
    static BatchPtr rows(std::int64_t from, std::int64_t count) {
        arrow::Int64Builder number;
        arrow::FloatBuilder half;
        auto element = std::make_shared<arrow::Int64Builder>();
        arrow::ListBuilder list(arrow::default_memory_pool(), element);
        for (std::int64_t i = from; i < from + count; ++i) {
            EXPECT_TRUE(number.Append(i).ok() && half.Append(static_cast<float>(i) / 2).ok() &&
                        list.Append().ok());
            for (std::int64_t k = 0; k < i % 3; ++k) {
                EXPECT_TRUE(element->Append(10 * i + k).ok());
            }
        }
        return arrow::RecordBatch::Make(
            arrow::schema({arrow::field("number", arrow::int64()),
                           arrow::field("half", arrow::float32()),
                           arrow::field("list", arrow::list(arrow::int64()))}),
            count, {*number.Finish(), *half.Finish(), *list.Finish()});
    }

    static TableOptions options(const std::string& directory, TableFormat format) {
        TableOptions options;
        options.directory = directory;
        options.writer.format = format;
        options.rowGroupRows = 100;
        return options;
    }

    std::shared_ptr<const dataset::Dataset> open(const std::string& format) {
        files::ReadOptions reading;
        reading.format = format;
        auto opened = dataset::Dataset::open({target()}, "/", reading,
                                             std::make_shared<dataset::MetadataCache>());
        EXPECT_TRUE(opened.ok()) << opened.status();
        return opened.ok() ? *opened : nullptr;
    }

    tests::TempDir directory_;
};

TEST_F(OutputTest, NothingIsSeenBeforeTheCommitAndNothingIsLeftWithoutIt) {
    {
        auto place = OutputPlace::open(target(), false);
        ASSERT_TRUE(place.ok()) << place.status();
        std::ofstream(place->path() + "/part-00000.csv") << "x\n";
        EXPECT_FALSE(fs::exists(target()));
    }
    EXPECT_EQ(entriesBeside(), 0U);
    auto place = OutputPlace::open(target(), false);
    std::ofstream(place->path() + "/part-00000.csv") << "x\n";
    ASSERT_TRUE(place->commit().ok());
    EXPECT_TRUE(fs::exists(target() + "/part-00000.csv"));
    EXPECT_EQ(entriesBeside(), 1U);
}

TEST_F(OutputTest, AnExistingTargetIsRefusedAndForceReplacesTablesAlone) {
    fs::create_directory(target());
    std::ofstream(target() + "/part-00000.parquet") << "old";
    const auto refused = OutputPlace::open(target(), false);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(messageOf(refused.status()).find("--force"), std::string::npos);
    auto place = OutputPlace::open(target(), true);
    ASSERT_TRUE(place.ok()) << place.status();
    EXPECT_EQ(*readFile(target() + "/part-00000.parquet"), "old") << "until the commit";
    ASSERT_TRUE(place->commit().ok());
    EXPECT_TRUE(fs::is_empty(target()));
    std::ofstream(target() + "/thesis.txt") << "mine";
    const auto other = OutputPlace::open(target(), true);
    ASSERT_FALSE(other.ok());
    EXPECT_NE(messageOf(other.status()).find("thesis.txt"), std::string::npos);
    EXPECT_EQ(*readFile(target() + "/thesis.txt"), "mine");
}

TEST_F(OutputTest, WhatAKilledWriterLeftIsRemoved) {
    const std::string dead = directory_ / ".table.partial-999999999";
    const std::string other = directory_ / ".other.partial-999999999";
    fs::create_directory(dead);
    fs::create_directory(other);
    const auto place = OutputPlace::open(target(), false);
    ASSERT_TRUE(place.ok());
    EXPECT_FALSE(fs::exists(dead));
    EXPECT_TRUE(fs::exists(other));
}

TEST_F(OutputTest, EachFormatReadsBackAsItWasWritten) {
    for (const char* format : {"parquet", "arrow", "csv"}) {
        auto output = TableOutput::open(options(target(), *parseTableFormat(format)));
        ASSERT_TRUE(output.ok()) << output.status();
        ASSERT_TRUE((*output)->start(rows(0, 1)->schema()).ok());
        for (std::int64_t from = 0; from < 250; from += 50) {
            ASSERT_TRUE((*output)->add(rows(from, 50)).ok());
        }
        ASSERT_TRUE((*output)->commit({{"made", "here"}}).ok());
        EXPECT_EQ((*output)->totals().rows, 250);
        EXPECT_EQ((*output)->totals().rowGroups, 3);
        EXPECT_NE(readFile(target() + "/_table.json")->find("here"), std::string::npos);
        const auto dataset = open(format);
        ASSERT_NE(dataset, nullptr);
        const auto facts = *dataset->facts(0);
        EXPECT_EQ(facts->rows, 250) << format;
        if (std::string(format) != "csv") {
            EXPECT_EQ(facts->chunks.size(), 3U) << format;
            EXPECT_EQ(facts->chunks[0].rows, 100) << format;
        }
        dataset::SplitReader reader(dataset);
        const dataset::SplitRange first{0, 0, 0, facts->chunks[0].rows};
        const auto arrays = reader.readColumns(first, {"number", "list"});
        ASSERT_TRUE(arrays.ok()) << arrays.status();
        EXPECT_EQ(static_cast<const arrow::Int64Array&>(*(*arrays)[0]).Value(77), 77);
        const std::string list = (*arrays)[1]->Slice(8, 1)->ToString();
        EXPECT_NE(list.find("80"), std::string::npos) << format << list;
        EXPECT_NE(list.find("81"), std::string::npos) << format << list;
        output->reset();
        fs::remove_all(target());
    }
}

TEST_F(OutputTest, FilesDoNotDependOnThreads) {
    for (const char* format : {"parquet", "arrow", "csv"}) {
        for (const char* key : {"", "half"}) {
            std::string first;
            for (const int threads : {1, 2, 5, -2, -5}) {  // below 0: those that are given
                TableOptions made = options(target(), *parseTableFormat(format));
                made.isForced = true;
                made.rowGroupRows = 20'000;
                made.writer.threads = std::abs(threads);
                made.isShared = threads < 0;
                if (*key != 0) {
                    made.sort = {key};
                }
                auto output = TableOutput::open(made);
                ASSERT_TRUE(output.ok()) << output.status();
                ASSERT_TRUE((*output)->start(rows(0, 1)->schema()).ok());
                SharedWork* const work = (*output)->sharedWork();
                EXPECT_EQ(work != nullptr, threads < 0 && *key == 0);
                std::vector<std::jthread> given;
                for (int t = 0; work != nullptr && t < made.writer.threads; ++t) {
                    given.push_back(startThread("given", [work](const std::stop_token& stop) {
                        while (work->doPiece() || !stop.stop_requested()) {
                        }
                    }));
                }
                for (std::int64_t from = 0; from < 50'000; from += 5000) {
                    ASSERT_TRUE((*output)->add(rows(49'000 - from, 5000)).ok());
                }
                given.clear();
                ASSERT_TRUE((*output)->commit({}).ok());
                const auto bytes =
                    readFile(strCat(target(), "/part-00000", endingOf(made.writer.format)));
                ASSERT_TRUE(bytes.ok()) << bytes.status();
                EXPECT_GT(bytes->size(), 50'000U);
                first = first.empty() ? *bytes : first;
                EXPECT_TRUE(*bytes == first) << format << " with " << threads << " threads";
            }
        }
    }
}

TEST_F(OutputTest, AColumnOfMostlyDifferentValuesHasNoDictionary) {
    arrow::Int64Builder all, few;
    arrow::StringBuilder texts;
    for (std::int64_t i = 0; i < 1000; ++i) {
        ASSERT_TRUE(all.Append(i * 7919).ok() && few.Append(i % 300).ok() &&
                    texts.Append("text " + std::to_string(i % 900)).ok());
    }
    const auto batch = arrow::RecordBatch::Make(
        arrow::schema({arrow::field("all", arrow::int64()), arrow::field("few", arrow::int64()),
                       arrow::field("texts", arrow::utf8())}),
        1000, {*all.Finish(), *few.Finish(), *texts.Finish()});
    const std::string path = directory_ / "t.parquet";
    auto writer = TableWriter::open(path, batch->schema(), {});
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE((*writer)->write(*batch).ok());
    ASSERT_TRUE((*writer)->close().ok());
    const auto reader = parquet::ParquetFileReader::OpenFile(path);
    const auto group = reader->metadata()->RowGroup(0);
    EXPECT_FALSE(group->ColumnChunk(0)->has_dictionary_page());
    EXPECT_TRUE(group->ColumnChunk(1)->has_dictionary_page());
    EXPECT_FALSE(group->ColumnChunk(2)->has_dictionary_page());
}

TEST_F(OutputTest, FewRowsMakeFewerRowGroupsWhereMemoryIsShort) {
    TableOptions small = options(target(), TableFormat::kParquet);
    small.memoryBytes = 2000;
    auto output = TableOutput::open(small);
    ASSERT_TRUE((*output)->start(rows(0, 1)->schema()).ok());
    for (std::int64_t from = 0; from < 100; from += 10) {
        ASSERT_TRUE((*output)->add(rows(from, 10)).ok());
    }
    ASSERT_TRUE((*output)->commit({}).ok());
    EXPECT_GT((*output)->totals().rowGroups, 1);
    EXPECT_GT((*output)->totals().smallestGroupRows, 0);
    EXPECT_EQ((*output)->totals().rows, 100);
}

TEST_F(OutputTest, FramesBecomeColumnsWithTheirTypes) {
    using frame::ColumnSpec;
    using frame::DType;
    using frame::Role;
    spec::RunSpec spec;
    spec.features.dense = {{"age", 0}, {"price", 0}};
    const auto layout =
        frame::FrameLayout::make({ColumnSpec::fixed(Role::kDense, DType::kFloat32, "dense", 2),
                                  ColumnSpec::fixed(Role::kId, DType::kInt64, "user"),
                                  ColumnSpec::list(Role::kList, DType::kInt64, "tags"),
                                  ColumnSpec::fixed(Role::kLabel, DType::kFloat32, "click"),
                                  ColumnSpec::fixed(Role::kWeight, DType::kFloat32, "click"),
                                  ColumnSpec::fixed(Role::kMask, DType::kUint8, "click"),
                                  ColumnSpec::fixed(Role::kCarry, DType::kInt64, "user"),
                                  ColumnSpec::fixed(Role::kCarry, DType::kInt32, "day")},
                                 "");
    ASSERT_TRUE(layout.ok()) << layout.status();
    frame::FrameWriter writer(*layout);
    std::vector<std::uint64_t> counts(layout->numColumns(), 0);
    counts[4] = 3;
    const auto bytes = writer.declare(2, counts);
    ASSERT_TRUE(bytes.ok());
    frame::FrameBuffer memory(*bytes);
    ASSERT_TRUE(writer.bind(memory.bytes(), {}).ok());
    const float dense[] = {1, 2, 3, 4};
    std::copy_n(dense, 4, writer.values<float>(2).data());
    writer.values<std::int64_t>(3)[0] = 8;
    writer.values<std::int64_t>(3)[1] = 9;
    writer.offsets(4)[1] = 1;
    std::fill_n(writer.values<std::int64_t>(4).data(), 3, 5);
    std::fill_n(writer.values<float>(5).data(), 2, 1.0F);
    std::fill_n(writer.values<float>(6).data(), 2, 0.5F);
    writer.values<std::uint8_t>(7)[0] = 0;
    writer.values<std::uint8_t>(7)[1] = 1;
    std::fill_n(writer.values<std::int64_t>(8).data(), 2, 77);
    std::fill_n(writer.values<std::int32_t>(9).data(), 2, 20000);
    std::fill_n(writer.values<std::uint32_t>(0).data(), 2, 0);
    std::fill_n(writer.values<std::uint64_t>(1).data(), 2, 0);

    const CarriedTypes types = {{"day", arrow::date32()}};
    const auto table = FrameTable::make(spec, *layout, types, {});
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(table->schema()->ToString(),
              "age: float not null\nprice: float not null\nuser: int64 not null\n"
              "tags: list<item: int64> not null\nclick: float not null\n"
              "click.weight: float not null\nclick.mask: bool not null\n"
              "user.carry: int64 not null\nday: date32[day] not null");
    const auto view = frame::FrameView::open(memory.bytes());
    ASSERT_TRUE(view.ok()) << view.status();
    const auto batch = table->batchOf(*view);
    ASSERT_TRUE(batch.ok()) << batch.status();
    ASSERT_TRUE((*batch)->ValidateFull().ok());
    EXPECT_EQ(static_cast<const arrow::FloatArray&>(*(*batch)->column(1)).Value(1), 4);
    EXPECT_EQ(static_cast<const arrow::ListArray&>(*(*batch)->column(3)).value_length(1), 2);
    EXPECT_FALSE(static_cast<const arrow::BooleanArray&>(*(*batch)->column(6)).Value(0));
    EXPECT_EQ(static_cast<const arrow::Date32Array&>(*(*batch)->column(8)).Value(0), 20000);

    const auto chosen = FrameTable::make(spec, *layout, types, {"user", "age"});
    EXPECT_EQ((*chosen->batchOf(*view))->schema()->field_names(),
              (std::vector<std::string>{"user", "age"}));
    const auto unknown = FrameTable::make(spec, *layout, types, {"usr"});
    ASSERT_FALSE(unknown.ok());
    EXPECT_NE(messageOf(unknown.status()).find("did you mean 'user'"), std::string::npos);
}

}  // namespace
}  // namespace millrace::table

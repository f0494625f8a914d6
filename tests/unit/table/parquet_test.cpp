// Row groups that our code encodes, compared with Arrow's reader and writer.
#include <limits>
#include <random>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/io/memory.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/statistics.h>

#include "backend/filesystem/files.h"
#include "backend/table/table_output.h"
#include "tests/support/temp_dir.h"

namespace millrace::table {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

class ParquetTest : public ::testing::Test {
 protected:
    /// Values of `type` from numbers; if `hasNulls`, every seventh and 50 rows in a row are null.
    template <class Builder, class Value>
    static ArrayPtr made(const std::shared_ptr<arrow::DataType>& type, std::int64_t rows,
                         bool hasNulls, const Value& value) {
        Builder builder(type, arrow::default_memory_pool());
        for (std::int64_t i = 0; i < rows; ++i) {
            const bool isNull = hasNulls && (i % 7 == 3 || (i >= 100 && i < 150));
            EXPECT_TRUE((isNull ? builder.AppendNull() : builder.Append(value(i))).ok());
        }
        return *builder.Finish();
    }

    static std::string text(std::uint64_t i) {
        return std::string("some text of any length").substr(0, i % 23) + std::to_string(i % 997) +
               std::string(i % 2, '\0');
    }

    /// `varied`: approximate number of different values.
    static BatchPtr batch(std::int64_t rows, bool hasNulls, std::uint64_t varied,
                          std::uint64_t seed = 1) {
        std::mt19937_64 random(seed);
        std::vector<std::uint64_t> drawn;
        for (std::int64_t i = 0; i < rows; ++i) {  // with runs of one value
            const bool isRun = i % 1000 > 900 && i > 0;
            drawn.push_back(isRun ? drawn.back() : random() % varied * 0x9e3779b97f4a7c15U);
        }
        arrow::FieldVector fields;
        arrow::ArrayVector arrays;
        const auto add = [&](const char* name, const ArrayPtr& array) {
            fields.push_back(arrow::field(name, array->type(), hasNulls));
            arrays.push_back(array);
        };
        const auto number = [&](auto zero) {
            return [&drawn, zero](std::int64_t i) {
                return static_cast<decltype(zero)>(drawn[static_cast<std::size_t>(i)]);
            };
        };
        const auto real = [&](auto zero) {
            return [&drawn, zero](std::int64_t i) {
                const auto value = static_cast<std::int64_t>(drawn[static_cast<std::size_t>(i)]);
                const auto real = static_cast<decltype(zero)>(value);
                return i % 11 == 5   ? std::numeric_limits<decltype(zero)>::quiet_NaN()
                       : i % 11 == 7 ? -zero
                                     : real;
            };
        };
        const auto words = [&](std::int64_t i) { return text(drawn[static_cast<std::size_t>(i)]); };
        using namespace arrow;  // NOLINT: names of types alone
        add("i8", made<Int8Builder>(int8(), rows, hasNulls, number(std::int8_t{})));
        add("i32", made<Int32Builder>(int32(), rows, hasNulls, number(std::int32_t{})));
        add("u32", made<UInt32Builder>(uint32(), rows, hasNulls, number(std::uint32_t{})));
        add("i64", made<Int64Builder>(int64(), rows, hasNulls, number(std::int64_t{})));
        add("u64", made<UInt64Builder>(uint64(), rows, hasNulls, number(std::uint64_t{})));
        add("day", made<Date32Builder>(date32(), rows, hasNulls, number(std::int32_t{})));
        add("time", made<TimestampBuilder>(timestamp(TimeUnit::MICRO, "UTC"), rows, hasNulls,
                                           number(std::int64_t{})));
        add("nanos", made<TimestampBuilder>(timestamp(TimeUnit::NANO), rows, hasNulls,
                                            number(std::int64_t{})));
        add("f32", made<FloatBuilder>(float32(), rows, hasNulls, real(0.0F)));
        add("f64", made<DoubleBuilder>(float64(), rows, hasNulls, real(0.0)));
        add("text", made<StringBuilder>(utf8(), rows, hasNulls, words));
        add("bytes", made<BinaryBuilder>(binary(), rows, hasNulls, words));
        add("bool", made<BooleanBuilder>(boolean(), rows, hasNulls,
                                         [](std::int64_t i) { return i % 3 == 0; }));
        return RecordBatch::Make(schema(fields), rows, arrays);
    }

    static BatchPtr withList(const BatchPtr& batch) {
        auto element = std::make_shared<arrow::Int64Builder>();
        arrow::ListBuilder lists(arrow::default_memory_pool(), element);
        for (std::int64_t i = 0; i < batch->num_rows(); ++i) {
            EXPECT_TRUE((i % 5 == 4 ? lists.AppendNull() : lists.Append()).ok());
            for (std::int64_t k = 0; i % 5 != 4 && k < i % 3; ++k) {
                EXPECT_TRUE(element->Append(10 * i + k).ok());
            }
        }
        const auto list = *lists.Finish();
        return *batch->AddColumn(1, arrow::field("list", list->type()), list);
    }

    std::string write(const arrow::RecordBatch& rows, std::int64_t groupRows,
                      WriterOptions options = {}) {
        const std::string path = directory_ / "here.parquet";
        auto writer = TableWriter::open(path, rows.schema(), options);
        EXPECT_TRUE(writer.ok()) << writer.status();
        for (std::int64_t at = 0; at < rows.num_rows(); at += groupRows) {
            const Status status = (*writer)->write(*rows.Slice(at, groupRows));
            EXPECT_TRUE(status.ok()) << status;
        }
        EXPECT_TRUE((*writer)->close().ok());
        return path;
    }

    static std::shared_ptr<arrow::Table> read(const std::string& path) {
        auto file = *arrow::io::ReadableFile::Open(path);
        auto reader = *parquet::arrow::OpenFile(file, arrow::default_memory_pool());
        return *reader->ReadTable();
    }

    tests::TempDir directory_;
};

TEST_F(ParquetTest, ReadsBackAsItWasWritten) {
    for (const bool hasNulls : {false, true}) {
        for (const std::uint64_t varied : {1U, 2U, 300U, 9'000U, 1'000'000'000U}) {
            WriterOptions options;
            options.codec = varied == 300 ? "none" : "zstd";
            options.hasFloatDictionary = varied == 300;
            options.threads = 3;
            const BatchPtr rows = withList(batch(25'000, hasNulls, varied));
            const auto table = read(write(*rows->Slice(1), 20'333, options));
            ASSERT_TRUE(table->schema()->Equals(rows->schema()));
            EXPECT_EQ(table->num_rows(), 24'999);
            const auto whole = *table->CombineChunksToBatch();
            for (int c = 0; c < rows->num_columns(); ++c) {
                EXPECT_TRUE(whole->column(c)->Equals(
                    rows->column(c)->Slice(1), arrow::EqualOptions::Defaults().nans_equal(true)))
                    << rows->column_name(c) << " of " << varied << " values, nulls " << hasNulls;
            }
        }
    }
}

TEST_F(ParquetTest, ValuesBelowADictionarysLimitAreIndices) {
    const auto reader =
        parquet::ParquetFileReader::OpenFile(write(*batch(10'000, true, 300), 10'000));
    const auto group = reader->metadata()->RowGroup(0);
    for (int c = 0; c < group->num_columns(); ++c) {
        const auto type = group->ColumnChunk(c)->type();
        const bool hasNone = type == parquet::Type::FLOAT || type == parquet::Type::DOUBLE ||
                             type == parquet::Type::BOOLEAN;
        EXPECT_EQ(group->ColumnChunk(c)->has_dictionary_page(), !hasNone) << c;
    }
}

// Integers with small steps are packed as differences, unless a codec makes the values smaller.
TEST_F(ParquetTest, IntegersOfSmallStepsArePackedAsDifferences) {
    std::mt19937_64 random(5);
    std::int64_t last = 1'700'000'000'000;
    const auto climbing = [&](std::int64_t) {
        return last += static_cast<std::int64_t>(random() % 1'000);
    };
    const auto wide = [&](std::int64_t i) { return (i % 7) << 40 | static_cast<std::int64_t>(i); };
    const auto type = arrow::int64();
    const auto rows = arrow::RecordBatch::Make(
        arrow::schema({arrow::field("climbing", type), arrow::field("wide", type)}), 30'000,
        {made<arrow::Int64Builder>(type, 30'000, true, climbing),
         made<arrow::Int64Builder>(type, 30'000, false, wide)});
    const auto encodings = [&](const char* codec, int column) {
        WriterOptions options;
        options.codec = codec;
        const std::string path = write(*rows, 30'000, options);
        EXPECT_TRUE((*read(path)->CombineChunksToBatch())->Equals(*rows)) << codec;
        return parquet::ParquetFileReader::OpenFile(path)
            ->metadata()
            ->RowGroup(0)
            ->ColumnChunk(column)
            ->encodings();
    };
    const auto packed = testing::Contains(parquet::Encoding::DELTA_BINARY_PACKED);
    EXPECT_THAT(encodings("zstd", 0), packed);
    EXPECT_THAT(encodings("zstd", 1), testing::Not(packed)) << "zstd makes it smaller";
    EXPECT_THAT(encodings("snappy", 0), testing::Not(packed)) << "older readers must read it";
}

// All lengths come before the texts, so that the codec sees texts without a length before each.
TEST_F(ParquetTest, TextsThatMostlyDifferStandBehindTheirLengths) {
    std::mt19937_64 random(6);
    const auto digits = [&](std::int64_t) { return std::to_string(random() % 1'000'000'000'000); };
    const auto rows =
        arrow::RecordBatch::Make(arrow::schema({arrow::field("digits", arrow::utf8())}), 30'000,
                                 {made<arrow::StringBuilder>(arrow::utf8(), 30'000, true, digits)});
    for (const char* codec : {"zstd", "snappy"}) {
        WriterOptions options;
        options.codec = codec;
        const std::string path = write(*rows, 12'000, options);
        EXPECT_TRUE((*read(path)->CombineChunksToBatch())->Equals(*rows)) << codec;
        const auto reader = parquet::ParquetFileReader::OpenFile(path);
        for (int g = 0; g < 3; ++g) {
            const auto encodings = reader->metadata()->RowGroup(g)->ColumnChunk(0)->encodings();
            const auto isThere = testing::Contains(parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY);
            if (options.codec == "zstd") {
                EXPECT_THAT(encodings, isThere);
            } else {
                EXPECT_THAT(encodings, testing::Not(isThere)) << "older readers must read it";
            }
        }
    }
}

// Random bits cannot get smaller; the column is written plain, and its encoding says so.
TEST_F(ParquetTest, WhatACodecMakesNoSmallerIsLeftAsItIs) {
    std::mt19937_64 random(3);
    const auto bits = [&](std::int64_t) { return static_cast<std::int64_t>(random()); };
    const auto few = [&](std::int64_t i) { return i / 1'000; };
    const auto type = arrow::int64();
    const auto rows = arrow::RecordBatch::Make(
        arrow::schema({arrow::field("bits", type), arrow::field("few", type)}), 30'000,
        {made<arrow::Int64Builder>(type, 30'000, false, bits),
         made<arrow::Int64Builder>(type, 30'000, false, few)});
    const std::string path = write(*rows, 12'000);
    const auto reader = parquet::ParquetFileReader::OpenFile(path);
    ASSERT_EQ(reader->metadata()->num_row_groups(), 3);
    for (int g = 0; g < 3; ++g) {
        const auto dense = reader->metadata()->RowGroup(g)->ColumnChunk(0);
        EXPECT_EQ(dense->compression(), parquet::Compression::UNCOMPRESSED);
        EXPECT_EQ(dense->total_compressed_size(), dense->total_uncompressed_size());
        EXPECT_EQ(reader->metadata()->RowGroup(g)->ColumnChunk(1)->compression(),
                  parquet::Compression::ZSTD);
    }
    EXPECT_TRUE((*read(path)->CombineChunksToBatch())->Equals(*rows));
}

// The dictionary takes a smaller share of a whole row group than of the rows in the trial.
TEST_F(ParquetTest, IndicesWithoutAnOrderAreLeftAsTheyAre) {
    std::mt19937_64 random(4);
    const auto any = [&](std::int64_t) { return static_cast<std::int64_t>(random() % 1'024); };
    const auto type = arrow::int64();
    const auto rows =
        arrow::RecordBatch::Make(arrow::schema({arrow::field("any", type)}), 200'000,
                                 {made<arrow::Int64Builder>(type, 200'000, false, any)});
    const auto chunkOf = [&](std::int64_t groupRows) {
        const std::string path = write(*rows, groupRows);
        EXPECT_TRUE((*read(path)->CombineChunksToBatch())->Equals(*rows));
        const auto reader = parquet::ParquetFileReader::OpenFile(path);
        const auto chunk = reader->metadata()->RowGroup(0)->ColumnChunk(0);
        EXPECT_TRUE(chunk->has_dictionary_page());
        return chunk->compression();
    };
    EXPECT_EQ(chunkOf(200'000), parquet::Compression::UNCOMPRESSED);
    EXPECT_EQ(chunkOf(10'000), parquet::Compression::ZSTD) << "the dictionary is a third of it";
}

// The first row group has few values, the second many.
TEST_F(ParquetTest, ADictionaryThatGrowsTooLargeIsGivenUpForItsRowGroup) {
    const auto few = batch(20'000, true, 50), many = batch(20'000, true, 1'000'000'000);
    const std::string path = directory_ / "both.parquet";
    auto writer = TableWriter::open(path, few->schema(), {});
    ASSERT_TRUE((*writer)->write(*few).ok() && (*writer)->write(*many).ok());
    ASSERT_TRUE((*writer)->close().ok());
    const auto reader = parquet::ParquetFileReader::OpenFile(path);
    EXPECT_TRUE(reader->metadata()->RowGroup(0)->ColumnChunk(3)->has_dictionary_page());
    EXPECT_FALSE(reader->metadata()->RowGroup(1)->ColumnChunk(3)->has_dictionary_page());
    const auto table = read(path);
    EXPECT_TRUE(table->Slice(20'000)->CombineChunksToBatch().ValueOrDie()->column(3)->Equals(
        many->column(3)));
}

TEST_F(ParquetTest, StatisticsAreThoseOfArrow) {
    for (const bool hasNulls : {false, true}) {
        const BatchPtr rows = batch(50'000, hasNulls, hasNulls ? 500 : 1'000'000'000);
        const auto ours = parquet::ParquetFileReader::OpenFile(write(*rows, 50'000));
        auto file = *arrow::io::BufferOutputStream::Create();
        parquet::WriterProperties::Builder properties;
        properties.enable_write_page_index();
        ASSERT_TRUE(parquet::arrow::WriteTable(
                        *arrow::Table::FromRecordBatches({rows}).ValueOrDie(),
                        arrow::default_memory_pool(), file, 50'000, properties.build())
                        .ok());
        const auto theirs = parquet::ParquetFileReader::Open(
            std::make_shared<arrow::io::BufferReader>(*file->Finish()));
        const auto left = ours->GetPageIndexReader()->RowGroup(0);
        const auto right = theirs->GetPageIndexReader()->RowGroup(0);
        for (int c = 0; c < rows->num_columns(); ++c) {
            const auto a = ours->metadata()->RowGroup(0)->ColumnChunk(c)->statistics();
            const auto b = theirs->metadata()->RowGroup(0)->ColumnChunk(c)->statistics();
            ASSERT_TRUE(a != nullptr && b != nullptr && a->Equals(*b)) << rows->column_name(c);
            const auto x = left->GetColumnIndex(c), y = right->GetColumnIndex(c);
            ASSERT_EQ(x == nullptr, y == nullptr) << rows->column_name(c);
            if (x != nullptr && x->null_pages().size() == y->null_pages().size()) {
                EXPECT_EQ(x->encoded_min_values(), y->encoded_min_values());
                EXPECT_EQ(x->encoded_max_values(), y->encoded_max_values());
                EXPECT_EQ(x->null_counts(), y->null_counts());
                EXPECT_EQ(x->boundary_order(), y->boundary_order());
            }
            EXPECT_EQ(left->GetOffsetIndex(c)->page_locations().size(), 3U);
        }
    }
}

TEST_F(ParquetTest, FilesDoNotDependOnHowRowsWereHandedOver) {
    const BatchPtr rows = withList(batch(30'000, true, 700));
    std::string first;
    for (const std::int64_t handed : {30'000, 777, 12'345}) {
        for (const int threads : {1, 3}) {
            TableOptions options;
            options.directory = directory_ / "table";
            options.isForced = true;
            options.rowGroupRows = 4000;
            options.writer.threads = threads;
            auto output = TableOutput::open(options);
            ASSERT_TRUE(output.ok() && (*output)->start(rows->schema()).ok());
            for (std::int64_t at = 0; at < rows->num_rows(); at += handed) {
                ASSERT_TRUE((*output)->add(rows->Slice(at, handed)).ok());
            }
            ASSERT_TRUE((*output)->commit({}).ok());
            EXPECT_EQ((*output)->totals().rowGroups, 8);
            const std::string bytes = *readFile(options.directory + "/part-00000.parquet");
            first = first.empty() ? bytes : first;
            EXPECT_TRUE(bytes == first) << handed << " rows, " << threads << " threads";
        }
    }
}

TEST_F(ParquetTest, AFileEndsAtItsSizeForAnyNumberOfThreads) {
    const BatchPtr rows = batch(30'000, false, 1'000'000'000);
    for (const int threads : {1, 4}) {
        TableOptions options;
        options.directory = directory_ / "table";
        options.isForced = true;
        options.rowGroupRows = 1000;
        options.fileBytes = 400'000;
        options.writer.threads = threads;
        auto output = TableOutput::open(options);
        ASSERT_TRUE((*output)->start(rows->schema()).ok() && (*output)->add(rows).ok());
        ASSERT_TRUE((*output)->commit({}).ok());
        std::int64_t read = 0;
        for (std::int64_t file = 0; file < (*output)->totals().files; ++file) {
            read +=
                this->read(strCat(options.directory, "/part-0000", file, ".parquet"))->num_rows();
        }
        EXPECT_EQ((*output)->totals().files, 5) << threads;
        EXPECT_EQ(read, 30'000);
    }
}

TEST_F(ParquetTest, NullsWhereTheSchemaHasNoneAreRefused) {
    const auto column = batch(100, true, 10)->column(3);
    const auto schema = arrow::schema({arrow::field("price", arrow::int64(), false)});
    auto writer = TableWriter::open(directory_ / "x.parquet", schema, {});
    const Status status = (*writer)->write(*arrow::RecordBatch::Make(schema, 100, {column}));
    ASSERT_FALSE(status.ok());
    EXPECT_NE(messageOf(status).find("'price' has nulls"), std::string::npos) << status;
}

TEST_F(ParquetTest, AnErrorOfOneRowGroupEndsTheTable) {
    const auto good = arrow::schema({arrow::field("price", arrow::int64(), false)});
    const auto clean = batch(1000, false, 10)->column(3), holed = batch(1000, true, 10)->column(3);
    for (const auto& [bad, isShared] : {std::pair(0, false), {2, false}, {0, true}, {2, true}}) {
        TableOptions options;  // the first group decides how the table is written
        options.directory = directory_ / "table";
        options.rowGroupRows = 1000;
        options.writer.threads = 3;
        options.isShared = isShared;
        auto output = TableOutput::open(options);
        ASSERT_TRUE((*output)->start(good).ok());
        Status status;
        for (int group = 0; group < 20 && status.ok(); ++group) {
            const auto& column = group == bad ? holed : clean;
            status = (*output)->add(arrow::RecordBatch::Make(good, 1000, {column}));
            while (isShared && (*output)->sharedWork()->doPiece()) {
            }
        }
        status = status.ok() ? (*output)->commit({}) : status;
        EXPECT_NE(messageOf(status).find("'price' has nulls"), std::string::npos) << status;
    }
}

}  // namespace
}  // namespace millrace::table

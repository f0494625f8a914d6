// Files as many writers make them: every one reads as Arrow's own reader reads it. Types,
// encodings, codecs, page versions and row groups are multiplied out.
#include <numeric>

#include <arrow/array/array_base.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/cast.h>
#include <arrow/json/from_string.h>
#include <arrow/table.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include "backend/dataset/arrow_bridge.h"
#include "backend/dataset/dataset.h"
#include "backend/dataset/split_reader.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::dataset {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using TypePtr = std::shared_ptr<arrow::DataType>;

/// A type and five values of it, one of them null.
struct Sample {
    std::string name;
    TypePtr type;
    std::string values;
};

std::vector<Sample> scalars() {
    using namespace arrow;  // NOLINT
    const std::string small = "[1, null, 0, 7, 100]";
    std::vector<Sample> samples = {
        {"bool", boolean(), "[true, null, false, false, true]"},
        {"int8", int8(), "[1, null, -128, 127, 0]"},
        {"int16", int16(), "[1, null, -32768, 32767, 0]"},
        {"int32", int32(), "[1, null, -2147483648, 2147483647, 0]"},
        {"int64", int64(), "[1, null, -9223372036854775808, 9223372036854775807, 0]"},
        {"uint8", uint8(), "[1, null, 255, 0, 9]"},
        {"uint16", uint16(), "[1, null, 65535, 0, 9]"},
        {"uint32", uint32(), "[1, null, 4294967295, 0, 9]"},
        {"uint64", uint64(), "[1, null, 18446744073709551615, 0, 9]"},
        {"half", float16(), "[1.5, null, -2, 0, 65504]"},
        {"float", float32(), "[1.5, null, -2, 0, 3.4e38]"},
        {"double", float64(), "[1.5, null, -2, 0, 1.7e308]"},
        {"decimal", decimal128(9, 2), "[\"1.25\", null, \"-3.00\", \"0.01\", \"9999999.99\"]"},
        {"wide_decimal", decimal128(30, 4),
         "[\"1.2500\", null, \"-3.0000\", \"0.0001\", \"12345678901234567890.1234\"]"},
        {"date32", date32(), "[1, null, -1, 0, 20000]"},
        {"date64", date64(), "[86400000, null, -86400000, 0, 172800000]"},
        {"string", utf8(), "[\"a\", null, \"\", \"gr\\u00fc\\u00df\", \"a long text to be kept\"]"},
        {"large_string", large_utf8(), "[\"a\", null, \"\", \"b\", \"a long text to be kept\"]"},
        {"binary", binary(), "[\"a\", null, \"\", \"b\", \"c\"]"},
        {"dictionary", dictionary(int32(), utf8()), "[\"x\", null, \"y\", \"x\", \"x\"]"},
    };
    for (const TimeUnit::type unit :
         {TimeUnit::SECOND, TimeUnit::MILLI, TimeUnit::MICRO, TimeUnit::NANO}) {
        const std::string name = "timestamp_" + std::to_string(unit);
        samples.push_back({name, timestamp(unit), small});
        samples.push_back({name + "_zone", timestamp(unit, "Europe/Berlin"), small});
    }
    return samples;
}

/// Every scalar, and every one that may be in a list also as list, large list and fixed list.
std::vector<Sample> samples() {
    std::vector<Sample> all = scalars();
    for (const Sample& one : scalars()) {
        if (one.type->id() == arrow::Type::DECIMAL128 ||
            one.type->id() == arrow::Type::DICTIONARY) {
            continue;
        }
        const std::string lists = "[" + one.values + ", null, [], " + one.values + ", [null]]";
        all.push_back({one.name + "_list", arrow::list(one.type), lists});
        all.push_back({one.name + "_large_list", arrow::large_list(one.type), lists});
        all.push_back({one.name + "_fixed_list", arrow::fixed_size_list(one.type, 5),
                       "[" + one.values + ", " + one.values + ", " + one.values + ", " +
                           one.values + ", " + one.values + "]"});
    }
    return all;
}

/// The sample's values, over and over.
ArrayPtr repeated(const Sample& sample, int times) {
    auto values = arrow::json::ArrayFromJSONString(
        sample.type->id() == arrow::Type::DICTIONARY ? arrow::utf8() : sample.type, sample.values);
    EXPECT_TRUE(values.ok()) << sample.name << ": " << values.status();
    ArrayPtr array =
        *arrow::Concatenate(arrow::ArrayVector(static_cast<std::size_t>(times), *values));
    return sample.type->id() == arrow::Type::DICTIONARY
               ? arrow::compute::Cast(array, sample.type)->make_array()
               : array;
}

std::shared_ptr<arrow::Table> tableOf(const std::vector<Sample>& samples, int times) {
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    for (const Sample& sample : samples) {
        fields.push_back(arrow::field(sample.name, sample.type));
        arrays.push_back(repeated(sample, times));
    }
    return arrow::Table::Make(arrow::schema(fields), arrays);
}

void writeTable(const std::string& path, const arrow::Table& table, std::int64_t rowGroupRows,
                const std::shared_ptr<parquet::WriterProperties>& properties,
                bool storesSchema = true) {
    auto sink = *arrow::io::FileOutputStream::Open(path);
    parquet::ArrowWriterProperties::Builder arrowProperties;
    if (storesSchema) {
        arrowProperties.store_schema();
    }
    const arrow::Status written =
        parquet::arrow::WriteTable(table, arrow::default_memory_pool(), sink, rowGroupRows,
                                   properties, arrowProperties.build());
    ASSERT_TRUE(written.ok()) << written;
    ASSERT_TRUE(sink->Close().ok());
}

/// A row group as Arrow's reader reads it.
std::shared_ptr<arrow::Table> readGroup(const std::string& path, int group) {
    auto reader = *parquet::arrow::OpenFile(*arrow::io::ReadableFile::Open(path),
                                            arrow::default_memory_pool());
    return *reader->ReadRowGroup(group);
}

/// A column of it, cast to the pinned type.
ArrayPtr expected(const arrow::Table& table, const std::string& column,
                  const spec::DataType& type) {
    const auto chunks = table.GetColumnByName(column);
    const ArrayPtr array = chunks->num_chunks() == 0 ? *arrow::MakeEmptyArray(chunks->type())
                                                     : *arrow::Concatenate(chunks->chunks());
    const TypePtr pinned = toArrowType(type);
    if (pinned == nullptr) {
        return array;
    }
    auto options = arrow::compute::CastOptions::Safe(pinned);
    options.allow_time_truncate = true;
    return arrow::compute::Cast(array, options)->make_array();
}

void expectSame(const std::string& path, const std::string& what) {
    const auto dataset = Dataset::open({path}, "/", {}, std::make_shared<FactsCache>());
    ASSERT_TRUE(dataset.ok()) << what << ": " << dataset.status();
    const auto facts = *(*dataset)->facts(0);
    EXPECT_TRUE(facts->unsupported.empty()) << what << ": " << facts->unsupported.front();
    SplitReader reader(*dataset);
    SplitRange split{0, 0, 0, 0};
    for (const ChunkFacts& chunk : facts->chunks) {
        split.rows = chunk.rows;
        const auto table = readGroup(path, static_cast<int>(split.chunk));
        for (const spec::Field& field : (*dataset)->schema().fields) {
            const auto read = reader.readColumns(split, {field.name});
            ASSERT_TRUE(read.ok()) << what << ": " << read.status();
            const ArrayPtr wanted = expected(*table, field.name, field.type);
            const auto options = arrow::EqualOptions::Defaults().nans_equal(true);
            EXPECT_TRUE(read->front()->Equals(*wanted, options))
                << what << ", row group " << split.chunk << ", " << field.name << " ("
                << read->front()->type()->ToString() << " for " << wanted->type()->ToString()
                << ")";
        }
        split.firstRow += chunk.rows;
        ++split.chunk;
    }
}

using Options = std::tuple<parquet::ParquetDataPageVersion, arrow::Compression::type, bool>;

class Corpus : public testing::TestWithParam<Options> {};

TEST_P(Corpus, EveryTypeReadsAsArrowReadsIt) {
    const auto [pages, codec, hasDictionary] = GetParam();
    if (!arrow::util::Codec::IsAvailable(codec)) {
        GTEST_SKIP() << "this Arrow lacks the codec";
    }
    parquet::WriterProperties::Builder properties;
    properties.data_page_version(pages)->compression(codec)->data_pagesize(200);
    properties.write_batch_size(16);
    if (!hasDictionary) {
        properties.disable_dictionary();
    }
    test::DataDirectory dir;
    writeTable(dir.at("a.parquet"), *tableOf(samples(), 20), 60, properties.build());
    expectSame(dir.at("a.parquet"), "with Arrow's schema");
}

INSTANTIATE_TEST_SUITE_P(
    Writers, Corpus,
    testing::Combine(testing::Values(parquet::ParquetDataPageVersion::V1,
                                     parquet::ParquetDataPageVersion::V2),
                     testing::Values(arrow::Compression::UNCOMPRESSED, arrow::Compression::SNAPPY,
                                     arrow::Compression::GZIP, arrow::Compression::ZSTD,
                                     arrow::Compression::LZ4_HADOOP, arrow::Compression::BROTLI),
                     testing::Bool()));

TEST(Corpus, FilesWithoutArrowsSchemaReadByTheirLogicalTypes) {
    test::DataDirectory dir;
    for (const auto version :
         {parquet::ParquetVersion::PARQUET_1_0, parquet::ParquetVersion::PARQUET_2_4,
          parquet::ParquetVersion::PARQUET_2_6}) {
        parquet::WriterProperties::Builder properties;
        properties.version(version);
        std::vector<Sample> fitting = samples();
        if (version != parquet::ParquetVersion::PARQUET_2_6) {
            std::erase_if(fitting, [](const Sample& sample) {  // it has no nanoseconds
                return sample.name.starts_with("timestamp_3");
            });
        }
        writeTable(dir.at("a.parquet"), *tableOf(fitting, 3), 1000, properties.build(), false);
        expectSame(dir.at("a.parquet"), "version " + std::to_string(version));
    }
}

TEST(Corpus, EncodingsBeyondTheUsualReadTheSame) {
    using parquet::Encoding;
    const std::vector<std::pair<std::string, std::vector<Encoding::type>>> encodings = {
        {"int32", {Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT}},
        {"int64", {Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT}},
        {"double", {Encoding::BYTE_STREAM_SPLIT}},
        {"float", {Encoding::BYTE_STREAM_SPLIT}},
        {"string", {Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_LENGTH_BYTE_ARRAY}},
        {"bool", {Encoding::RLE}},
    };
    test::DataDirectory dir;
    for (const Sample& sample : scalars()) {
        const auto at = std::find_if(encodings.begin(), encodings.end(),
                                     [&](const auto& each) { return each.first == sample.name; });
        if (at == encodings.end()) {
            continue;
        }
        const Sample list{"list", arrow::list(sample.type),
                          "[" + sample.values + ", null, [], [null], " + sample.values + "]"};
        for (const Encoding::type encoding : at->second) {
            parquet::WriterProperties::Builder properties;
            properties.disable_dictionary()->encoding(encoding)->data_pagesize(100);
            properties.write_batch_size(8);
            writeTable(dir.at("a.parquet"), *tableOf({sample, list}, 50), 100, properties.build());
            expectSame(dir.at("a.parquet"),
                       sample.name + " as " + parquet::EncodingToString(encoding));
        }
    }
}

TEST(Corpus, RowsWithoutNullsAndEmptyFilesReadTheSame) {
    test::DataDirectory dir;
    arrow::FieldVector fields;
    arrow::ArrayVector arrays, none;
    for (const Sample& sample : scalars()) {
        std::string values = sample.values;
        const std::size_t null = values.find("null, ");
        values.erase(null, 6);
        const bool isDictionary = sample.type->id() == arrow::Type::DICTIONARY;
        auto array =
            arrow::json::ArrayFromJSONString(isDictionary ? arrow::utf8() : sample.type, values);
        ASSERT_TRUE(array.ok()) << sample.name << array.status();
        arrays.push_back(isDictionary ? arrow::compute::Cast(*array, sample.type)->make_array()
                                      : *array);
        fields.push_back(arrow::field(sample.name, sample.type, /*nullable=*/false));
        none.push_back(*arrow::MakeEmptyArray(sample.type));
    }
    writeTable(dir.at("a.parquet"), *arrow::Table::Make(arrow::schema(fields), arrays), 3,
               parquet::default_writer_properties());
    expectSame(dir.at("a.parquet"), "required columns");
    writeTable(dir.at("b.parquet"), *arrow::Table::Make(arrow::schema(fields), none), 3,
               parquet::default_writer_properties());
    expectSame(dir.at("b.parquet"), "no rows");
}

TEST(Corpus, ATruncatedFileSaysSoAtEveryLength) {
    test::DataDirectory dir;
    writeTable(dir.at("a.parquet"), *tableOf({scalars()[4]}, 40), 1000,
               parquet::default_writer_properties());
    const std::string whole = test::read(dir.at("a.parquet"));
    for (std::size_t size = 0; size < whole.size(); size += 13) {
        test::write(dir.at("a.parquet"), whole.substr(0, size));
        const Status status =
            Dataset::open({dir.at("a.parquet")}, "/", {}, std::make_shared<FactsCache>()).status();
        EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << size << ": " << status;
        EXPECT_THAT(messageOf(status), testing::HasSubstr(dir.at("a.parquet") + ": "));
        EXPECT_THAT(messageOf(status), testing::AnyOf(testing::HasSubstr("truncated"),
                                                      testing::HasSubstr("not a Parquet file")))
            << size;
    }
}

}  // namespace
}  // namespace millrace::dataset

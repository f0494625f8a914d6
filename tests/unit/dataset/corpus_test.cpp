// Files of all combinations of types, encodings, codecs, page versions and row groups: each one
// reads as Arrow's own reader reads it.
#include <filesystem>
#include <numeric>
#include <set>

#include <arrow/array/array_base.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/buffer_builder.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>
#include <arrow/extension_type.h>
#include <arrow/json/from_string.h>
#include <arrow/table.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/dataset/dataset.h"
#include "backend/dataset/split_reader.h"
#include "backend/pages/crc32.h"
#include "tests/unit/dataset/data_files.h"
#include "tests/unit/dataset/sample_types.h"

namespace millrace::dataset {
namespace {

using namespace test;

/// Every scalar type, and each that a list may have also as list, large list and fixed list.
std::vector<Sample> samples() {
    std::vector<Sample> all = scalars();
    for (const Sample& one : scalars()) {
        if (one.type->id() == arrow::Type::DICTIONARY) {
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

/// `values` inside `depth` structs, each of which is null in some rows and has the only field `f`.
ArrayPtr within(ArrayPtr values, int depth) {
    for (int d = 0; d < depth; ++d) {
        arrow::TypedBufferBuilder<bool> valid;
        for (std::int64_t row = 0; row < values->length(); ++row) {
            EXPECT_TRUE(valid.Append((row + d) % (d + 4) != 0).ok());
        }
        values =
            *arrow::StructArray::Make({values}, std::vector<std::string>{"f"}, *valid.Finish());
    }
    return values;
}

std::shared_ptr<arrow::Table> tableOf(const std::vector<Sample>& samples, int times,
                                      int depth = 0) {
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    for (const Sample& sample : samples) {
        arrays.push_back(within(repeated(sample, times), depth));
        fields.push_back(arrow::field(sample.name, arrays.back()->type()));
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

/// A row group, read by Arrow's reader.
std::shared_ptr<arrow::Table> readGroup(const std::string& path, int group) {
    auto reader = *parquet::arrow::OpenFile(*arrow::io::ReadableFile::Open(path),
                                            arrow::default_memory_pool());
    return *reader->ReadRowGroup(group);
}

ArrayPtr storedAs(const ArrayPtr& array, const TypePtr& type) {
    auto options = arrow::compute::CastOptions::Safe(type);
    options.allow_time_truncate = true;
    options.allow_invalid_utf8 = true;
    const auto cast = arrow::compute::Cast(array, options);
    EXPECT_TRUE(cast.ok()) << array->type()->ToString() << " to " << type->ToString() << ": "
                           << cast.status();
    return cast.ok() ? cast->make_array() : nullptr;
}

/// Scalars, converted to the pinned type by Arrow's casts.
ArrayPtr pinnedScalars(ArrayPtr array, const expr::DataType& type) {
    if (array->type_id() == arrow::Type::EXTENSION) {
        array = static_cast<const arrow::ExtensionArray&>(*array).storage();
    }
    if (arrow::is_decimal(array->type_id()) && type.kind == expr::TypeKind::kDecimal) {
        const auto& decimal = static_cast<const arrow::DecimalType&>(*array->type());
        return storedAs(array, arrow::decimal128(decimal.precision(), decimal.scale()));
    }
    if (arrow::is_time(array->type_id())) {
        array = storedAs(array, arrow::time64(arrow::TimeUnit::MICRO));
    }
    if (array->type_id() == arrow::Type::FIXED_SIZE_BINARY) {
        array = storedAs(array, arrow::binary());
    }
    return storedAs(array, arrays::toArrowType(type));
}

ArrayPtr pinnedValues(const ArrayPtr& array, const expr::DataType& type) {
    if (!type.isList) {
        return pinnedScalars(array, type);
    }
    if (const auto* fixed = dynamic_cast<const arrow::FixedSizeListArray*>(array.get())) {
        const ArrayPtr items = pinnedScalars(fixed->values(), type.element());
        return std::make_shared<arrow::FixedSizeListArray>(
            arrow::fixed_size_list(items->type(), type.listSize), fixed->length(), items,
            fixed->null_bitmap(), fixed->null_count(), fixed->offset());
    }
    const auto& list = static_cast<const arrow::BaseListType&>(*array->type());
    const ArrayPtr plain = storedAs(array, arrow::list(list.value_type()));
    const auto& lists = static_cast<const arrow::ListArray&>(*plain);
    const ArrayPtr items = pinnedScalars(lists.values(), type.element());
    return std::make_shared<arrow::ListArray>(arrow::list(items->type()), lists.length(),
                                              lists.value_offsets(), items, lists.null_bitmap(),
                                              lists.null_count(), lists.offset());
}

/// A column of the table, or a struct's field by path, converted to the pinned type.
ArrayPtr expected(const arrow::Table& table, const std::string& column,
                  const expr::DataType& type) {
    const auto chunks = table.GetColumnByName(column.substr(0, column.find('.')));
    ArrayPtr array = chunks->num_chunks() == 0 ? *arrow::MakeEmptyArray(chunks->type())
                                               : *arrow::Concatenate(chunks->chunks());
    for (std::size_t at = column.find('.'); at != std::string::npos;) {
        const std::size_t next = column.find('.', at + 1);
        const std::string name = column.substr(at + 1, next - at - 1);
        const int field = static_cast<const arrow::StructType&>(*array->type()).GetFieldIndex(name);
        array = *static_cast<const arrow::StructArray&>(*array).GetFlattenedField(field);
        at = next;
    }
    return pinnedValues(array, type);
}

/// Some rows of a split: none of one range, all of another, else every third.
std::vector<std::int64_t> someRows(std::int64_t rows) {
    std::vector<std::int64_t> some;
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t tenth = row * 10 / rows;
        if (tenth == 2 || (tenth != 4 && row % 3 == 0)) {
            some.push_back(row);
        }
    }
    return some;
}

ArrayPtr rowsOf(const ArrayPtr& array, const std::vector<std::int64_t>& rows) {
    arrow::Int64Builder indices;
    EXPECT_TRUE(indices.AppendValues(rows).ok());
    return arrow::compute::Take(array, *indices.Finish())->make_array();
}

void expectSame(const std::string& path, const std::string& what, bool allowsRefused = false) {
    const auto dataset = Dataset::open({path}, "/", {}, std::make_shared<MetadataCache>());
    ASSERT_TRUE(dataset.ok()) << what << ": " << dataset.status();
    const auto facts = *(*dataset)->facts(0);
    for (const expr::RefusedColumn& column : facts->schema.refused) {
        EXPECT_TRUE(allowsRefused || column.hasFields)
            << what << ": " << column.name << " " << column.why;
    }
    SplitReader reader(*dataset);
    SplitRange split{0, 0, 0, 0};
    for (const files::ColumnChunkMetadata& chunk : facts->chunks) {
        split.rows = chunk.rows;
        const auto table = readGroup(path, static_cast<int>(split.chunk));
        for (const expr::Field& field : (*dataset)->schema().fields) {
            const auto read = reader.readColumns(split, {field.name});
            ASSERT_TRUE(read.ok()) << what << ": " << read.status();
            const ArrayPtr wanted = expected(*table, field.name, field.type);
            const auto options = arrow::EqualOptions::Defaults().nans_equal(true);
            EXPECT_TRUE(read->front()->Equals(*wanted, options))
                << what << ", row group " << split.chunk << ", " << field.name << " ("
                << read->front()->type()->ToString() << " for " << wanted->type()->ToString()
                << ")";
            const std::vector<std::int64_t> rows = someRows(chunk.rows);
            const auto some = reader.readRows(split, {field.name}, {&rows, false});
            ASSERT_TRUE(some.ok()) << what << ": " << some.status();
            EXPECT_TRUE(some->front()->Equals(*rowsOf(wanted, rows), options))
                << what << ", wished rows of row group " << split.chunk << ", " << field.name;
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
    for (const int depth : {0, 1, 3}) {
        writeTable(dir.at("a.parquet"), *tableOf(samples(), 20, depth), 60, properties.build());
        expectSame(dir.at("a.parquet"), "in structs: " + std::to_string(depth));
    }
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

TEST(Corpus, FilesOfOtherWritersReadTheSame) {
    std::set<std::string> refused;
    int numFiles = 0;
    const std::filesystem::path directory(MILLRACE_SOURCE_DIR "/tests/golden/parquet");
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        if (entry.path().extension() == ".parquet") {
            ++numFiles;
            const std::string path = entry.path().string();
            expectSame(path, path, /*allowsRefused=*/true);
            const auto facts = readFacts(*files::statFile(path, path), {});
            ASSERT_TRUE(facts.ok()) << facts.status();
            for (const expr::RefusedColumn& column : facts->schema.refused) {
                refused.insert(column.name);
                EXPECT_THAT(facts->schema.whyUnknown(column.name),
                            testing::ContainsRegex("^column '.+' is an? .+: .+; .+"));
            }
        }
    }
    EXPECT_GE(numFiles, 4);
    EXPECT_THAT(refused,
                testing::ElementsAre("nested", "pairs", "span", "structs", "user", "user.home"));
}

TEST(Corpus, BytesThatAreNoTextAreReadAsTheyAre) {
    test::DataDirectory dir;
    arrow::BinaryBuilder values;
    arrow::FixedSizeBinaryBuilder fixed(arrow::fixed_size_binary(2));
    for (const char* bytes : {"\xff\xfe", "ab", "\xc3\x28"}) {
        ASSERT_TRUE(values.Append(bytes).ok() && fixed.Append(bytes).ok());
    }
    dir.parquet("a.parquet", {{"b", *values.Finish()}, {"f", *fixed.Finish()}});
    SplitReader reader(
        *Dataset::open({dir.at("a.parquet")}, "/", {}, std::make_shared<MetadataCache>()));
    const auto read = reader.readColumns({0, 0, 0, 3}, {"b", "f"});
    ASSERT_TRUE(read.ok()) << read.status();
    for (const ArrayPtr& array : *read) {
        EXPECT_EQ(static_cast<const arrow::StringArray&>(*array).GetView(0), "\xff\xfe");
        EXPECT_EQ(static_cast<const arrow::StringArray&>(*array).GetView(2), "\xc3\x28");
    }
}

TEST(Corpus, AFlippedBitInAPageWithAChecksumIsNamed) {
    test::DataDirectory dir;
    const std::string path = dir.at("a.parquet");
    const std::vector<Sample> columns = {
        {"own", arrow::int64(), "[72340172838076673, 72340172838076674]"},
        {"arrows", arrow::list(arrow::utf8()), "[[\"checksum\"], [\"checksum\"]]"}};
    for (const auto version :
         {parquet::ParquetDataPageVersion::V1, parquet::ParquetDataPageVersion::V2}) {
        parquet::WriterProperties::Builder properties;
        properties.disable_dictionary()->disable_statistics()->enable_page_checksum();
        properties.data_page_version(version);
        properties.compression(arrow::Compression::UNCOMPRESSED);
        writeTable(path, *tableOf(columns, 40), 1000, properties.build());
        expectSame(path, "checksums");
        const std::string whole = test::read(path);
        for (const auto& [column, bytes] : {std::pair{"own", "\x01\x01\x01\x01\x01\x01\x01\x01"},
                                            std::pair{"arrows", "checksum"}}) {
            std::string flipped = whole;
            const std::size_t at = flipped.find(bytes);
            ASSERT_NE(at, std::string::npos);
            flipped[at] = static_cast<char>(flipped[at] ^ 4);
            test::write(path, flipped);
            SplitReader reader(*Dataset::open({path}, "/", {}, std::make_shared<MetadataCache>()));
            const Status status = reader.readColumns({0, 0, 0, 80}, {column}).status();
            EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << column;
            EXPECT_THAT(messageOf(status),
                        testing::StartsWith(path + ": row group 0, column '" + column + "': "));
            EXPECT_THAT(messageOf(status),
                        testing::AnyOf(testing::ContainsRegex(
                                           "the page at byte [0-9]+ of the file does not match "
                                           "its checksum"),
                                       testing::HasSubstr("CRC checksum verification failed")))
                << column;
        }
    }
}

TEST(Crc32, IsThatOfTheStandardAtEveryLengthAndPlace) {
    const std::string digits = "123456789";
    const auto* text = reinterpret_cast<const std::uint8_t*>(digits.data());
    EXPECT_EQ(pages::crc32Of({text, text + 9}), 0xcbf43926U);
    EXPECT_EQ(pages::plainCrc32Of({text, text + 9}), 0xcbf43926U);
    std::vector<std::uint8_t> bytes(5000);
    std::uint32_t state = 1;
    for (std::uint8_t& byte : bytes) {
        state = state * 1664525 + 1013904223;
        byte = static_cast<std::uint8_t>(state >> 24);
    }
    for (std::size_t length = 0; length < 4000; length += 1 + length / 97) {
        const std::uint8_t* const from = bytes.data() + length % 64;
        EXPECT_EQ(pages::crc32Of({from, from + length}), pages::plainCrc32Of({from, from + length}))
            << length;
    }
}

TEST(Corpus, ATruncatedFileSaysSoAtEveryLength) {
    test::DataDirectory dir;
    writeTable(dir.at("a.parquet"), *tableOf({scalars()[4]}, 40), 1000,
               parquet::default_writer_properties());
    const std::string whole = test::read(dir.at("a.parquet"));
    for (std::size_t size = 0; size < whole.size(); size += 13) {
        test::write(dir.at("a.parquet"), whole.substr(0, size));
        const Status status =
            Dataset::open({dir.at("a.parquet")}, "/", {}, std::make_shared<MetadataCache>())
                .status();
        EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << size << ": " << status;
        EXPECT_THAT(messageOf(status), testing::HasSubstr(dir.at("a.parquet") + ": "));
        EXPECT_THAT(messageOf(status), testing::AnyOf(testing::HasSubstr("truncated"),
                                                      testing::HasSubstr("not a Parquet file")))
            << size;
    }
}

}  // namespace
}  // namespace millrace::dataset

#pragma once
// Files of one column in memory, and the page decoder over them.
#include <memory>
#include <random>
#include <span>
#include <vector>

#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/table.h>
#include <arrow/type_traits.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>

#include "backend/pages/page_decoder.h"
#include "backend/pages/page_index.h"

namespace millrace::pages {

using ArrayPtr = std::shared_ptr<arrow::Array>;

struct Kind {
    double nullShare = 0, emptyShare = 0, nullItemShare = 0;
    std::int64_t distinct = 100;  ///< values
    int repeats = 1;              ///< equal neighbours
    bool isRequired = false;
};

inline std::int64_t drawn(std::mt19937_64& random, const Kind& kind) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(kind.distinct)) * 7 - 3;
}
inline bool chance(std::mt19937_64& random, double share) {
    return static_cast<double>(random() % 10'000) < share * 10'000;
}

template <class Builder>
ArrayPtr flat(std::mt19937_64& random, const Kind& kind, int rows) {
    Builder builder;
    for (int r = 0; r < rows; r += kind.repeats) {
        const bool isNull = chance(random, kind.nullShare);
        const auto value = static_cast<typename Builder::value_type>(drawn(random, kind));
        for (int k = 0; k < kind.repeats && r + k < rows; ++k) {
            EXPECT_TRUE((isNull ? builder.AppendNull() : builder.Append(value)).ok());
        }
    }
    return *builder.Finish();
}

inline ArrayPtr lists(std::mt19937_64& random, const Kind& kind, int rows) {
    auto items = std::make_shared<arrow::Int64Builder>();
    arrow::ListBuilder builder(
        arrow::default_memory_pool(), items,
        arrow::list(arrow::field("element", arrow::int64(), kind.nullItemShare > 0)));
    for (int r = 0; r < rows; r += kind.repeats) {
        const bool isNull = chance(random, kind.nullShare);
        const auto length = chance(random, kind.emptyShare) ? 0 : 1 + random() % 60;
        std::vector<std::int64_t> values;
        for (std::uint64_t i = 0; i < length; ++i) {
            values.push_back(drawn(random, kind));
        }
        for (int k = 0; k < kind.repeats && r + k < rows; ++k) {
            if (isNull) {
                EXPECT_TRUE(builder.AppendNull().ok());
                continue;
            }
            EXPECT_TRUE(builder.Append().ok());
            for (const std::int64_t value : values) {
                const bool isNullItem = chance(random, kind.nullItemShare);
                EXPECT_TRUE((isNullItem ? items->AppendNull() : items->Append(value)).ok());
            }
        }
    }
    return *builder.Finish();
}

struct Writing {
    bool hasDictionary = true;
    std::int64_t pageBytes = 1 << 20;
    std::int64_t dictionaryBytes = 1 << 20;
    arrow::Compression::type codec = arrow::Compression::ZSTD;
    parquet::ParquetDataPageVersion pages = parquet::ParquetDataPageVersion::V1;
    bool hasIndex = false;
    bool isDelta = false;  ///< integers as packed differences, texts behind their lengths
};

inline bool hasIntegers(const arrow::DataType& type) {
    return type.id() == arrow::Type::LIST
               ? hasIntegers(*static_cast<const arrow::ListType&>(type).value_type())
               : arrow::is_integer(type.id()) || arrow::is_temporal(type.id());
}

inline std::shared_ptr<arrow::Buffer> write(const ArrayPtr& array, const Writing& writing,
                                            bool isRequired) {
    const auto table =
        arrow::Table::Make(arrow::schema({arrow::field("c", array->type(), !isRequired)}), {array});
    parquet::WriterProperties::Builder builder;
    builder.compression(writing.codec)
        ->data_pagesize(writing.pageBytes)
        ->dictionary_pagesize_limit(writing.dictionaryBytes)
        ->write_batch_size(64)
        ->data_page_version(writing.pages);
    if (writing.hasIndex) {
        builder.enable_write_page_index();
    } else {
        builder.disable_write_page_index();
    }
    if (!writing.hasDictionary) {
        builder.disable_dictionary();
    }
    if (writing.isDelta && hasIntegers(*array->type())) {
        builder.disable_dictionary()->encoding(parquet::Encoding::DELTA_BINARY_PACKED);
    }
    if (writing.isDelta && array->type_id() == arrow::Type::STRING) {
        builder.disable_dictionary()->encoding(parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY);
    }
    auto sink = *arrow::io::BufferOutputStream::Create();
    EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink, 1 << 20,
                                           builder.build())
                    .ok());
    return *sink->Finish();
}

/// Decodes the only column of the only row group.
inline Result<ArrayPtr> decoded(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                                const std::shared_ptr<arrow::DataType>& type,
                                const RowStretch& stretch, const RowSelection& selection,
                                std::span<const PagePlace> places = {}) {
    try {
        const auto reader = parquet::ParquetFileReader::Open(file);
        PageDecoder decoder(arrow::default_memory_pool());
        const auto footer = reader->metadata();
        return decoder.readChunk(*file, *footer->schema()->Column(0),
                                 *footer->RowGroup(0)->ColumnChunk(0), type, stretch, selection,
                                 places);
    } catch (const std::exception& e) {
        return dataLoss(e.what());
    }
}

inline std::vector<PagePlace> placesOf(const std::shared_ptr<arrow::Buffer>& bytes) {
    const auto file = std::make_shared<arrow::io::BufferReader>(bytes);
    return PageIndex(parquet::ReadMetaData(file), file).places(0, 0);
}

/// The same, through the page index if the file has one.
inline Result<ArrayPtr> decoded(const std::shared_ptr<arrow::Buffer>& bytes,
                                const std::shared_ptr<arrow::DataType>& type,
                                const RowStretch& stretch, const RowSelection& selection) {
    std::vector<PagePlace> places;
    try {
        places = placesOf(bytes);
    } catch (const std::exception&) {
        // decoded() reports the footer's error.
    }
    return decoded(std::make_shared<arrow::io::BufferReader>(bytes), type, stretch, selection,
                   places);
}

inline Result<ArrayPtr> decoded(const std::shared_ptr<arrow::Buffer>& file,
                                const std::shared_ptr<arrow::DataType>& type, std::int64_t rows) {
    return decoded(file, type, {0, rows, rows}, {});
}

inline ArrayPtr byArrow(const std::shared_ptr<arrow::Buffer>& file) {
    auto reader = parquet::arrow::OpenFile(std::make_shared<arrow::io::BufferReader>(file),
                                           arrow::default_memory_pool());
    const auto table = *(*reader)->ReadTable();
    return *arrow::Concatenate(table->column(0)->chunks());
}

}  // namespace millrace::pages

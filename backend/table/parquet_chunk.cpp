#include "backend/table/parquet_chunk.h"

#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/buffer_builder.h>
#include <arrow/io/memory.h>
#include <arrow/type.h>
#include <arrow/util/bitmap_ops.h>
#include <parquet/column_page.h>
#include <parquet/column_writer.h>
#include <parquet/exception.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/table/chunk_values.h"
#include "backend/table/hybrid_indices.h"

namespace millrace::table {

namespace {

using arrays::fromArrow;
using arrow::Type;
using parquet::Encoding;
using PropertiesPtr = std::shared_ptr<parquet::WriterProperties>;

// Collects the pages of one chunk in memory, one after another.
class PageSink {
 public:
    PageSink(const parquet::ColumnDescriptor& column, PropertiesPtr properties)
        : properties_(std::move(properties)), column_(column) {}

    Status open(std::int64_t bytes) {
        ASSIGN_OR_RETURN(file_, fromArrow(arrow::io::BufferOutputStream::Create(bytes), "parquet"));
        ASSIGN_OR_RETURN(compressed_, fromArrow(arrow::AllocateResizableBuffer(0), "parquet"));
        facts_ = parquet::ColumnChunkMetaDataBuilder::Make(properties_, &column_);
        parquet::CodecOptions codec(properties_->compression_level(column_.path()));
        // -1: only encryption needs the ordinals of row group and column.
        pages_ = parquet::PageWriter::Open(file_, properties_->compression(column_.path()),
                                           facts_.get(), -1, -1, arrow::default_memory_pool(),
                                           false, nullptr, nullptr, false, nullptr, nullptr, codec);
        return okStatus();
    }

    Status addDictionary(const arrow::BufferBuilder& values, std::size_t entries) {
        const Encoding::type encoding = properties_->dictionary_page_encoding();
        chunk_.dictionaryOffset = 0;
        chunk_.hasDictionary = true;
        ++chunk_.dictionaryPages[encoding];
        chunk_.plainDictionaryBytes = pages_->WriteDictionaryPage(
            parquet::DictionaryPage(std::make_shared<arrow::Buffer>(values.data(), values.length()),
                                    static_cast<std::int32_t>(entries), encoding));
        chunk_.plainBytes += chunk_.plainDictionaryBytes;
        return okStatus();
    }

    /// `page`: levels and values of `rows` rows.
    Status add(const arrow::BufferBuilder& page, std::int64_t rows, Encoding::type encoding,
               parquet::EncodedStatistics statistics) {
        // Sizes in page headers are i32 (parquet.thrift).
        if (page.length() > std::numeric_limits<std::int32_t>::max()) {
            return invalidArgument("column '", column_.name(), "': ", page.length(),
                                   " bytes in a page of Parquet; 2 GB are the most");
        }
        auto bytes = std::make_shared<arrow::Buffer>(page.data(), page.length());
        if (pages_->has_compressor()) {
            pages_->Compress(*bytes, compressed_.get());
            bytes = compressed_;
        }
        ASSIGN_OR_RETURN(const std::int64_t offset, fromArrow(file_->Tell(), "parquet"));
        if (chunk_.pages.empty()) {
            chunk_.dataOffset = offset;
        }
        chunk_.plainBytes += pages_->WriteDataPage(
            parquet::DataPageV1(bytes, static_cast<std::int32_t>(rows), encoding, Encoding::RLE,
                                Encoding::RLE, page.length()));
        ++chunk_.dataPages[encoding];
        ASSIGN_OR_RETURN(const std::int64_t end, fromArrow(file_->Tell(), "parquet"));
        chunk_.pages.push_back({offset, static_cast<std::int32_t>(end - offset), chunk_.values,
                                limited(std::move(statistics))});
        chunk_.values += rows;
        return okStatus();
    }

    Result<EncodedChunk> finish(parquet::EncodedStatistics statistics) {
        chunk_.statistics = limited(std::move(statistics));
        ASSIGN_OR_RETURN(chunk_.bytes, fromArrow(file_->Finish(), "parquet"));
        return std::move(chunk_);
    }

 private:
    parquet::EncodedStatistics limited(parquet::EncodedStatistics statistics) const {
        statistics.ApplyStatSizeLimits(properties_->max_statistics_size(column_.path()));
        statistics.set_is_signed(column_.sort_order() == parquet::SortOrder::SIGNED);
        return statistics;
    }

    const PropertiesPtr properties_;
    const parquet::ColumnDescriptor& column_;
    std::shared_ptr<arrow::io::BufferOutputStream> file_;
    std::shared_ptr<arrow::ResizableBuffer> compressed_;
    std::unique_ptr<parquet::ColumnChunkMetaDataBuilder> facts_;
    std::unique_ptr<parquet::PageWriter> pages_;
    EncodedChunk chunk_;
};

template <class Values>
class ChunkMaker {
 public:
    ChunkMaker(const ColumnPieces& pieces, const parquet::ColumnDescriptor& column,
               const PropertiesPtr& properties)
        : pieces_(pieces),
          column_(column),
          properties_(*properties),
          values_(pieces, column, *properties),
          sink_(column, properties) {}

    /// `bytes`: approximate size of the chunk.
    Result<EncodedChunk> make(std::int64_t bytes) {
        RETURN_IF_ERROR(sink_.open(bytes));
        if (properties_.dictionary_enabled(column_.path())) {
            ASSIGN_OR_RETURN(const bool isIndexed, makeIndices());
            if (isIndexed) {
                RETURN_IF_ERROR(addIndexed());
                return sink_.finish(values_.chunkStatistics());
            }
            // The dictionary was given up after some pages: the chunk begins again without one. A
            // chunk with both kinds of pages would be valid, but slower to read.
            values_.restart();
        }
        const Encoding::type wished = properties_.encoding(column_.path());
        const bool isPacked =
            wished == Encoding::DELTA_BINARY_PACKED || wished == Encoding::DELTA_LENGTH_BYTE_ARRAY;
        const Encoding::type encoding = isPacked ? wished : Encoding::PLAIN;
        for (std::int64_t row = 0; row < pieces_.rows();) {
            ASSIGN_OR_RETURN(Page page, take(row));
            RETURN_IF_ERROR(appendLevels(page));
            RETURN_IF_ERROR(values_.append(encoding, page_));
            RETURN_IF_ERROR(sink_.add(page_, page.rows, encoding, std::move(page.statistics)));
            row += page.rows;
        }
        return sink_.finish(values_.chunkStatistics());
    }

 private:
    struct Page {
        std::int64_t row = 0, rows = 0, nulls = 0;
        parquet::EncodedStatistics statistics;
    };

    Result<Page> take(std::int64_t row) {
        Page page;
        page.row = row;
        page.rows = values_.take(row, properties_.max_rows_per_page());
        page.nulls = page.rows - static_cast<std::int64_t>(values_.size());
        if (page.nulls > 0 && column_.max_definition_level() == 0) {
            return invalidArgument("column '", column_.name(),
                                   "' has nulls, but its table's schema has none");
        }
        page.statistics = values_.statistics(page.nulls);
        return page;
    }

    /// Returns false if no dictionary is used.
    Result<bool> makeIndices() {
        for (std::int64_t row = 0; row < pieces_.rows();) {
            ASSIGN_OR_RETURN(Page page, take(row));
            if (!values_.index(indices_)) {
                return false;
            }
            row += page.rows;
            indexed_.push_back(std::move(page));
        }
        return true;
    }

    Status addIndexed() {
        RETURN_IF_ERROR(values_.appendDictionary(page_));
        RETURN_IF_ERROR(sink_.addDictionary(page_, values_.entries()));
        const int width = widthOfIndices(values_.entries());
        std::size_t at = 0;
        for (Page& page : indexed_) {
            RETURN_IF_ERROR(appendLevels(page));
            const auto count = static_cast<std::size_t>(page.rows - page.nulls);
            // RLE_DICTIONARY: the width of the indices in one byte, then hybrid runs without a
            // length (Parquet's Encodings.md).
            const auto byte = static_cast<std::uint8_t>(width);
            RETURN_IF_ERROR(fromArrow(page_.Append(&byte, 1), "parquet page"));
            RETURN_IF_ERROR(appendHybrid(std::span(indices_).subspan(at, count), width, page_));
            RETURN_IF_ERROR(sink_.add(page_, page.rows, properties_.dictionary_index_encoding(),
                                      std::move(page.statistics)));
            at += count;
        }
        return okStatus();
    }

    /// Begins the page: the definition levels, one bit per row, after their size.
    Status appendLevels(const Page& page) {
        page_.Rewind(0);
        if (column_.max_definition_level() == 0) {
            return okStatus();
        }
        std::uint32_t size = 0;
        RETURN_IF_ERROR(fromArrow(page_.Append(&size, sizeof size), "parquet page"));
        // Levels of one bit, as one hybrid run: a repeated 1 if there are no nulls, else all bits
        // packed, in groups of eight.
        const std::int64_t groups = (page.rows + 7) / 8;
        if (page.nulls == 0) {
            const std::uint8_t all = 1;
            RETURN_IF_ERROR(appendVarint(static_cast<std::uint64_t>(page.rows) << 1, page_));
            RETURN_IF_ERROR(fromArrow(page_.Append(&all, 1), "parquet page"));
        } else {
            RETURN_IF_ERROR(appendVarint(static_cast<std::uint64_t>(groups) << 1 | 1, page_));
            RETURN_IF_ERROR(fromArrow(page_.Append(groups, 0), "parquet page"));
            setValid(page, page_.mutable_data() + page_.length() - groups);
        }
        size = static_cast<std::uint32_t>(page_.length()) - sizeof size;
        std::memcpy(page_.mutable_data(), &size, sizeof size);
        return okStatus();
    }

    void setValid(const Page& page, std::uint8_t* bits) const {
        std::int64_t to = 0;
        const auto add = [&](const arrow::Array& array, std::int64_t from, std::int64_t n) {
            if (array.null_count() == 0) {
                arrow::bit_util::SetBitsTo(bits, to, n, true);
            } else {
                arrow::internal::CopyBitmap(array.null_bitmap_data(), array.offset() + from, n,
                                            bits, to);
            }
            to += n;
            return true;
        };
        pieces_.each(page.row, page.rows, add);
    }

    const ColumnPieces& pieces_;
    const parquet::ColumnDescriptor& column_;
    const parquet::WriterProperties& properties_;
    Values values_;
    PageSink sink_;
    arrow::BufferBuilder page_;
    std::vector<std::uint32_t> indices_;
    std::vector<Page> indexed_;
};

template <class Values>
Result<EncodedChunk> makeChunk(const ColumnPieces& pieces, const parquet::ColumnDescriptor& column,
                               const PropertiesPtr& properties) {
    return ChunkMaker<Values>(pieces, column, properties).make(pieces.rows() * 8);
}

}  // namespace

bool isPlainColumn(const arrow::DataType& type, const parquet::ColumnDescriptor& column) {
    if (column.max_repetition_level() > 0 || column.max_definition_level() > 1) {
        return false;
    }
    switch (type.id()) {
        case Type::INT32:
        case Type::UINT32:
        case Type::DATE32:
            return column.physical_type() == parquet::Type::INT32;
        case Type::INT64:
        case Type::UINT64:
            return column.physical_type() == parquet::Type::INT64;
        case Type::TIMESTAMP:  // Parquet has no timestamps in seconds
            return static_cast<const arrow::TimestampType&>(type).unit() !=
                       arrow::TimeUnit::SECOND &&
                   column.physical_type() == parquet::Type::INT64;
        case Type::FLOAT:
        case Type::DOUBLE:
        case Type::STRING:
        case Type::BINARY:
            return true;
        default:
            return false;
    }
}

Result<EncodedChunk> encodeChunk(const ColumnPieces& pieces,
                                 const parquet::ColumnDescriptor& column,
                                 const PropertiesPtr& properties) {
    try {
        switch (column.physical_type()) {
            case parquet::Type::INT32:
                return makeChunk<NumberValues<parquet::Int32Type>>(pieces, column, properties);
            case parquet::Type::INT64:
                return makeChunk<NumberValues<parquet::Int64Type>>(pieces, column, properties);
            case parquet::Type::FLOAT:
                return makeChunk<NumberValues<parquet::FloatType>>(pieces, column, properties);
            case parquet::Type::DOUBLE:
                return makeChunk<NumberValues<parquet::DoubleType>>(pieces, column, properties);
            case parquet::Type::BYTE_ARRAY:
                return makeChunk<TextValues>(pieces, column, properties);
            default:
                return internalError("column '", column.name(), "' is not plain");
        }
    } catch (const parquet::ParquetException& e) {
        return internalError("column '", column.name(), "': ", e.what());
    }
}

}  // namespace millrace::table

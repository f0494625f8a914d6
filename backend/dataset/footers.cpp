#include "backend/dataset/footers.h"

#include <algorithm>

#include <arrow/io/interfaces.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "backend/arrays/array_check.h"
#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/column_tree.h"
#include "backend/core/hash.h"
#include "backend/dataset/arrow_stream.h"
#include "backend/files/file_identity.h"
#include "backend/files/footer_bytes.h"
#include "backend/pages/parquet_columns.h"
#include "backend/pages/parquet_footers.h"

namespace millrace::dataset {
namespace {

std::int64_t decodedBytesOf(const parquet::ColumnChunkMetaData& chunk,
                            const parquet::ColumnDescriptor& column) {
    switch (chunk.type()) {
        case parquet::Type::BOOLEAN:
            return chunk.num_values();
        case parquet::Type::INT32:
        case parquet::Type::FLOAT:
            return chunk.num_values() * 4;
        case parquet::Type::INT64:
        case parquet::Type::DOUBLE:
            return chunk.num_values() * 8;
        case parquet::Type::INT96:
            return chunk.num_values() * 12;
        case parquet::Type::FIXED_LEN_BYTE_ARRAY:
            return chunk.num_values() * column.type_length();
        default:
            return chunk.total_uncompressed_size();
    }
}

Status addRowGroup(const parquet::FileMetaData& footer, int group, const files::DataFile& file,
                   const std::map<std::string, std::size_t>& columns, files::FileMetadata& facts) {
    const std::unique_ptr<parquet::RowGroupMetaData> meta = footer.RowGroup(group);
    files::ColumnChunkMetadata chunk;
    chunk.rows = meta->num_rows();
    chunk.offset = file.bytes;
    chunk.decodedBytes.assign(columns.size(), 0);
    for (int i = 0; i < meta->num_columns(); ++i) {
        const std::unique_ptr<parquet::ColumnChunkMetaData> column = meta->ColumnChunk(i);
        const pages::ByteRange range = pages::rangeOf(*column);
        if (range.offset < 0 || range.bytes < 0 || range.end() > file.bytes) {
            return dataLoss(file.path, ": corrupt: row group ", group, ", column ",
                            column->path_in_schema()->ToDotString(), " is outside the file's ",
                            file.bytes, " bytes");
        }
        chunk.offset = std::min(chunk.offset, range.offset);
        chunk.bytes += range.bytes;
        const parquet::ColumnDescriptor* descriptor = footer.schema()->Column(i);
        const auto at = columns.find(pages::columnOfLeaf(*footer.schema(), i));
        if (at != columns.end()) {
            chunk.decodedBytes[at->second] += decodedBytesOf(*column, *descriptor);
        }
    }
    facts.rows += chunk.rows;
    facts.chunks.push_back(std::move(chunk));
    return okStatus();
}

/// Columns of Parquet's type INTERVAL, which Arrow reads as bytes. If the footer has no Arrow
/// schema, also other bytes of fixed length: their type is unknown.
std::map<std::string, std::string> refusedOf(const parquet::SchemaDescriptor& schema,
                                             bool hasArrowTypes) {
    std::map<std::string, std::string> columns;
    for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
        const parquet::ColumnDescriptor& column = *schema.Column(leaf);
        const auto& logical = column.logical_type();
        if (logical != nullptr && logical->is_interval()) {
            columns.emplace(pages::columnOfLeaf(schema, leaf), arrays::whyNoInterval());
        } else if (!hasArrowTypes &&
                   column.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY &&
                   (logical == nullptr || logical->is_none())) {
            columns.emplace(
                pages::columnOfLeaf(schema, leaf),
                strCat("is of a type that Arrow does not know, such as Polars' Int128 (",
                       column.type_length(),
                       " bytes a value); write it as Int64, as a decimal or as text"));
        }
    }
    return columns;
}

Result<files::FileMetadata> parseParquetFooter(const files::DataFile& file,
                                               const std::string& footerBytes) {
    const auto length = static_cast<std::int64_t>(footerBytes.size() - 8);
    const std::shared_ptr<parquet::FileMetaData> footer =
        parquet::FileMetaData::Make(footerBytes.data(), length);
    std::map<std::string, std::string> refused;
    ASSIGN_OR_RETURN(const auto schema, arrowSchemaOf(*footer, file.path, refused));
    files::FileMetadata facts;
    const std::map<std::string, std::size_t> columns =
        arrays::addColumns(*schema, facts.schema, refused);
    for (int group = 0; group < footer->num_row_groups(); ++group) {
        RETURN_IF_ERROR(addRowGroup(*footer, group, file, columns, facts));
    }
    // Some writers leave the footer's count at 0; the row groups' counts are used.
    if (facts.rows != footer->num_rows() && footer->num_rows() != 0) {
        return dataLoss(file.path, ": corrupt: the footer counts ", footer->num_rows(),
                        " rows, its row groups ", facts.rows);
    }
    facts.contentHash = hashHex(footerBytes);
    return facts;
}

Result<files::FileMetadata> parseArrowFile(const files::DataFile& file,
                                           const files::FileSource& source,
                                           const std::string& footerBytes) {
    arrow::ipc::IpcReadOptions options;
    options.use_threads = false;
    const auto opened = arrow::ipc::RecordBatchFileReader::Open(source.input(), options);
    if (opened.status().IsNotImplemented()) {
        return invalidArgument(file.path, ": Arrow does not know the type of one of its columns (",
                               opened.status().message(),
                               "); write integers of 128 bits as Int64, as decimals or as text");
    }
    ASSIGN_OR_RETURN(const auto reader, arrays::fromArrow(opened, file.path));
    files::FileMetadata facts;
    const std::map<std::string, std::size_t> columns =
        arrays::addColumns(*reader->schema(), facts.schema);
    for (int i = 0; i < reader->num_record_batches(); ++i) {
        const std::string place = strCat(file.path, ": record batch ", i);
        ASSIGN_OR_RETURN(auto batch, arrays::fromArrow(reader->ReadRecordBatch(i), place));
        files::ColumnChunkMetadata chunk;
        chunk.rows = batch->num_rows();
        chunk.decodedBytes.assign(columns.size(), 0);
        RETURN_IF_ERROR(addDecodedBytes(*batch, place, columns, chunk.decodedBytes));
        for (const std::int64_t bytes : chunk.decodedBytes) {
            chunk.bytes += bytes;
        }
        facts.rows += chunk.rows;
        facts.chunks.push_back(std::move(chunk));
    }
    facts.contentHash = hashHex(footerBytes);
    return facts;
}

}  // namespace

Result<std::shared_ptr<arrow::Schema>> arrowSchemaOf(const parquet::FileMetaData& footer,
                                                     const std::string& path,
                                                     std::map<std::string, std::string>& refused) {
    std::shared_ptr<arrow::Schema> schema;
    const parquet::ArrowReaderProperties usual;
    const arrow::Status known = parquet::arrow::FromParquetSchema(
        footer.schema(), usual, footer.key_value_metadata(), &schema);
    refused = refusedOf(*footer.schema(), !known.IsNotImplemented());
    if (known.IsNotImplemented()) {
        RETURN_IF_ERROR(arrays::fromArrow(
            parquet::arrow::FromParquetSchema(footer.schema(), usual, nullptr, &schema), path));
        return schema;
    }
    RETURN_IF_ERROR(arrays::fromArrow(known, path));
    return schema;
}

Status addDecodedBytes(const arrow::RecordBatch& batch, const std::string& place,
                       const std::map<std::string, std::size_t>& columns,
                       std::vector<std::int64_t>& decodedBytes) {
    RETURN_IF_ERROR(arrays::checkBuffers(batch, place));
    for (const auto& [name, at] : columns) {
        ASSIGN_OR_RETURN(const auto array,
                         arrays::findColumn(batch, name, arrow::default_memory_pool()));
        if (array != nullptr) {
            RETURN_IF_ERROR(arrays::checkArray(*array, strCat(place, ", ", name)));
            ASSIGN_OR_RETURN(decodedBytes[at],
                             arrays::fromArrow(arrow::util::ReferencedBufferSize(*array), place));
        }
    }
    return okStatus();
}

Status verifyArrowFooter(const files::DataFile& file, const files::FileSource& source,
                         const std::string& contentHash) {
    ASSIGN_OR_RETURN(const std::string footer,
                     files::readFooter(file, source, "an Arrow IPC", "ARROW1"));
    return files::verifyHash(file, hashHex(footer), contentHash);
}

Result<files::FileMetadata> readParquetFacts(const files::DataFile& file) {
    ASSIGN_OR_RETURN(const files::FileSource source, files::FileSource::open(file));
    ASSIGN_OR_RETURN(const std::string footer, pages::readParquetFooter(file, source));
    try {
        ASSIGN_OR_RETURN(files::FileMetadata facts, parseParquetFooter(file, footer));
        facts.etag = source.etag();
        return facts;
    } catch (const std::exception& e) {
        return pages::footerError(file.path, e);
    }
}

Result<files::FileMetadata> readArrowFacts(const files::DataFile& file) {
    ASSIGN_OR_RETURN(const files::FileSource source, files::FileSource::open(file));
    ASSIGN_OR_RETURN(const bool isStream, isArrowStream(file, source));
    if (isStream) {
        ASSIGN_OR_RETURN(files::FileMetadata facts, readArrowStreamFacts(file, source));
        facts.etag = source.etag();
        return facts;
    }
    ASSIGN_OR_RETURN(const std::string footer,
                     files::readFooter(file, source, "an Arrow IPC", "ARROW1"));
    ASSIGN_OR_RETURN(files::FileMetadata facts, parseArrowFile(file, source, footer));
    facts.etag = source.etag();
    return facts;
}

}  // namespace millrace::dataset

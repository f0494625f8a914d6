#pragma once
// Column chunks of Parquet row groups, made in memory: pages, and their entries for the footer.
//
// Encodes numbers of 4 and 8 bytes and texts here, straight from the arrays into the page that is
// compressed. Arrow encodes everything else, lists above all: it writes a file of one column, whose
// chunk is taken. Offsets count from the chunk's first byte. Private to table. Threads: pure.
// Failure: kInvalidArgument for a page of more than 2 GB, or for nulls in a column that allows
// none.
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>
#include <parquet/statistics.h>
#include <parquet/type_fwd.h>
#include <parquet/types.h>

#include "backend/core/status.h"
#include "backend/table/column_pieces.h"

namespace millrace::table {

struct ChunkPage {
    std::int64_t offset = 0;  ///< of its header
    std::int32_t bytes = 0;   ///< with its header
    std::int64_t firstRow = 0;
    parquet::EncodedStatistics statistics;
};

struct EncodedChunk {
    using Counts = std::map<parquet::Encoding::type, std::int32_t>;
    std::shared_ptr<arrow::Buffer> bytes;
    std::int64_t values = 0;                ///< including nulls
    std::int64_t plainBytes = 0;            ///< before compression, with headers
    std::int64_t plainDictionaryBytes = 0;  ///< the dictionary's part of plainBytes
    std::int64_t dictionaryOffset = -1, dataOffset = 0;
    bool hasDictionary = false;
    bool isMixed = false;  ///< pages with and without the dictionary
    Counts dictionaryPages, dataPages;
    parquet::EncodedStatistics statistics;
    std::vector<ChunkPage> pages;  ///< data pages
};

/// Whether encodeChunk() supports the column.
bool isPlainColumn(const arrow::DataType& type, const parquet::ColumnDescriptor& column);

Result<EncodedChunk> encodeChunk(const ColumnPieces& pieces,
                                 const parquet::ColumnDescriptor& column,
                                 const std::shared_ptr<parquet::WriterProperties>& properties);

/// One chunk for each leaf of the field.
Result<std::vector<EncodedChunk>> encodeByArrow(
    const ColumnPieces& pieces, const std::shared_ptr<arrow::Field>& field,
    const std::shared_ptr<parquet::WriterProperties>& properties);

}  // namespace millrace::table

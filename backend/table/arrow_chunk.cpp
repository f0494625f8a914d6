#include <utility>

#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/table/parquet_chunk.h"

namespace millrace::table {

namespace {

using arrays::fromArrow;

Result<std::shared_ptr<arrow::Buffer>> fileOf(
    const ColumnPieces& pieces, const std::shared_ptr<arrow::Field>& field,
    const std::shared_ptr<parquet::WriterProperties>& properties) {
    ASSIGN_OR_RETURN(std::shared_ptr<arrow::Array> values,
                     fromArrow(arrow::Concatenate(pieces.arrays()), field->name()));
    const auto schema = arrow::schema({field});
    const auto batch = arrow::RecordBatch::Make(schema, pieces.rows(), {std::move(values)});
    ASSIGN_OR_RETURN(const auto file,
                     fromArrow(arrow::io::BufferOutputStream::Create(), "parquet"));
    ASSIGN_OR_RETURN(const auto writer,
                     fromArrow(parquet::arrow::FileWriter::Open(
                                   *schema, arrow::default_memory_pool(), file, properties),
                               field->name()));
    RETURN_IF_ERROR(fromArrow(writer->NewBufferedRowGroup(), field->name()));
    RETURN_IF_ERROR(fromArrow(writer->WriteRecordBatch(*batch), field->name()));
    RETURN_IF_ERROR(fromArrow(writer->Close(), field->name()));
    return fromArrow(file->Finish(), "parquet");
}

std::vector<ChunkPage> pagesOf(parquet::RowGroupPageIndexReader& index, int leaf,
                               std::int64_t begin) {
    const auto places = index.GetOffsetIndex(leaf);
    const auto values = index.GetColumnIndex(leaf);
    std::vector<ChunkPage> pages;
    for (std::size_t p = 0; places != nullptr && p < places->page_locations().size(); ++p) {
        const parquet::PageLocation& place = places->page_locations()[p];
        ChunkPage page{place.offset - begin, place.compressed_page_size, place.first_row_index, {}};
        if (values != nullptr) {
            page.statistics.all_null_value = values->null_pages()[p];
            if (!page.statistics.all_null_value) {
                page.statistics.set_min(values->encoded_min_values()[p])
                    .set_max(values->encoded_max_values()[p]);
            }
            if (values->has_null_counts()) {
                page.statistics.set_null_count(values->null_counts()[p]);
            }
        }
        pages.push_back(std::move(page));
    }
    return pages;
}

EncodedChunk chunkOf(const std::shared_ptr<arrow::Buffer>& file,
                     const parquet::ColumnChunkMetaData& facts,
                     const parquet::ColumnDescriptor& column) {
    EncodedChunk chunk;
    chunk.hasDictionary = facts.has_dictionary_page();
    const std::int64_t begin =
        chunk.hasDictionary ? facts.dictionary_page_offset() : facts.data_page_offset();
    chunk.bytes = arrow::SliceBuffer(file, begin, facts.total_compressed_size());
    chunk.values = facts.num_values();
    chunk.plainBytes = facts.total_uncompressed_size();
    chunk.dictionaryOffset = chunk.hasDictionary ? 0 : -1;
    chunk.dataOffset = facts.data_page_offset() - begin;
    for (const parquet::PageEncodingStats& pages : facts.encoding_stats()) {
        const bool isData = pages.page_type == parquet::PageType::DATA_PAGE;
        (isData ? chunk.dataPages : chunk.dictionaryPages)[pages.encoding] += pages.count;
    }
    chunk.isMixed = chunk.hasDictionary && chunk.dataPages.size() > 1;
    if (const auto statistics = facts.encoded_statistics(); statistics != nullptr) {
        chunk.statistics = *statistics;
        chunk.statistics.set_is_signed(column.sort_order() == parquet::SortOrder::SIGNED);
    }
    return chunk;
}

}  // namespace

Result<std::vector<EncodedChunk>> encodeByArrow(
    const ColumnPieces& pieces, const std::shared_ptr<arrow::Field>& field,
    const std::shared_ptr<parquet::WriterProperties>& properties) {
    try {
        ASSIGN_OR_RETURN(const auto file, fileOf(pieces, field, properties));
        const auto reader =
            parquet::ParquetFileReader::Open(std::make_shared<arrow::io::BufferReader>(file));
        const auto group = reader->metadata()->RowGroup(0);
        const auto index = reader->GetPageIndexReader()->RowGroup(0);
        std::vector<EncodedChunk> chunks;
        for (int leaf = 0; leaf < group->num_columns(); ++leaf) {
            const auto facts = group->ColumnChunk(leaf);
            EncodedChunk chunk = chunkOf(file, *facts, *reader->metadata()->schema()->Column(leaf));
            if (index != nullptr) {
                chunk.pages = pagesOf(*index, leaf,
                                      chunk.hasDictionary ? facts->dictionary_page_offset()
                                                          : facts->data_page_offset());
            }
            chunks.push_back(std::move(chunk));
        }
        return chunks;
    } catch (const parquet::ParquetException& e) {
        return internalError("column '", field->name(), "': ", e.what());
    }
}

}  // namespace millrace::table

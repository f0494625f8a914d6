#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/cleanup/cleanup.h>
#include <arrow/array/array_base.h>
#include <arrow/chunked_array.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/column_tree.h"
#include "backend/dataset/decoders.h"
#include "backend/pages/page_decoder.h"
#include "backend/pages/page_index.h"
#include "backend/pages/parquet_columns.h"

namespace millrace::dataset {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

// Reading past fewer bytes is faster than looking up an index.
constexpr std::int64_t kBytesWorthAnIndex = 64 * 1024;

class ParquetDecoder : public FileDecoder {
 public:
    explicit ParquetDecoder(const DecoderInput& input)
        : input_(input),
          file_(input.file.input()),
          footer_(input.footer.metadata),
          index_(footer_, file_),
          pages_(*input.pages) {
        std::int64_t row = 0;
        for (int group = 0; group < footer_->num_row_groups(); ++group) {
            firstRows_.push_back(row);
            row += footer_->RowGroup(group)->num_rows();
        }
    }

    Result<std::vector<ArrayPtr>> readColumns(const SplitRange& split,
                                              const std::vector<std::string>& columns) override {
        return readRows(split, columns, {}, input_.pool);
    }

    Result<std::vector<ArrayPtr>> readRows(const SplitRange& split,
                                           const std::vector<std::string>& columns,
                                           const pages::RowSelection& selection,
                                           arrow::MemoryPool* pool) override {
        if (split.chunk < 0 || split.chunk >= static_cast<std::int64_t>(firstRows_.size())) {
            return failedPrecondition(input_.path, ": the plan has row group ", split.chunk,
                                      ", the file ", firstRows_.size());
        }
        const absl::Cleanup release = [this] { keepMemory(keepsMemory_); };
        std::vector<ArrayPtr> arrays;
        CostClock clock;
        for (const std::string& column : columns) {
            const std::int64_t before = bytesRead_;
            ASSIGN_OR_RETURN(ArrayPtr array, readColumn(split, column, selection, pool));
            arrays.push_back(std::move(array));
            costs_.push_back(clock.lap(column, bytesRead_ - before));
        }
        return arrays;
    }

    std::int64_t bytesRead() const override { return bytesRead_; }
    void keepMemory(bool keeps) override {
        keepsMemory_ = keeps;
        if (!keeps) {
            pages_.release();
        }
    }
    std::vector<ColumnCost> takeCosts() override { return std::exchange(costs_, {}); }

 private:
    Result<ArrayPtr> readColumn(const SplitRange& split, const std::string& column,
                                const pages::RowSelection& selection, arrow::MemoryPool* pool) {
        const auto known = input_.types->find(column);
        if (known == input_.types->end()) {
            return typeOfColumn(input_, column).status();
        }
        const expr::DataType& type = *known->second;
        const auto found = input_.footer.columns->find(column);
        if (found == input_.footer.columns->end()) {
            return input_.facts->schema.find(column) == nullptr
                       ? arrays::nullArray(type, selection.count(split.rows), pool)
                       : internalError(input_.path, ": column '", column, "' has no values");
        }
        const pages::ColumnLeaves& leaves = found->second;
        const int group = static_cast<int>(split.chunk);
        const std::string place =
            strCat(input_.path, ": row group ", group, ", column '", column, "'");
        try {
            if (group != groupOf_) {
                group_ = footer_->RowGroup(group);
                groupOf_ = group;
            }
            std::unique_ptr<parquet::ColumnChunkMetaData> chunk;
            std::int64_t bytes = 0;
            for (const int leaf : leaves.leaves) {
                chunk = group_->ColumnChunk(leaf);
                bytes += chunk->total_compressed_size();
            }
            ArrayPtr fast;
            const std::int64_t before = pages_.bytesRead();
            if (leaves.leaves.size() == 1) {
                ASSIGN_OR_RETURN(fast, decodePages(split, leaves.leaves.front(), *chunk, type,
                                                   place, selection));
            }
            bytesRead_ += fast != nullptr ? pages_.bytesRead() - before : bytes;
            if (fast != nullptr) {
                return fast;
            }
            ASSIGN_OR_RETURN(std::shared_ptr<arrow::ChunkedArray> values,
                             decode(split, group, column, place));
            ASSIGN_OR_RETURN(values, arrays::fieldWithin(std::move(values), leaves.depth, pool));
            if (values->length() != split.rows) {
                return dataLoss(place, ": corrupt: ", values->length(), " rows instead of ",
                                split.rows);
            }
            ASSIGN_OR_RETURN(ArrayPtr pinned, pinStored(input_, *values, column, place, pool));
            ASSIGN_OR_RETURN(pinned, pages::selectRows(std::move(pinned), selection, pool));
            return pages::zeroNullFloats(std::move(pinned), pool);
        } catch (const parquet::ParquetStatusException& e) {
            // Too little memory is not the file's fault.
            return e.status().IsOutOfMemory() ? arrays::fromArrow(e.status(), place)
                                              : corruptAs(place, e.what());
        } catch (const std::bad_alloc&) {
            return resourceExhausted(place, ": the memory limit is reached by what its pages hold");
        } catch (const std::exception& e) {
            return corruptAs(place, e.what());
        }
    }

    static Status corruptAs(const std::string& place, std::string_view what) {
        return dataLoss(place, ": corrupt: ", what.substr(0, what.find('\n')));
    }

    /// Returns null if Arrow's reader must be used.
    Result<ArrayPtr> decodePages(const SplitRange& split, int leaf,
                                 const parquet::ColumnChunkMetaData& chunk,
                                 const expr::DataType& type, const std::string& place,
                                 const pages::RowSelection& selection) {
        const pages::RowStretch stretch{
            split.firstRow - firstRows_[static_cast<std::size_t>(split.chunk)], split.rows,
            group_->num_rows()};
        // Early writers left the dictionary's header out of a chunk's size; Arrow's reader handles
        // that.
        const bool hasTrueSizes = !footer_->writer_version().VersionLt(
            parquet::ApplicationVersion::PARQUET_816_FIXED_VERSION());
        if (stretch.begin < 0 || stretch.begin + stretch.rows > stretch.groupRows ||
            !hasTrueSizes) {
            return ArrayPtr();
        }
        std::vector<pages::PagePlace> places;
        if (selection.count(split.rows) < stretch.groupRows &&
            chunk.total_uncompressed_size() >= kBytesWorthAnIndex &&
            chunk.GetOffsetIndexLocation().has_value()) {
            places = index_.places(static_cast<int>(split.chunk), leaf);
        }
        Result<ArrayPtr> array =
            pages_.readChunk(*file_, *footer_->schema()->Column(leaf), chunk,
                             arrays::toArrowType(type), stretch, selection, places);
        if (!array.ok()) {
            return Status(array.status().code(), strCat(place, ": ", messageOf(array.status())));
        }
        return array;
    }

    Result<std::shared_ptr<arrow::ChunkedArray>> decode(const SplitRange& split, int group,
                                                        const std::string& column,
                                                        const std::string& place) {
        const std::int64_t firstRow = firstRows_[static_cast<std::size_t>(group)];
        const std::int64_t skip = split.firstRow - firstRow;
        const std::int64_t rows = footer_->RowGroup(group)->num_rows();
        RETURN_IF_ERROR(openReader());
        const std::vector<int>& leaves = whole_.columns->at(column).leaves;
        if (skip == 0 && split.rows == rows) {
            const auto table = arrays::fromArrow(reader_->ReadRowGroup(group, leaves), place);
            RETURN_IF_ERROR(corrupt(table.status()));
            return (*table)->column(0);
        }
        if (skip < 0 || skip + split.rows > rows) {
            return failedPrecondition(place, ": the plan's rows ", split.firstRow, " to ",
                                      split.firstRow + split.rows, " are not in it");
        }
        return decodeRange(group, leaves, skip, split.rows, place);
    }

    /// Opens Arrow's reader, for columns that the page decoder does not support. It processes every
    /// column of the file.
    Status openReader() {
        if (reader_ != nullptr) {
            return okStatus();
        }
        // The Arrow schema is stored outside the columns' metadata, and for all columns at once.
        whole_ = input_.footer;
        if (whole_.kept != nullptr) {
            ASSIGN_OR_RETURN(whole_, input_.wholeFooter());
        }
        parquet::arrow::FileReaderBuilder builder;
        parquet::ReaderProperties reading(input_.pool);
        reading.set_page_checksum_verification(true);
        RETURN_IF_ERROR(
            arrays::fromArrow(builder.Open(file_, reading, whole_.metadata), input_.path));
        parquet::ArrowReaderProperties properties(/*use_threads=*/false);
        properties.set_pre_buffer(false);
        properties.set_batch_size(1 << 16);
        // Nanoseconds would overflow in 2262.
        properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
        return arrays::fromArrow(
            builder.memory_pool(input_.pool)->properties(properties)->Build(&reader_), input_.path);
    }

    /// Decodes batch by batch and keeps only the rows in the range, so that memory stays bounded.
    Result<std::shared_ptr<arrow::ChunkedArray>> decodeRange(int group,
                                                             const std::vector<int>& leaves,
                                                             std::int64_t skip, std::int64_t rows,
                                                             const std::string& place) {
        ASSIGN_OR_RETURN(const auto batches,
                         arrays::fromArrow(reader_->GetRecordBatchReader({group}, leaves), place));
        arrow::ArrayVector chunks;
        std::int64_t at = 0;
        while (at < skip + rows) {
            std::shared_ptr<arrow::RecordBatch> batch;
            RETURN_IF_ERROR(corrupt(arrays::fromArrow(batches->ReadNext(&batch), place)));
            if (batch == nullptr) {
                return dataLoss(place, ": corrupt: ends after ", at, " rows");
            }
            const std::int64_t begin = std::max<std::int64_t>(skip - at, 0);
            const std::int64_t end = std::min(batch->num_rows(), skip + rows - at);
            if (begin < end) {
                chunks.push_back(batch->column(0)->Slice(begin, end - begin));
            }
            at += batch->num_rows();
        }
        return std::make_shared<arrow::ChunkedArray>(std::move(chunks));
    }

    /// Bytes that cannot be decoded are lost data, whatever code Arrow returns.
    static Status corrupt(const Status& status) {
        if (status.ok() || status.code() == absl::StatusCode::kResourceExhausted) {
            return status;
        }
        return dataLoss(messageOf(status));
    }

    const DecoderInput input_;
    const std::shared_ptr<arrow::io::RandomAccessFile> file_;
    const std::shared_ptr<parquet::FileMetaData> footer_;
    pages::PageIndex index_;
    pages::ParquetFooter whole_;                          ///< used by reader_
    std::unique_ptr<parquet::arrow::FileReader> reader_;  ///< opened on demand
    std::unique_ptr<parquet::RowGroupMetaData> group_;    ///< of row group groupOf_
    int groupOf_ = -1;
    std::vector<std::int64_t> firstRows_;
    std::int64_t bytesRead_ = 0;
    bool keepsMemory_ = false;
    std::vector<ColumnCost> costs_;
    pages::PageDecoder& pages_;
};

}  // namespace

Result<DecoderPtr> openParquet(const DecoderInput& input) {
    try {
        return DecoderPtr(std::make_unique<ParquetDecoder>(input));
    } catch (const std::exception& e) {
        return dataLoss(input.path, ": ", e.what());
    }
}

}  // namespace millrace::dataset

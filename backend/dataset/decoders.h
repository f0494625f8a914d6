#pragma once
// The decoders behind SplitReader: one per file format. Private to dataset.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/dataset/split_reader.h"
#include "backend/files/file_source.h"
#include "backend/pages/parquet_footers.h"

namespace millrace::csv {
class GzipPoints;
}
namespace millrace::pages {
class PageDecoder;
}

namespace millrace::dataset {

/// A file to decode. `schema`, `types` and `options` outlive the decoder.
struct DecoderInput {
    std::string path;
    files::FileSource file;
    std::shared_ptr<const files::FileMetadata> facts;
    const expr::Schema* schema = nullptr;
    const SplitReader::Types* types = nullptr;  ///< of the schema's columns
    const files::ReadOptions* options = nullptr;
    arrow::MemoryPool* pool = nullptr;
    pages::ParquetFooter footer;  ///< Parquet: parsed before, maybe only in part
    std::function<Result<pages::ParquetFooter>()> wholeFooter;  ///< Parquet: for Arrow's reader
    std::shared_ptr<csv::GzipPoints> gzipPoints;                ///< CSV: of the dataset
    pages::PageDecoder* pages = nullptr;  ///< Parquet: the reader's, reused for one file after
                                          ///< another
};

/// A decoder of one format (Parquet, CSV, Arrow), open on one file.
class FileDecoder {
 public:
    virtual ~FileDecoder() = default;
    virtual Result<std::vector<std::shared_ptr<arrow::Array>>> readColumns(
        const SplitRange& split, const std::vector<std::string>& columns) = 0;
    /// Unless a format can do better, reads all rows and selects the wanted ones.
    virtual Result<std::vector<std::shared_ptr<arrow::Array>>> readRows(
        const SplitRange& split, const std::vector<std::string>& columns,
        const pages::RowSelection& selection, arrow::MemoryPool* pool);
    virtual std::int64_t bytesRead() const = 0;
    /// See SplitReader::keepMemory().
    virtual void keepMemory(bool keeps) { (void)keeps; }
    /// Costs by column since the last call; empty if all columns are read together.
    virtual std::vector<ColumnCost> takeCosts() { return {}; }
};

using DecoderPtr = std::unique_ptr<FileDecoder>;

Result<DecoderPtr> openParquet(const DecoderInput& input);
Result<DecoderPtr> openCsv(const DecoderInput& input);
Result<DecoderPtr> openArrow(const DecoderInput& input);

/// The dataset's type of a column; kInvalidArgument with the nearest name if it does not exist.
Result<expr::DataType> typeOfColumn(const DecoderInput& input, const std::string& column);

/// arrays::pinArray() of a stored column. A value that does not fit the dataset's type is an error
/// that names the source of that type.
Result<std::shared_ptr<arrow::Array>> pinStored(const DecoderInput& input,
                                                const arrow::ChunkedArray& values,
                                                const std::string& column, const std::string& place,
                                                arrow::MemoryPool* pool);

}  // namespace millrace::dataset

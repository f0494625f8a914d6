#pragma once
// The decoders behind SplitReader: one a file format. Private to the room.
#include <memory>
#include <string>

#include "backend/dataset/file_source.h"
#include "backend/dataset/parquet_footers.h"
#include "backend/dataset/split_reader.h"

namespace millrace::dataset {

/// A file to decode. `schema`, `types` and `options` outlive the decoder.
struct DecoderInput {
    std::string path;
    FileSource file;
    std::shared_ptr<const FileFacts> facts;
    const spec::Schema* schema = nullptr;
    const SplitReader::Types* types = nullptr;  ///< of the schema's columns
    const ReadOptions* options = nullptr;
    arrow::MemoryPool* pool = nullptr;
    ParquetFooter footer;  ///< Parquet: parsed before
};

using DecoderPtr = std::unique_ptr<SplitReader::FileDecoder>;

Result<DecoderPtr> openParquet(const DecoderInput& input);
Result<DecoderPtr> openCsv(const DecoderInput& input);
Result<DecoderPtr> openArrow(const DecoderInput& input);

/// The dataset's type of a column; kInvalidArgument with the nearest name when there is none.
Result<spec::DataType> typeOfColumn(const DecoderInput& input, const std::string& column);

}  // namespace millrace::dataset

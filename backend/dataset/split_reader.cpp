#include "backend/dataset/split_reader.h"

#include <arrow/memory_pool.h>

#include "backend/core/text.h"
#include "backend/dataset/decoders.h"

namespace millrace::dataset {

Result<spec::DataType> typeOfColumn(const DecoderInput& input, const std::string& column) {
    const spec::Field* field = input.schema->find(column);
    if (field == nullptr) {
        return invalidArgument(input.path, ": no column '", column, "'",
                               nameHint(column, input.schema->names()));
    }
    return field->type;
}

SplitReader::SplitReader(std::shared_ptr<const Dataset> dataset, arrow::MemoryPool* pool)
    : dataset_(std::move(dataset)), pool_(pool != nullptr ? pool : arrow::default_memory_pool()) {}

SplitReader::~SplitReader() = default;

Status SplitReader::openFile(std::uint32_t file) {
    if (decoder_ != nullptr && openFile_ == file) {
        return okStatus();
    }
    if (file >= dataset_->files().size()) {
        return internalError("file ", file, " is not in the plan");
    }
    decoder_.reset();
    ASSIGN_OR_RETURN(std::shared_ptr<const FileFacts> facts, dataset_->facts(file));
    const DecoderInput input{dataset_->files()[file].path, std::move(facts), &dataset_->schema(),
                             &dataset_->options(), pool_};
    const std::string& format = dataset_->options().format;
    if (format == "csv") {
        ASSIGN_OR_RETURN(decoder_, openCsv(input));
    } else if (format == "arrow") {
        ASSIGN_OR_RETURN(decoder_, openArrow(input));
    } else {
        ASSIGN_OR_RETURN(decoder_, openParquet(input));
    }
    openFile_ = file;
    return okStatus();
}

Result<std::vector<std::shared_ptr<arrow::Array>>> SplitReader::FileDecoder::readRows(
    const SplitRange& split, const std::vector<std::string>& columns, const RowWish& wish,
    arrow::MemoryPool* pool) {
    ASSIGN_OR_RETURN(auto arrays, readColumns(split, columns));
    for (std::shared_ptr<arrow::Array>& array : arrays) {
        ASSIGN_OR_RETURN(array, selectRows(std::move(array), wish, pool));
        ASSIGN_OR_RETURN(array, zeroNullFloats(std::move(array), pool));
    }
    return arrays;
}

Result<std::vector<std::shared_ptr<arrow::Array>>> SplitReader::readRows(
    const SplitRange& split, const std::vector<std::string>& columns, const RowWish& wish) {
    RETURN_IF_ERROR(openFile(split.file));
    const std::int64_t before = decoder_->bytesRead();
    auto arrays = decoder_->readRows(split, columns, wish, pool_);
    bytesRead_ += decoder_->bytesRead() - before;
    return arrays;
}

Result<std::vector<std::shared_ptr<arrow::Array>>> SplitReader::readColumns(
    const SplitRange& split, const std::vector<std::string>& columns) {
    RETURN_IF_ERROR(openFile(split.file));
    const std::int64_t before = decoder_->bytesRead();
    auto arrays = decoder_->readColumns(split, columns);
    bytesRead_ += decoder_->bytesRead() - before;
    return arrays;
}

}  // namespace millrace::dataset

#include <arrow/array/array_base.h>
#include <arrow/chunked_array.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>

#include "backend/arrays/array_check.h"
#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/column_tree.h"
#include "backend/dataset/arrow_stream.h"
#include "backend/dataset/decoders.h"
#include "backend/dataset/footers.h"

namespace millrace::dataset {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

/// Keeps the record batch of the last split: its columns are often requested in two calls.
class ArrowDecoder : public FileDecoder {
 public:
    ArrowDecoder(const DecoderInput& input,
                 std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader)
        : input_(input), reader_(std::move(reader)) {}

    Result<std::vector<ArrayPtr>> readColumns(const SplitRange& split,
                                              const std::vector<std::string>& columns) override {
        if (split.chunk < 0 || split.chunk >= reader_->num_record_batches()) {
            return failedPrecondition(input_.path, ": the plan's record batch ", split.chunk,
                                      " is not in the file");
        }
        const std::string place = strCat(input_.path, ": record batch ", split.chunk);
        if (batchOf_ != split.chunk) {
            batchOf_ = -1;
            ASSIGN_OR_RETURN(
                batch_,
                arrays::fromArrow(reader_->ReadRecordBatch(static_cast<int>(split.chunk)), place));
            RETURN_IF_ERROR(arrays::checkBuffers(*batch_, place));
            batchOf_ = split.chunk;
            bytesRead_ += input_.facts->chunks[static_cast<std::size_t>(split.chunk)].bytes;
            firstRow_ = 0;
            for (std::int64_t i = 0; i < split.chunk; ++i) {
                firstRow_ += input_.facts->chunks[static_cast<std::size_t>(i)].rows;
            }
        }
        return pinColumns(input_, {*batch_, place, split.firstRow - firstRow_, split.rows},
                          columns);
    }

    std::int64_t bytesRead() const override { return bytesRead_; }

 private:
    const DecoderInput input_;
    std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
    std::shared_ptr<arrow::RecordBatch> batch_;
    std::int64_t batchOf_ = -1, firstRow_ = 0, bytesRead_ = 0;
};

}  // namespace

Result<std::vector<ArrayPtr>> pinColumns(const DecoderInput& input, const BatchRows& from,
                                         const std::vector<std::string>& columns) {
    if (from.firstRow < 0 || from.firstRow + from.rows > from.batch.num_rows()) {
        return failedPrecondition(from.place, ": the plan's rows are not in it");
    }
    std::vector<ArrayPtr> arrays;
    for (const std::string& column : columns) {
        ASSIGN_OR_RETURN(const expr::DataType type, typeOfColumn(input, column));
        ASSIGN_OR_RETURN(const ArrayPtr whole, arrays::findColumn(from.batch, column, input.pool));
        ArrayPtr array;
        if (whole == nullptr) {
            ASSIGN_OR_RETURN(array, arrays::nullArray(type, from.rows, input.pool));
        } else {
            const std::string place = strCat(from.place, ", ", column);
            const ArrayPtr rows = whole->Slice(from.firstRow, from.rows);
            RETURN_IF_ERROR(arrays::checkArray(*rows, place));
            ASSIGN_OR_RETURN(
                array, pinStored(input, arrow::ChunkedArray(rows), column, place, input.pool));
        }
        arrays.push_back(std::move(array));
    }
    return arrays;
}

Result<DecoderPtr> openArrow(const DecoderInput& input) {
    ASSIGN_OR_RETURN(const std::string start, input.file.readText(0, 6));
    if (start != "ARROW1") {
        return openArrowStream(input);
    }
    RETURN_IF_ERROR(verifyArrowFooter(input.file.file(), input.file, input.facts->contentHash));
    arrow::ipc::IpcReadOptions options;
    options.use_threads = false;
    options.memory_pool = input.pool;
    ASSIGN_OR_RETURN(auto reader, arrays::fromArrow(arrow::ipc::RecordBatchFileReader::Open(
                                                        input.file.input(), options),
                                                    input.path));
    return DecoderPtr(std::make_unique<ArrowDecoder>(input, std::move(reader)));
}

}  // namespace millrace::dataset

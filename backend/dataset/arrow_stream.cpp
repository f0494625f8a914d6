#include "backend/dataset/arrow_stream.h"

#include <map>
#include <utility>

#include <arrow/array/array_base.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/message.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "backend/arrays/array_check.h"
#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/column_tree.h"
#include "backend/core/hash.h"
#include "backend/dataset/footers.h"

namespace millrace::dataset {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using arrow::ipc::Message;

constexpr std::int64_t kHashBlock = 1 << 20;

arrow::ipc::IpcReadOptions readOptions(arrow::MemoryPool* pool) {
    arrow::ipc::IpcReadOptions options;
    options.use_threads = false;
    if (pool != nullptr) {
        options.memory_pool = pool;
    }
    return options;
}

/// A hash of the batches' hashes: a stream has no footer that could identify its content.
Result<std::string> hashOf(const files::DataFile& file, const files::FileSource& source) {
    std::string sums;
    for (std::int64_t at = 0; at < file.bytes; at += kHashBlock) {
        ASSIGN_OR_RETURN(const std::string block,
                         source.readText(at, std::min(kHashBlock, file.bytes - at)));
        sums += hashHex(block);
    }
    return hashHex(sums);
}

/// Reads batches at the offsets recorded in the facts.
class ArrowStreamDecoder : public FileDecoder {
 public:
    ArrowStreamDecoder(const DecoderInput& input, std::shared_ptr<arrow::Schema> schema)
        : input_(input), schema_(std::move(schema)) {}

    Result<std::vector<ArrayPtr>> readColumns(const SplitRange& split,
                                              const std::vector<std::string>& columns) override {
        const auto& chunks = input_.facts->chunks;
        if (split.chunk < 0 || split.chunk >= static_cast<std::int64_t>(chunks.size())) {
            return failedPrecondition(input_.path, ": the plan's record batch ", split.chunk,
                                      " is not in the file");
        }
        const std::string place = strCat(input_.path, ": record batch ", split.chunk);
        RETURN_IF_ERROR(load(split.chunk, place));
        return pinColumns(input_, {*batch_, place, split.firstRow - firstRow_, split.rows},
                          columns);
    }
    std::int64_t bytesRead() const override { return bytesRead_; }

 private:
    Status load(std::int64_t index, const std::string& place) {
        if (batchOf_ == index) {
            return okStatus();
        }
        batchOf_ = -1;
        const files::ColumnChunkMetadata& chunk =
            input_.facts->chunks[static_cast<std::size_t>(index)];
        ASSIGN_OR_RETURN(
            auto bytes,
            arrays::fromArrow(input_.file.input()->ReadAt(chunk.offset, chunk.bytes), place));
        arrow::io::BufferReader reader(std::move(bytes));
        ASSIGN_OR_RETURN(const auto message,
                         arrays::fromArrow(arrow::ipc::ReadMessage(&reader, input_.pool), place));
        if (message == nullptr) {
            return dataLoss(place, ": truncated");
        }
        const arrow::ipc::DictionaryMemo none;
        ASSIGN_OR_RETURN(batch_,
                         arrays::fromArrow(arrow::ipc::ReadRecordBatch(*message, schema_, &none,
                                                                       readOptions(input_.pool)),
                                           place));
        RETURN_IF_ERROR(arrays::checkBuffers(*batch_, place));
        bytesRead_ += chunk.bytes;
        firstRow_ = 0;
        for (std::int64_t i = 0; i < index; ++i) {
            firstRow_ += input_.facts->chunks[static_cast<std::size_t>(i)].rows;
        }
        batchOf_ = index;
        return okStatus();
    }

    const DecoderInput input_;
    const std::shared_ptr<arrow::Schema> schema_;
    std::shared_ptr<arrow::RecordBatch> batch_;
    std::int64_t batchOf_ = -1, firstRow_ = 0, bytesRead_ = 0;
};

/// Reads the schema message at the start of the file; leaves `input` at the position after it.
Result<std::shared_ptr<arrow::Schema>> readSchema(const std::string& path,
                                                  arrow::io::RandomAccessFile& input,
                                                  arrow::ipc::DictionaryMemo& memo) {
    RETURN_IF_ERROR(arrays::fromArrow(input.Seek(0), path));
    const auto message = arrow::ipc::ReadMessage(&input);
    if (!message.ok() || *message == nullptr ||
        (*message)->type() != arrow::ipc::MessageType::SCHEMA) {
        return dataLoss(path,
                        ": neither an Arrow IPC file (it does not begin with ARROW1) nor a "
                        "stream (it does not begin with a schema)");
    }
    return arrays::fromArrow(arrow::ipc::ReadSchema(**message, &memo), path);
}

}  // namespace

Result<bool> isArrowStream(const files::DataFile& file, const files::FileSource& source) {
    if (file.bytes < 8) {
        return false;
    }
    const Result<std::string> start = source.readText(0, 4);
    RETURN_IF_ERROR(start.status());
    return *start == "\xff\xff\xff\xff";  // the marker at the start of every message
}

Result<files::FileMetadata> readArrowStreamFacts(const files::DataFile& file,
                                                 const files::FileSource& source) {
    arrow::io::RandomAccessFile& input = *source.input();
    arrow::ipc::DictionaryMemo memo;
    ASSIGN_OR_RETURN(const auto schema, readSchema(file.path, input, memo));
    files::FileMetadata facts;
    const std::map<std::string, std::size_t> columns = arrays::addColumns(*schema, facts.schema);
    for (;;) {
        const std::string place = strCat(file.path, ": record batch ", facts.chunks.size());
        files::ColumnChunkMetadata chunk;
        ASSIGN_OR_RETURN(chunk.offset, arrays::fromArrow(input.Tell(), place));
        const auto message = arrow::ipc::ReadMessage(&input);
        if (!message.ok()) {
            RETURN_IF_ERROR(source.error());
            return dataLoss(place, ": truncated: ", message.status().message());
        }
        if (*message == nullptr) {
            break;
        }
        if ((*message)->type() != arrow::ipc::MessageType::RECORD_BATCH) {
            return invalidArgument(file.path,
                                   ": a stream with dictionaries cannot be read in "
                                   "pieces; write it as an Arrow IPC file");
        }
        ASSIGN_OR_RETURN(const std::int64_t end, arrays::fromArrow(input.Tell(), place));
        chunk.bytes = end - chunk.offset;
        ASSIGN_OR_RETURN(const auto batch,
                         arrays::fromArrow(arrow::ipc::ReadRecordBatch(**message, schema, &memo,
                                                                       readOptions(nullptr)),
                                           place));
        chunk.rows = batch->num_rows();
        chunk.decodedBytes.assign(columns.size(), 0);
        RETURN_IF_ERROR(addDecodedBytes(*batch, place, columns, chunk.decodedBytes));
        facts.rows += chunk.rows;
        facts.chunks.push_back(std::move(chunk));
    }
    ASSIGN_OR_RETURN(facts.contentHash, hashOf(file, source));
    return facts;
}

Result<DecoderPtr> openArrowStream(const DecoderInput& input) {
    arrow::ipc::DictionaryMemo memo;
    ASSIGN_OR_RETURN(auto schema, readSchema(input.path, *input.file.input(), memo));
    return DecoderPtr(std::make_unique<ArrowStreamDecoder>(input, std::move(schema)));
}

}  // namespace millrace::dataset

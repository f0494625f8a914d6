#include "backend/table/table_writer.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/csv/writer.h>
#include <arrow/io/file.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/status.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/value_text.h"
#include "backend/core/parallel.h"
#include "backend/table/parquet_groups.h"

namespace millrace::table {

namespace {

using arrays::fromArrow;
using FilePtr = std::shared_ptr<arrow::io::FileOutputStream>;

class ArrowFile final : public TableFile {
 public:
    ArrowFile(std::string path, FilePtr file, std::shared_ptr<arrow::ipc::RecordBatchWriter> writer)
        : path_(std::move(path)), file_(std::move(file)), writer_(std::move(writer)) {}
    Status append(const EncodedGroup& group) override {
        return writeStatus(writer_->WriteRecordBatch(*group.parts.front().batch), path_);
    }
    Status close() override {
        RETURN_IF_ERROR(writeStatus(writer_->Close(), path_));
        return writeStatus(file_->Close(), path_);
    }
    Result<std::int64_t> bytesWritten() const override { return fromArrow(file_->Tell(), path_); }

 private:
    const std::string path_;
    FilePtr file_;
    std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

bool isListType(const arrow::DataType& type) {
    return type.id() == arrow::Type::LIST || type.id() == arrow::Type::FIXED_SIZE_LIST;
}

// Arrow's CSV writer does not support lists. A null item is an empty text between bars.
Result<std::shared_ptr<arrow::Array>> listTexts(const arrow::Array& lists) {
    arrow::StringBuilder builder;
    std::string text;
    for (std::int64_t row = 0; row < lists.length(); ++row) {
        if (lists.IsNull(row)) {
            RETURN_IF_ERROR(fromArrow(builder.AppendNull(), "csv"));
            continue;
        }
        ASSIGN_OR_RETURN(const auto scalar, fromArrow(lists.GetScalar(row), "csv"));
        const auto& values = static_cast<const arrow::BaseListScalar&>(*scalar).value;
        text.clear();
        for (std::int64_t i = 0; i < values->length(); ++i) {
            strAppend(&text, i == 0 ? "" : "|",
                      values->IsNull(i) ? "" : arrays::valueText(*values, i));
        }
        RETURN_IF_ERROR(fromArrow(builder.Append(text), "csv"));
    }
    return fromArrow(builder.Finish(), "csv");
}

std::shared_ptr<arrow::Schema> textSchema(const arrow::Schema& schema) {
    arrow::FieldVector fields;
    for (const auto& field : schema.fields()) {
        fields.push_back(isListType(*field->type()) ? arrow::field(field->name(), arrow::utf8())
                                                    : field);
    }
    return arrow::schema(fields);
}

Result<std::shared_ptr<arrow::Buffer>> textOf(const arrow::RecordBatch& batch, bool isHeader) {
    arrow::ArrayVector columns;
    for (int c = 0; c < batch.num_columns(); ++c) {
        std::shared_ptr<arrow::Array> column = batch.column(c);
        if (isListType(*column->type())) {
            ASSIGN_OR_RETURN(column, listTexts(*column));
        }
        columns.push_back(std::move(column));
    }
    const auto texts =
        arrow::RecordBatch::Make(textSchema(*batch.schema()), batch.num_rows(), columns);
    auto options = arrow::csv::WriteOptions::Defaults();
    options.quoting_style = arrow::csv::QuotingStyle::Needed;
    options.include_header = isHeader;
    ASSIGN_OR_RETURN(const auto out, fromArrow(arrow::io::BufferOutputStream::Create(), "csv"));
    RETURN_IF_ERROR(fromArrow(arrow::csv::WriteCSV(*texts, options, out.get()), "csv"));
    return fromArrow(out->Finish(), "csv");
}

// Converts rows to text in pieces, in several threads; writes the pieces in order.
// Each round converts kTextRows per thread, so that the text in memory is bounded whatever the size
// of the row group.
class CsvFile final : public TableFile {
 public:
    CsvFile(std::string path, FilePtr file, int threads)
        : path_(std::move(path)), file_(std::move(file)), threads_(std::max(threads, 1)) {}
    Status begin(const std::shared_ptr<arrow::Schema>& schema) {
        ASSIGN_OR_RETURN(const auto none, fromArrow(arrow::RecordBatch::MakeEmpty(schema), path_));
        ASSIGN_OR_RETURN(const auto header, textOf(*none, true));
        return writeStatus(file_->Write(header), path_);
    }
    Status append(const EncodedGroup& group) override {
        const arrow::RecordBatch& batch = *group.parts.front().batch;
        for (std::int64_t at = 0; at < batch.num_rows(); at += kTextRows * threads_) {
            const std::int64_t rows = std::min(kTextRows * threads_, batch.num_rows() - at);
            std::vector<std::shared_ptr<arrow::Buffer>> texts(
                static_cast<std::size_t>((rows + kTextRows - 1) / kTextRows));
            RETURN_IF_ERROR(
                parallelFor(texts.size(), threads_, "csv", [&](std::size_t i) -> Status {
                    const std::int64_t first = at + kTextRows * static_cast<std::int64_t>(i);
                    ASSIGN_OR_RETURN(
                        texts[i],
                        textOf(*batch.Slice(first, std::min(kTextRows, at + rows - first)), false));
                    return okStatus();
                }));
            for (const auto& text : texts) {
                RETURN_IF_ERROR(writeStatus(file_->Write(text), path_));
            }
        }
        return okStatus();
    }
    Status close() override { return writeStatus(file_->Close(), path_); }
    Result<std::int64_t> bytesWritten() const override { return fromArrow(file_->Tell(), path_); }

 private:
    static constexpr std::int64_t kTextRows = 8192;
    const std::string path_;
    const FilePtr file_;
    const int threads_;
};

// Arrow IPC and CSV: passes rows on unchanged; CSV rows become text when they are written.
class BatchEncoder final : public TableEncoder {
 public:
    BatchEncoder(std::shared_ptr<arrow::Schema> schema, WriterOptions options)
        : schema_(std::move(schema)), options_(std::move(options)) {}
    Status prepare(const std::vector<BatchPtr>&) override { return okStatus(); }
    std::size_t numParts() const override { return 1; }
    Result<EncodedPart> encode(const std::vector<BatchPtr>& batches, std::size_t) const override {
        EncodedPart part;
        ASSIGN_OR_RETURN(part.batch,
                         fromArrow(arrow::ConcatenateRecordBatches(batches), "row group"));
        return part;
    }
    Result<std::unique_ptr<TableFile>> open(const std::string& path) const override {
        ASSIGN_OR_RETURN(FilePtr file, fromArrow(arrow::io::FileOutputStream::Open(path), path));
        if (options_.format == TableFormat::kCsv) {
            auto csv = std::make_unique<CsvFile>(path, std::move(file), options_.threads);
            RETURN_IF_ERROR(csv->begin(schema_));
            return std::unique_ptr<TableFile>(std::move(csv));
        }
        ASSIGN_OR_RETURN(auto writer, fromArrow(arrow::ipc::MakeFileWriter(file, schema_), path));
        return std::unique_ptr<TableFile>(
            std::make_unique<ArrowFile>(path, std::move(file), std::move(writer)));
    }

 private:
    const std::shared_ptr<arrow::Schema> schema_;
    const WriterOptions options_;
};

}  // namespace

Result<TableFormat> parseTableFormat(const std::string& name) {
    if (name == "parquet") {
        return TableFormat::kParquet;
    }
    if (name == "arrow") {
        return TableFormat::kArrow;
    }
    if (name == "csv") {
        return TableFormat::kCsv;
    }
    return invalidArgument("'", name, "' is not a format of tables; parquet, arrow and csv are");
}

std::string_view endingOf(TableFormat format) {
    switch (format) {
        case TableFormat::kParquet:
            return ".parquet";
        case TableFormat::kArrow:
            return ".arrow";
        case TableFormat::kCsv:
            break;
    }
    return ".csv";
}

Status writeStatus(const arrow::Status& status, const std::string& path) {
    if (status.ok()) {
        return okStatus();
    }
    const std::string detail = status.detail() == nullptr ? "" : status.detail()->ToString();
    // These are the C library's texts of ENOSPC, EFBIG and EDQUOT, which Arrow puts into the
    // message or the detail. Nothing of the table is kept, because its directory appears only when
    // it is complete (OutputPlace).
    for (const char* full : {"No space left", "File too large", "quota exceeded"}) {
        const bool isFull = detail.find(full) != std::string::npos ||
                            status.message().find(full) != std::string::npos;
        if (isFull) {
            return resourceExhausted(path, ": the disk is full or may not hold more (", full,
                                     "); nothing of the table was kept");
        }
    }
    const Status told = fromArrow(status, path);
    return detail.empty() ? told : Status(told.code(), strCat(messageOf(told), " ", detail));
}

Result<std::unique_ptr<TableEncoder>> TableEncoder::make(std::shared_ptr<arrow::Schema> schema,
                                                         const WriterOptions& options) {
    if (options.format != TableFormat::kParquet) {
        return std::unique_ptr<TableEncoder>(
            std::make_unique<BatchEncoder>(std::move(schema), options));
    }
    return ParquetEncoder::make(std::move(schema), options);
}

Result<EncodedGroup> encodeGroup(const TableEncoder& encoder, const std::vector<BatchPtr>& batches,
                                 int threads) {
    EncodedGroup group{rowsOf(batches), std::vector<EncodedPart>(encoder.numParts())};
    RETURN_IF_ERROR(
        parallelFor(group.parts.size(), threads, "encode", [&](std::size_t part) -> Status {
            ASSIGN_OR_RETURN(group.parts[part], encoder.encode(batches, part));
            return okStatus();
        }));
    return group;
}

std::int64_t rowsOf(const std::vector<BatchPtr>& batches) {
    std::int64_t rows = 0;
    for (const BatchPtr& batch : batches) {
        rows += batch->num_rows();
    }
    return rows;
}

Result<std::unique_ptr<TableWriter>> TableWriter::open(const std::string& path,
                                                       const std::shared_ptr<arrow::Schema>& schema,
                                                       const WriterOptions& options) {
    ASSIGN_OR_RETURN(auto encoder, TableEncoder::make(schema, options));
    return std::unique_ptr<TableWriter>(new TableWriter(path, options.threads, std::move(encoder)));
}

Status TableWriter::begin(const std::vector<BatchPtr>& first) {
    if (file_ == nullptr) {
        RETURN_IF_ERROR(encoder_->prepare(first));
        ASSIGN_OR_RETURN(file_, encoder_->open(path_));
    }
    return okStatus();
}

Status TableWriter::write(const arrow::RecordBatch& batch) {
    // A slice shares the columns and makes the pointer that the encoder needs.
    const std::vector<BatchPtr> batches{batch.Slice(0)};
    RETURN_IF_ERROR(begin(batches));
    ASSIGN_OR_RETURN(const EncodedGroup group, encodeGroup(*encoder_, batches, threads_));
    return file_->append(group);
}

Status TableWriter::close() {
    // A table without rows is a file with a schema, too.
    RETURN_IF_ERROR(begin({}));
    return file_->close();
}

}  // namespace millrace::table

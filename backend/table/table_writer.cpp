#include "backend/table/table_writer.h"

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/csv/writer.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/status.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <parquet/arrow/schema.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/value_text.h"
#include "backend/core/text.h"

namespace millrace::table {

namespace {

using arrays::fromArrow;
using FilePtr = std::shared_ptr<arrow::io::FileOutputStream>;

Result<parquet::Compression::type> codecOf(const std::string& name) {
    if (name == "zstd") {
        return parquet::Compression::ZSTD;
    }
    if (name == "lz4") {
        return parquet::Compression::LZ4;
    }
    if (name == "snappy") {
        return parquet::Compression::SNAPPY;
    }
    if (name == "none") {
        return parquet::Compression::UNCOMPRESSED;
    }
    return invalidArgument("codec '", name, "' is not zstd, lz4, snappy or none");
}

Result<std::shared_ptr<parquet::WriterProperties>> propertiesOf(const arrow::Schema& schema,
                                                                const WriterOptions& options) {
    ASSIGN_OR_RETURN(const auto codec, codecOf(options.codec));
    parquet::WriterProperties::Builder builder;
    builder.compression(codec)->enable_dictionary()->enable_statistics();
    builder.enable_write_page_index();
    builder.data_page_version(parquet::ParquetDataPageVersion::V1);
    if (codec == parquet::Compression::ZSTD) {
        builder.compression_level(1);
    }
    std::shared_ptr<parquet::SchemaDescriptor> leaves;
    RETURN_IF_ERROR(fromArrow(
        parquet::arrow::ToParquetSchema(&schema, *parquet::default_writer_properties(), &leaves),
        "parquet schema"));
    for (int leaf = 0; leaf < leaves->num_columns(); ++leaf) {
        const parquet::Type::type type = leaves->Column(leaf)->physical_type();
        const bool isFloat = type == parquet::Type::FLOAT || type == parquet::Type::DOUBLE;
        if (isFloat && !options.hasFloatDictionary) {
            builder.disable_dictionary(leaves->Column(leaf)->path());
        }
    }
    return builder.build();
}

class ParquetWriter final : public TableWriter {
 public:
    static Result<std::unique_ptr<TableWriter>> open(const std::string& path, FilePtr file,
                                                     const std::shared_ptr<arrow::Schema>& schema,
                                                     const WriterOptions& options) {
        auto writer = std::make_unique<ParquetWriter>();
        ASSIGN_OR_RETURN(const auto properties, propertiesOf(*schema, options));
        parquet::ArrowWriterProperties::Builder arrowProperties;
        arrowProperties.store_schema()->set_use_threads(false);
        ASSIGN_OR_RETURN(writer->writer_, fromArrow(parquet::arrow::FileWriter::Open(
                                                        *schema, arrow::default_memory_pool(), file,
                                                        properties, arrowProperties.build()),
                                                    path));
        writer->path_ = path;
        writer->file_ = std::move(file);
        return std::unique_ptr<TableWriter>(std::move(writer));
    }
    Status write(const arrow::RecordBatch& batch) override {
        ASSIGN_OR_RETURN(
            const auto table,
            fromArrow(arrow::Table::FromRecordBatches({batch.Slice(0, batch.num_rows())}), path_));
        return writeStatus(writer_->WriteTable(*table, batch.num_rows()), path_);
    }
    Status close() override {
        RETURN_IF_ERROR(writeStatus(writer_->Close(), path_));
        return writeStatus(file_->Close(), path_);
    }
    Result<std::int64_t> bytesWritten() const override { return fromArrow(file_->Tell(), path_); }

 private:
    std::string path_;
    FilePtr file_;
    std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

// Arrow IPC and CSV have the same writer in Arrow.
class BatchWriter final : public TableWriter {
 public:
    BatchWriter(std::string path, FilePtr file,
                std::shared_ptr<arrow::ipc::RecordBatchWriter> writer, bool isText)
        : path_(std::move(path)),
          file_(std::move(file)),
          writer_(std::move(writer)),
          isText_(isText) {}
    Status write(const arrow::RecordBatch& batch) override;
    Status close() override {
        RETURN_IF_ERROR(writeStatus(writer_->Close(), path_));
        return writeStatus(file_->Close(), path_);
    }
    Result<std::int64_t> bytesWritten() const override { return fromArrow(file_->Tell(), path_); }

 private:
    const std::string path_;
    FilePtr file_;
    std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
    const bool isText_;
};

bool isListType(const arrow::DataType& type) {
    return type.id() == arrow::Type::LIST || type.id() == arrow::Type::FIXED_SIZE_LIST;
}

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

Status BatchWriter::write(const arrow::RecordBatch& batch) {
    if (!isText_) {
        return writeStatus(writer_->WriteRecordBatch(batch), path_);
    }
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
    return writeStatus(writer_->WriteRecordBatch(*texts), path_);
}

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
    return invalidArgument("'", name, "' is no format of tables; parquet, arrow and csv are");
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

Result<std::unique_ptr<TableWriter>> TableWriter::open(const std::string& path,
                                                       const std::shared_ptr<arrow::Schema>& schema,
                                                       const WriterOptions& options) {
    try {
        ASSIGN_OR_RETURN(FilePtr file, fromArrow(arrow::io::FileOutputStream::Open(path), path));
        if (options.format == TableFormat::kParquet) {
            return ParquetWriter::open(path, std::move(file), schema, options);
        }
        std::shared_ptr<arrow::ipc::RecordBatchWriter> writer;
        const bool isText = options.format == TableFormat::kCsv;
        if (isText) {
            auto csv = arrow::csv::WriteOptions::Defaults();
            csv.quoting_style = arrow::csv::QuotingStyle::Needed;
            ASSIGN_OR_RETURN(
                writer, fromArrow(arrow::csv::MakeCSVWriter(file, textSchema(*schema), csv), path));
        } else {
            ASSIGN_OR_RETURN(writer, fromArrow(arrow::ipc::MakeFileWriter(file, schema), path));
        }
        return std::unique_ptr<TableWriter>(
            std::make_unique<BatchWriter>(path, std::move(file), std::move(writer), isText));
    } catch (const std::exception& e) {
        return internalError(path, ": ", e.what());
    }
}

}  // namespace millrace::table

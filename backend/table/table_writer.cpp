#include "backend/table/table_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <set>
#include <utility>
#include <vector>

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
#include <arrow/type_traits.h>
#include <arrow/util/thread_pool.h>
#include <parquet/arrow/schema.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/value_text.h"
#include "backend/core/parallel.h"
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
                                                                const WriterOptions& options,
                                                                const std::set<int>& plain) {
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
        if (plain.contains(leaf) || (isFloat && !options.hasFloatDictionary)) {
            builder.disable_dictionary(leaves->Column(leaf)->path());
        }
    }
    return builder.build();
}

/// Of fixed width or text: 64 bits that differ where the values differ.
std::uint64_t markOf(const arrow::Array& values, int bytes, std::int64_t row) {
    if (bytes == 0) {
        const auto text = static_cast<const arrow::BinaryArray&>(values).GetView(row);
        return std::hash<std::string_view>{}(text);
    }
    std::uint64_t value = 0;
    std::memcpy(&value, values.data()->buffers[1]->data() + (values.offset() + row) * bytes,
                static_cast<std::size_t>(bytes));
    return value;
}

/// More than half of the values are different ones: a dictionary would be another copy of them.
bool isVaried(const arrow::Array& values) {
    const arrow::Type::type id = values.type_id();
    const bool isText = id == arrow::Type::STRING || id == arrow::Type::BINARY;
    const bool isFixed = arrow::is_integer(id) || arrow::is_temporal(id);
    if (!isText && !isFixed) {
        return false;
    }
    const int bytes =
        isText ? 0 : static_cast<const arrow::FixedWidthType&>(*values.type()).bit_width() / 8;
    // Open addressing; 0 is told apart, as it marks what is free.
    const std::size_t slots = std::bit_ceil(static_cast<std::size_t>(values.length()) * 2 + 2);
    std::vector<std::uint64_t> seen(slots, 0);
    std::int64_t different = 0;
    bool hasZero = false;
    for (std::int64_t row = 0; row < values.length(); ++row) {
        const std::uint64_t mark = values.IsNull(row) ? 0 : markOf(values, bytes, row);
        different += mark == 0 && !std::exchange(hasZero, true) ? 1 : 0;
        std::size_t slot = (mark * 0x9e3779b97f4a7c15U >> 20) & (slots - 1);
        while (seen[slot] != mark && seen[slot] != 0) {
            slot = (slot + 1) & (slots - 1);
        }
        different += std::exchange(seen[slot], mark) != mark ? 1 : 0;
    }
    return different > values.length() / 2;
}

/// Columns of a table's first row group that are varied.
std::set<int> variedColumns(const arrow::RecordBatch& batch) {
    std::set<int> varied;
    for (int c = 0; c < batch.num_columns(); ++c) {
        if (isVaried(*batch.column(c))) {
            varied.insert(c);
        }
    }
    return varied;
}

class ParquetWriter final : public TableWriter {
 public:
    ParquetWriter(std::string path, FilePtr file, std::shared_ptr<arrow::Schema> schema,
                  WriterOptions options)
        : path_(std::move(path)),
          file_(std::move(file)),
          schema_(std::move(schema)),
          options_(std::move(options)) {}
    Status write(const arrow::RecordBatch& batch) override {
        if (writer_ == nullptr) {
            RETURN_IF_ERROR(start(variedColumns(batch)));
        }
        // What was written before goes to the file now, as this begins a row group.
        RETURN_IF_ERROR(writeStatus(writer_->NewBufferedRowGroup(), path_));
        return writeStatus(writer_->WriteRecordBatch(batch), path_);
    }
    Status close() override {
        if (writer_ == nullptr) {
            RETURN_IF_ERROR(start({}));
        }
        RETURN_IF_ERROR(writeStatus(writer_->Close(), path_));
        return writeStatus(file_->Close(), path_);
    }
    Result<std::int64_t> bytesWritten() const override { return fromArrow(file_->Tell(), path_); }

 private:
    /// `plain`: columns without a dictionary.
    Status start(const std::set<int>& plain) {
        ASSIGN_OR_RETURN(const auto properties, propertiesOf(*schema_, options_, plain));
        parquet::ArrowWriterProperties::Builder arrowProperties;
        arrowProperties.store_schema()->set_use_threads(options_.threads > 1);
        if (options_.threads > 1) {
            ASSIGN_OR_RETURN(encoders_,
                             fromArrow(arrow::internal::ThreadPool::Make(options_.threads), path_));
            arrowProperties.set_executor(encoders_.get());
        }
        ASSIGN_OR_RETURN(writer_, fromArrow(parquet::arrow::FileWriter::Open(
                                                *schema_, arrow::default_memory_pool(), file_,
                                                properties, arrowProperties.build()),
                                            path_));
        return okStatus();
    }

    const std::string path_;
    const FilePtr file_;
    const std::shared_ptr<arrow::Schema> schema_;
    const WriterOptions options_;
    std::shared_ptr<arrow::internal::ThreadPool> encoders_;
    std::unique_ptr<parquet::arrow::FileWriter> writer_;  ///< from the first row group on
};

class ArrowWriter final : public TableWriter {
 public:
    ArrowWriter(std::string path, FilePtr file,
                std::shared_ptr<arrow::ipc::RecordBatchWriter> writer)
        : path_(std::move(path)), file_(std::move(file)), writer_(std::move(writer)) {}
    Status write(const arrow::RecordBatch& batch) override {
        return writeStatus(writer_->WriteRecordBatch(batch), path_);
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

// Rows become text in pieces, by several threads; the pieces are written in their order.
class CsvWriter final : public TableWriter {
 public:
    CsvWriter(std::string path, FilePtr file, int threads)
        : path_(std::move(path)), file_(std::move(file)), threads_(std::max(threads, 1)) {}
    Status begin(const std::shared_ptr<arrow::Schema>& schema) {
        ASSIGN_OR_RETURN(const auto none, fromArrow(arrow::RecordBatch::MakeEmpty(schema), path_));
        ASSIGN_OR_RETURN(const auto header, textOf(*none, true));
        return writeStatus(file_->Write(header), path_);
    }
    Status write(const arrow::RecordBatch& batch) override {
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
            RETURN_IF_ERROR(codecOf(options.codec).status());
            return std::unique_ptr<TableWriter>(
                std::make_unique<ParquetWriter>(path, std::move(file), schema, options));
        }
        if (options.format == TableFormat::kCsv) {
            auto writer = std::make_unique<CsvWriter>(path, std::move(file), options.threads);
            RETURN_IF_ERROR(writer->begin(schema));
            return std::unique_ptr<TableWriter>(std::move(writer));
        }
        ASSIGN_OR_RETURN(auto writer, fromArrow(arrow::ipc::MakeFileWriter(file, schema), path));
        return std::unique_ptr<TableWriter>(
            std::make_unique<ArrowWriter>(path, std::move(file), std::move(writer)));
    } catch (const std::exception& e) {
        return internalError(path, ": ", e.what());
    }
}

}  // namespace millrace::table

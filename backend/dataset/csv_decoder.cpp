#include <algorithm>
#include <limits>

#include <arrow/array/array_base.h>
#include <arrow/array/array_binary.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/csv/options.h>
#include <arrow/csv/reader.h>
#include <arrow/io/interfaces.h>
#include <arrow/io/memory.h>
#include <arrow/memory_pool.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "backend/dataset/arrow_bridge.h"
#include "backend/dataset/decoders.h"

namespace millrace::dataset {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

class CsvDecoder : public SplitReader::FileDecoder {
 public:
    explicit CsvDecoder(const DecoderInput& input) : input_(input) {}

    Result<std::vector<ArrayPtr>> readColumns(const SplitRange& split,
                                              const std::vector<std::string>& columns) override {
        const auto& chunks = input_.facts->chunks;
        if (split.chunk < 0 || split.chunk >= static_cast<std::int64_t>(chunks.size()) ||
            chunks[static_cast<std::size_t>(split.chunk)].rows != split.rows) {
            return failedPrecondition(input_.path, ": the plan's split ", split.chunk,
                                      " does not fit the file");
        }
        std::vector<std::string> present;
        for (const std::string& column : columns) {
            RETURN_IF_ERROR(typeOfColumn(input_, column).status());
            if (input_.facts->schema.find(column) != nullptr) {
                present.push_back(column);
            }
        }
        std::shared_ptr<arrow::Table> table;
        if (!present.empty()) {
            RETURN_IF_ERROR(loadText(split.chunk));
            ASSIGN_OR_RETURN(table, parse(split, present));
        }
        std::vector<ArrayPtr> arrays;
        for (const std::string& column : columns) {
            ASSIGN_OR_RETURN(const spec::DataType type, typeOfColumn(input_, column));
            const std::shared_ptr<arrow::ChunkedArray> values =
                table == nullptr ? nullptr : table->GetColumnByName(column);
            ArrayPtr array;
            if (values == nullptr) {
                ASSIGN_OR_RETURN(array, nullArray(type, split.rows, input_.pool));
            } else {
                ASSIGN_OR_RETURN(
                    array, pinArray(*values, type, strCat(input_.path, ": ", column), input_.pool));
            }
            arrays.push_back(std::move(array));
        }
        return arrays;
    }

    std::int64_t bytesRead() const override { return bytesRead_; }

 private:
    /// The stretch's bytes; kept, as a split's columns are often asked for in two calls.
    Status loadText(std::int64_t index) {
        if (textOf_ == index) {
            return okStatus();
        }
        const ChunkFacts& chunk = input_.facts->chunks[static_cast<std::size_t>(index)];
        if (chunk.bytes > std::numeric_limits<std::int32_t>::max() / 2) {
            return resourceExhausted(input_.path, ": ", chunk.rows, " rows from line ",
                                     chunk.firstLine,
                                     " are over 1 GB of text; lower dataset.csv_split_rows");
        }
        textOf_ = -1;
        ASSIGN_OR_RETURN(auto buffer,
                         fromArrow(arrow::AllocateBuffer(chunk.bytes, input_.pool), input_.path));
        RETURN_IF_ERROR(input_.file.readAt(chunk.offset, chunk.bytes, buffer->mutable_data()));
        bytesRead_ += chunk.bytes;
        text_ = std::move(buffer);
        textOf_ = index;
        return okStatus();
    }

    arrow::Result<std::shared_ptr<arrow::Table>> parseAs(
        const std::vector<std::string>& columns,
        const std::unordered_map<std::string, std::shared_ptr<arrow::DataType>>& types) const {
        arrow::csv::ReadOptions reading;
        reading.use_threads = false;
        reading.block_size =
            static_cast<std::int32_t>(std::max<std::int64_t>(text_->size() + 1, 64));
        reading.column_names = input_.facts->schema.names();
        arrow::csv::ParseOptions parsing;
        parsing.delimiter = input_.options->csvDelimiter;
        parsing.newlines_in_values = true;
        arrow::csv::ConvertOptions converting;
        converting.include_columns = columns;
        converting.column_types = types;
        converting.null_values = {""};
        converting.true_values = {"true", "True", "TRUE", "1"};
        converting.false_values = {"false", "False", "FALSE", "0"};
        converting.strings_can_be_null = true;
        converting.quoted_strings_can_be_null = false;
        ARROW_ASSIGN_OR_RAISE(auto reader, arrow::csv::TableReader::Make(
                                               arrow::io::IOContext(input_.pool),
                                               std::make_shared<arrow::io::BufferReader>(text_),
                                               reading, parsing, converting));
        return reader->Read();
    }

    Result<std::shared_ptr<arrow::Table>> parse(const SplitRange& split,
                                                const std::vector<std::string>& columns) const {
        std::unordered_map<std::string, std::shared_ptr<arrow::DataType>> types;
        for (const std::string& column : columns) {
            types[column] = toArrowType(input_.schema->find(column)->type);
        }
        arrow::Result<std::shared_ptr<arrow::Table>> table = parseAs(columns, types);
        if (!table.ok()) {
            return explain(split, columns, table.status());
        }
        if ((*table)->num_rows() != split.rows) {
            return dataLoss(input_.path, ": ", (*table)->num_rows(), " rows from line ",
                            input_.facts->chunks[static_cast<std::size_t>(split.chunk)].firstLine,
                            " instead of ", split.rows);
        }
        return *std::move(table);
    }

    /// Names the first row whose text is not of its column's type.
    Status explain(const SplitRange& split, const std::vector<std::string>& columns,
                   const arrow::Status& error) const {
        for (const std::string& column : columns) {
            const std::shared_ptr<arrow::DataType> type =
                toArrowType(input_.schema->find(column)->type);
            if (parseAs({column}, {{column, type}}).ok()) {
                continue;
            }
            const auto texts = parseAs({column}, {{column, arrow::utf8()}});
            if (!texts.ok()) {
                return dataLoss(input_.path, ": column '", column, "': ", texts.status().message());
            }
            const Result<ArrayPtr> values =
                pinArray(*(*texts)->column(0), {spec::TypeKind::kString}, column, input_.pool);
            RETURN_IF_ERROR(values.status());
            for (std::int64_t row = 0; row < (*values)->length(); ++row) {
                const arrow::ChunkedArray one((*values)->Slice(row, 1));
                if ((*values)->IsValid(row) &&
                    !pinArray(one, input_.schema->find(column)->type, column, input_.pool).ok()) {
                    return invalidArgument(
                        input_.path, ": row ", split.firstRow + row, ", column '", column, "': '",
                        static_cast<const arrow::StringArray&>(**values).GetString(row),
                        "' is not of type ", input_.schema->find(column)->type.name());
                }
            }
        }
        return fromArrow(error, input_.path);
    }

    const DecoderInput input_;
    std::shared_ptr<arrow::Buffer> text_;
    std::int64_t textOf_ = -1;
    std::int64_t bytesRead_ = 0;
};

}  // namespace

Result<DecoderPtr> openCsv(const DecoderInput& input) {
    return DecoderPtr(std::make_unique<CsvDecoder>(input));
}

}  // namespace millrace::dataset

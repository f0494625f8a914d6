#include <algorithm>
#include <memory>
#include <utility>

#include <arrow/array/array_base.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/csv/csv_input.h"
#include "backend/csv/csv_records.h"
#include "backend/csv/csv_types.h"
#include "backend/csv/csv_values.h"
#include "backend/dataset/decoders.h"

namespace millrace::dataset {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using K = expr::TypeKind;

/// The values of one column as they come. False of append(): the text is no value of the type.
class Sink {
 public:
    virtual ~Sink() = default;
    virtual arrow::Status reserve(std::int64_t rows) = 0;
    virtual arrow::Result<bool> append(std::string_view text) = 0;
    virtual arrow::Status appendNull() = 0;
    virtual arrow::Result<ArrayPtr> finish() = 0;
};

/// `Parse`: bool(std::string_view, value&).
template <class Builder, class Value, class Parse>
class SinkOf final : public Sink {
 public:
    SinkOf(const std::shared_ptr<arrow::DataType>& type, arrow::MemoryPool* pool, Parse parse)
        : builder_(type, pool), parse_(std::move(parse)) {}
    arrow::Status reserve(std::int64_t rows) override { return builder_.Reserve(rows); }
    arrow::Result<bool> append(std::string_view text) override {
        Value value{};
        if (!parse_(text, value)) {
            return false;
        }
        ARROW_RETURN_NOT_OK(builder_.Append(value));
        return true;
    }
    arrow::Status appendNull() override { return builder_.AppendNull(); }
    arrow::Result<ArrayPtr> finish() override { return builder_.Finish(); }

 private:
    Builder builder_;
    Parse parse_;
};

template <class Builder, class Value, class Parse>
std::unique_ptr<Sink> sinkOf(const expr::DataType& type, arrow::MemoryPool* pool, Parse parse) {
    return std::make_unique<SinkOf<Builder, Value, Parse>>(arrays::toArrowType(type), pool,
                                                           std::move(parse));
}

template <class Builder>
std::unique_ptr<Sink> wholeSink(const expr::DataType& type, arrow::MemoryPool* pool) {
    using Value = typename Builder::value_type;
    return sinkOf<Builder, Value>(type, pool, [](std::string_view text, Value& value) {
        return csv::csvInteger(text, value);
    });
}

/// `number`: bool(std::string_view, double&).
template <class Number>
std::unique_ptr<Sink> numberSink(const expr::DataType& type, arrow::MemoryPool* pool,
                                 Number number) {
    const auto single = [number](std::string_view text, float& value) {
        double wide = 0;
        const bool isNumber = number(text, wide);
        value = static_cast<float>(wide);
        return isNumber;
    };
    return type.kind == K::kFloat ? sinkOf<arrow::FloatBuilder, float>(type, pool, single)
                                  : sinkOf<arrow::DoubleBuilder, double>(type, pool, number);
}

/// Null for a type that no CSV column has.
std::unique_ptr<Sink> makeSink(const expr::DataType& type, bool hasDecimalComma,
                               arrow::MemoryPool* pool) {
    switch (type.kind) {
        case K::kBool:
            return sinkOf<arrow::BooleanBuilder, bool>(type, pool, csv::csvBool);
        case K::kInt8:
            return wholeSink<arrow::Int8Builder>(type, pool);
        case K::kInt16:
            return wholeSink<arrow::Int16Builder>(type, pool);
        case K::kInt32:
            return wholeSink<arrow::Int32Builder>(type, pool);
        case K::kInt64:
            return wholeSink<arrow::Int64Builder>(type, pool);
        case K::kUint8:
            return wholeSink<arrow::UInt8Builder>(type, pool);
        case K::kUint16:
            return wholeSink<arrow::UInt16Builder>(type, pool);
        case K::kUint32:
            return wholeSink<arrow::UInt32Builder>(type, pool);
        case K::kUint64:
            return wholeSink<arrow::UInt64Builder>(type, pool);
        case K::kFloat:
        case K::kDouble:
            return hasDecimalComma ? numberSink(type, pool, csv::csvCommaNumber)
                                   : numberSink(type, pool, csv::csvNumber);
        case K::kString:
            return sinkOf<arrow::StringBuilder, std::string_view>(
                type, pool, [](std::string_view text, std::string_view& value) {
                    value = text;
                    return true;
                });
        case K::kDate:
            return sinkOf<arrow::Date32Builder, std::int32_t>(type, pool, csv::csvDate);
        case K::kTimestamp:
            return sinkOf<arrow::TimestampBuilder, std::int64_t>(type, pool, csv::csvTime);
        default:
            return nullptr;
    }
}

class CsvDecoder : public FileDecoder {
 public:
    CsvDecoder(const DecoderInput& input, csv::CsvInput text)
        : input_(input), text_(std::move(text)), nulls_(*input.options) {
        for (const expr::Field& field : input_.facts->schema.fields) {
            kinds_.push_back(csv::csvKindGiven(*input_.options, field.name));
        }
    }

    Result<std::vector<ArrayPtr>> readColumns(const SplitRange& split,
                                              const std::vector<std::string>& columns) override {
        ASSIGN_OR_RETURN(const std::int64_t skip, firstRowOf(split));
        std::vector<Column> wanted;
        for (const std::string& column : columns) {
            ASSIGN_OR_RETURN(Column one, columnOf(column, split.rows));
            wanted.push_back(std::move(one));
        }
        RETURN_IF_ERROR(loadText(split.chunk));
        RETURN_IF_ERROR(parse(split, skip, wanted));
        std::vector<ArrayPtr> arrays;
        for (Column& column : wanted) {
            ArrayPtr array;
            if (column.sink == nullptr) {
                ASSIGN_OR_RETURN(array, arrays::nullArray(column.type, split.rows, input_.pool));
            } else {
                ASSIGN_OR_RETURN(array, arrays::fromArrow(column.sink->finish(), input_.path));
            }
            arrays.push_back(std::move(array));
        }
        return arrays;
    }

    std::int64_t bytesRead() const override { return bytesRead_; }

 private:
    struct Column {
        std::string name;
        expr::DataType type;
        std::size_t place = 0;       ///< in a record
        std::unique_ptr<Sink> sink;  ///< null: not in this file
    };

    Result<Column> columnOf(const std::string& name, std::int64_t rows) const {
        Column column{name, {}, 0, nullptr};
        ASSIGN_OR_RETURN(column.type, typeOfColumn(input_, name));
        const auto& fields = input_.facts->schema.fields;
        for (; column.place < fields.size() && fields[column.place].name != name; ++column.place) {
        }
        if (column.place == fields.size()) {
            return column;
        }
        column.sink = makeSink(column.type, input_.options->csvHasDecimalComma, input_.pool);
        if (column.sink == nullptr) {
            return invalidArgument(input_.path, ": column '", name, "': a CSV column cannot be ",
                                   column.type.name());
        }
        RETURN_IF_ERROR(arrays::fromArrow(column.sink->reserve(rows), input_.path));
        return column;
    }

    /// The split's first row in its stretch.
    Result<std::int64_t> firstRowOf(const SplitRange& split) const {
        const auto& chunks = input_.facts->chunks;
        const auto count = static_cast<std::int64_t>(chunks.size());
        std::int64_t skip = split.firstRow;
        for (std::int64_t c = 0; c < std::min(split.chunk, count); ++c) {
            skip -= chunks[static_cast<std::size_t>(c)].rows;
        }
        if (split.chunk < 0 || split.chunk >= count || skip < 0 || split.rows < 0 ||
            skip + split.rows > chunks[static_cast<std::size_t>(split.chunk)].rows) {
            return failedPrecondition(input_.path, ": the plan's split ", split.chunk,
                                      " does not fit the file");
        }
        return skip;
    }

    /// The stretch's bytes; kept, as a split's columns are often asked for in two calls.
    Status loadText(std::int64_t index) {
        if (textOf_ == index) {
            return okStatus();
        }
        const files::ChunkFacts& chunk = input_.facts->chunks[static_cast<std::size_t>(index)];
        textOf_ = -1;
        ASSIGN_OR_RETURN(
            auto buffer,
            arrays::fromArrow(arrow::AllocateBuffer(chunk.bytes, input_.pool), input_.path));
        ASSIGN_OR_RETURN(const std::int64_t read,
                         text_.readSome(chunk.offset, chunk.bytes, buffer->mutable_data()));
        if (read != chunk.bytes) {
            return dataLoss(input_.path, ": truncated while it was read");
        }
        bytesRead_ += chunk.bytes;
        bytes_ = std::move(buffer);
        textOf_ = index;
        return okStatus();
    }

    Status parse(const SplitRange& split, std::int64_t skip, std::vector<Column>& columns) {
        const files::ChunkFacts& chunk =
            input_.facts->chunks[static_cast<std::size_t>(split.chunk)];
        const std::string_view text(reinterpret_cast<const char*>(bytes_->data()),
                                    static_cast<std::size_t>(bytes_->size()));
        csv::CsvRecords records(*input_.options);
        const bool leavesOut = input_.options->csvDropsBadRows && input_.facts->badRows > 0;
        std::int64_t line = chunk.firstLine;
        std::int64_t rows = 0;
        for (std::size_t at = 0; at < text.size();) {
            const csv::CsvRecords::Found found = records.cut(text, at, true);
            if (found == csv::CsvRecords::Found::kMore) {
                break;
            }
            const std::int64_t recordLine = std::exchange(line, line + records.lines());
            if (found == csv::CsvRecords::Found::kNothing || (leavesOut && isBad(text, records))) {
                continue;
            }
            if (rows >= skip && rows < skip + split.rows) {
                RETURN_IF_ERROR(addRow(text, records, recordLine, columns));
            }
            ++rows;
        }
        return rows == chunk.rows
                   ? okStatus()
                   : failedPrecondition(input_.path, ": ", rows, " rows instead of ", chunk.rows,
                                        ": the file changed since the run was planned");
    }

    Status addRow(std::string_view text, const csv::CsvRecords& records, std::int64_t line,
                  std::vector<Column>& columns) {
        if (records.fields().size() != input_.facts->schema.fields.size()) {
            return failedPrecondition(input_.path, ":", line, ": ", records.fields().size(),
                                      " fields: the file changed since the run was planned");
        }
        for (Column& column : columns) {
            if (column.sink == nullptr) {
                continue;
            }
            const csv::CsvField& field = records.fields()[column.place];
            const std::string_view value = records.value(text, field, memory_);
            const bool isText = column.type.kind == K::kString;
            if (field.begin == field.end ||
                (isText ? nulls_.isNullText(value) : nulls_.isNull(value))) {
                RETURN_IF_ERROR(arrays::fromArrow(column.sink->appendNull(), input_.path));
                continue;
            }
            ASSIGN_OR_RETURN(const bool isValue,
                             arrays::fromArrow(column.sink->append(value), input_.path));
            if (!isValue) {
                return invalidArgument(input_.path, ":", line, ": ",
                                       csv::csvMisfit(column.name, value, column.type));
            }
        }
        return okStatus();
    }

    /// As the first pass tells it.
    bool isBad(std::string_view text, const csv::CsvRecords& records) {
        if (records.fields().size() != kinds_.size()) {
            return true;
        }
        for (std::size_t i = 0; i < kinds_.size(); ++i) {
            const std::string_view value = kinds_[i] != K::kString
                                               ? records.value(text, records.fields()[i], memory_)
                                               : std::string_view();
            if (!nulls_.isNull(value) &&
                !csv::csvFits(kinds_[i], value, input_.options->csvHasDecimalComma)) {
                return true;
            }
        }
        return false;
    }

    const DecoderInput input_;
    csv::CsvInput text_;
    const csv::CsvNulls nulls_;
    std::vector<K> kinds_;  ///< by column of the file: the type that is given, or kString
    std::string memory_;
    std::shared_ptr<arrow::Buffer> bytes_;
    std::int64_t textOf_ = -1;
    std::int64_t bytesRead_ = 0;
};

}  // namespace

Result<DecoderPtr> openCsv(const DecoderInput& input) {
    ASSIGN_OR_RETURN(csv::CsvInput text, csv::CsvInput::open(input.path, input.file, input.pool));
    return DecoderPtr(std::make_unique<CsvDecoder>(input, std::move(text)));
}

}  // namespace millrace::dataset

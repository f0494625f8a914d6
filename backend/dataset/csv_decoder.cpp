#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include <arrow/array/array_base.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/csv/csv_input.h"
#include "backend/csv/csv_records.h"
#include "backend/csv/csv_target.h"
#include "backend/csv/csv_types.h"
#include "backend/csv/csv_values.h"
#include "backend/dataset/decoders.h"

namespace millrace::dataset {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using K = expr::TypeKind;

constexpr std::size_t kBlockBytes = 64 << 10;  // of text that is split and parsed at once
constexpr std::size_t kTextBytesMost = std::size_t{1} << 31;

class CsvDecoder : public FileDecoder {
 public:
    CsvDecoder(const DecoderInput& input, csv::CsvInput text)
        : input_(input), text_(std::move(text)), nulls_(*input.options), records_(*input.options) {
        for (const expr::Field& field : input_.facts->schema.fields) {
            kinds_.push_back(csv::csvKindGiven(*input_.options, field.name));
        }
    }

    Result<std::vector<ArrayPtr>> readColumns(const SplitRange& split,
                                              const std::vector<std::string>& columns) override {
        ASSIGN_OR_RETURN(const std::int64_t skip, firstRowOf(split));
        ASSIGN_OR_RETURN(std::vector<Column> wanted, columnsOf(columns, split));
        RETURN_IF_ERROR(loadText(split.chunk));
        if (cut_.fields != nullptr) {
            ASSIGN_OR_RETURN(const bool isWhole, parseCut(split, skip, wanted));
            if (!isWhole) {  // parsing from the text again reports the error and its line
                cut_ = {};
                ASSIGN_OR_RETURN(wanted, columnsOf(columns, split));
            }
        }
        if (cut_.fields == nullptr) {
            RETURN_IF_ERROR(parse(split, skip, wanted));
        }
        std::vector<ArrayPtr> arrays;
        for (Column& column : wanted) {
            ArrayPtr array;
            if (column.target == nullptr) {
                ASSIGN_OR_RETURN(array, arrays::nullArray(column.type, split.rows, input_.pool));
            } else {
                ASSIGN_OR_RETURN(array, column.target->finish());
            }
            arrays.push_back(std::move(array));
        }
        return arrays;
    }

    /// Null values are 0 already, so floats need no extra step.
    Result<std::vector<ArrayPtr>> readRows(const SplitRange& split,
                                           const std::vector<std::string>& columns,
                                           const pages::RowSelection& selection,
                                           arrow::MemoryPool* pool) override {
        ASSIGN_OR_RETURN(auto arrays, readColumns(split, columns));
        for (ArrayPtr& array : arrays) {
            ASSIGN_OR_RETURN(array, pages::selectRows(std::move(array), selection, pool));
        }
        return arrays;
    }

    std::int64_t bytesRead() const override { return bytesRead_; }

 private:
    struct Column {
        std::string name;
        expr::DataType type;
        std::size_t place = 0;                   ///< field index in a record
        std::unique_ptr<csv::CsvTarget> target;  ///< null: not in this file
    };
    /// Rows of a block of text; `fields` has the same number of fields per row as the file has
    /// columns.
    struct Block {
        csv::CsvText text;
        std::int64_t line = 0;  ///< its first line
        const csv::CsvField* fields = nullptr;
        std::size_t rows = 0;
    };

    /// A whole stretch, split into fields: blocks of records that all have the file's width.
    struct Cut {
        std::shared_ptr<arrow::Buffer> fields;  ///< null: not kept
        std::vector<Block> blocks;
        std::int64_t rows = 0;
    };

    Result<std::vector<Column>> columnsOf(const std::vector<std::string>& names,
                                          const SplitRange& split) const {
        std::vector<Column> columns;
        for (const std::string& name : names) {
            ASSIGN_OR_RETURN(Column one, columnOf(name, split));
            columns.push_back(std::move(one));
        }
        return columns;
    }

    Result<Column> columnOf(const std::string& name, const SplitRange& split) const {
        Column column{name, {}, 0, nullptr};
        ASSIGN_OR_RETURN(column.type, typeOfColumn(input_, name));
        const auto& fields = input_.facts->schema.fields;
        for (; column.place < fields.size() && fields[column.place].name != name; ++column.place) {
        }
        if (column.place == fields.size()) {
            return column;
        }
        csv::CsvTarget::Options options;
        options.nulls = &nulls_;
        options.hasDecimalComma = input_.options->csvHasDecimalComma;
        options.rows = split.rows;
        options.textBytes = textBytes(split, column.place);
        options.pool = input_.pool;
        options.path = input_.path;
        ASSIGN_OR_RETURN(column.target, csv::CsvTarget::make(column.type, options));
        if (column.target == nullptr) {
            return invalidArgument(input_.path, ": column '", name, "': a CSV column cannot be ",
                                   column.type.name());
        }
        return column;
    }

    /// Approximate bytes of a column's fields in the split. The first pass counted them for the
    /// whole stretch, including a delimiter per field.
    std::int64_t textBytes(const SplitRange& split, std::size_t column) const {
        const files::ColumnChunkMetadata& chunk =
            input_.facts->chunks[static_cast<std::size_t>(split.chunk)];
        const std::int64_t all = std::max<std::int64_t>(0, chunk.decodedBytes[column] - chunk.rows);
        const double share = static_cast<double>(split.rows) /
                             static_cast<double>(std::max<std::int64_t>(1, chunk.rows));
        return std::min(chunk.bytes, static_cast<std::int64_t>(static_cast<double>(all) * share));
    }

    /// Index of the split's first row in its stretch.
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

    /// Loads the stretch's bytes and keeps them: a split's columns are often requested in several
    /// calls.
    Status loadText(std::int64_t index) {
        if (textOf_ == index) {
            return okStatus();
        }
        const files::ColumnChunkMetadata& chunk =
            input_.facts->chunks[static_cast<std::size_t>(index)];
        textOf_ = -1;
        bytes_.reset();
        cut_ = {};
        ASSIGN_OR_RETURN(
            auto buffer,
            arrays::fromArrow(
                arrow::AllocateBuffer(chunk.bytes + std::int64_t{csv::kPaddingBytes}, input_.pool),
                input_.path));
        std::memset(buffer->mutable_data() + chunk.bytes, 0, csv::kPaddingBytes);
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
        const files::ColumnChunkMetadata& chunk =
            input_.facts->chunks[static_cast<std::size_t>(split.chunk)];
        std::string_view rest(reinterpret_cast<const char*>(bytes_->data()),
                              static_cast<std::size_t>(chunk.bytes));
        std::int64_t line = chunk.firstLine;
        std::int64_t rows = 0;
        Cut cut = cutOf(chunk);
        while (!rest.empty()) {
            // Positions have 32 bits; no record is that long.
            const std::string_view text = rest.substr(0, kTextBytesMost);
            records_.cut(text, text.size() == rest.size(), kBlockBytes);
            if (records_.bytes() == 0) {
                break;
            }
            const Block block = blockOf(text, line);
            const auto here = static_cast<std::int64_t>(block.rows);
            const std::int64_t from = std::clamp<std::int64_t>(skip - rows, 0, here);
            const std::int64_t to = std::clamp<std::int64_t>(skip + split.rows - rows, 0, here);
            RETURN_IF_ERROR(addRows(block, static_cast<std::size_t>(from),
                                    static_cast<std::size_t>(to), columns));
            keep(block, cut);
            rows += here;
            line += records_.lines();
            rest.remove_prefix(records_.bytes());
        }
        if (rows != chunk.rows) {
            return failedPrecondition(input_.path, ": ", rows, " rows instead of ", chunk.rows,
                                      ": the file changed since the run was planned");
        }
        cut_ = std::move(cut);
        return okStatus();
    }

    /// Allocates room for a stretch's fields; null if memory is short.
    Cut cutOf(const files::ColumnChunkMetadata& chunk) const {
        Cut cut;
        auto room = arrow::AllocateBuffer(
            chunk.rows * static_cast<std::int64_t>(kinds_.size() * sizeof(csv::CsvField)),
            input_.pool);
        cut.fields = room.ok() ? std::move(*room) : nullptr;
        return cut;
    }

    /// Keeps a block's fields; if any are missing, drops the whole stretch.
    void keep(Block block, Cut& cut) const {
        const std::size_t bytes = block.rows * kinds_.size() * sizeof(csv::CsvField);
        const std::size_t at =
            static_cast<std::size_t>(cut.rows) * kinds_.size() * sizeof(csv::CsvField);
        const auto isWhole = [this](const csv::CsvRecord& one) {
            return one.fields == kinds_.size();
        };
        if (cut.fields == nullptr || at + bytes > static_cast<std::size_t>(cut.fields->size()) ||
            (isPicked_ && !std::ranges::all_of(picked_, [&](std::size_t record) {
                 return isWhole(records_.records()[record]);
             }))) {
            cut.fields = nullptr;
            return;
        }
        if (bytes > 0) {
            std::memcpy(cut.fields->mutable_data() + at, block.fields, bytes);
        }
        block.fields = reinterpret_cast<const csv::CsvField*>(cut.fields->data() + at);
        cut.rows += static_cast<std::int64_t>(block.rows);
        cut.blocks.push_back(block);
    }

    /// Parses from the kept fields; returns false if a value does not fit its column's type.
    Result<bool> parseCut(const SplitRange& split, std::int64_t skip,
                          std::vector<Column>& columns) {
        std::int64_t rows = 0;
        for (const Block& block : cut_.blocks) {
            const auto here = static_cast<std::int64_t>(block.rows);
            const auto from =
                static_cast<std::size_t>(std::clamp<std::int64_t>(skip - rows, 0, here));
            const auto to = static_cast<std::size_t>(
                std::clamp<std::int64_t>(skip + split.rows - rows, 0, here));
            std::size_t end = to;
            ASSIGN_OR_RETURN(const Column* const wrong, addValues(block, from, end, columns));
            if (wrong != nullptr) {
                return false;
            }
            rows += here;
        }
        return true;
    }

    /// The block that was split last. If records are dropped or have another number of fields, the
    /// fields of the kept records are copied together.
    Block blockOf(std::string_view text, std::int64_t line) {
        const std::size_t width = kinds_.size();
        const bool leavesOut = input_.options->csvDropsBadRows && input_.facts->badRows > 0;
        const auto isWhole = [width](const csv::CsvRecord& one) { return one.fields == width; };
        const csv::CsvText values(text.data(), records_.quote());
        picked_.clear();
        isPicked_ = leavesOut || !std::ranges::all_of(records_.records(), isWhole);
        if (!isPicked_) {
            return {values, line, records_.fields().data(), records_.records().size()};
        }
        pickedFields_.clear();
        for (std::size_t r = 0; r < records_.records().size(); ++r) {
            const csv::CsvRecord& record = records_.records()[r];
            if (leavesOut && isBad(values, record)) {
                continue;
            }
            picked_.push_back(r);
            const csv::CsvField* const first = records_.fields().data() + record.firstField;
            pickedFields_.insert(pickedFields_.end(), first,
                                 first + std::min<std::size_t>(record.fields, width));
            pickedFields_.resize(picked_.size() * width);
        }
        return {values, line, pickedFields_.data(), picked_.size()};
    }

    const csv::CsvRecord& recordOf(std::size_t row) const {
        return records_.records()[isPicked_ ? picked_[row] : row];
    }

    /// Adds rows [from, to) of a block. Reports the first error by row, then by column.
    Status addRows(const Block& block, std::size_t from, std::size_t to,
                   std::vector<Column>& columns) {
        const std::size_t width = kinds_.size();
        std::size_t whole = isPicked_ ? from : to;
        while (whole < to && recordOf(whole).fields == width) {
            ++whole;
        }
        std::size_t end = whole;
        ASSIGN_OR_RETURN(const Column* const wrong, addValues(block, from, end, columns));
        if (wrong != nullptr) {
            const std::string_view value =
                block.text.value(block.fields[end * width + wrong->place], memory_);
            return invalidArgument(input_.path, ":", block.line + recordOf(end).line, ": ",
                                   csv::csvMisfit(wrong->name, value, wrong->type));
        }
        return whole == to
                   ? okStatus()
                   : failedPrecondition(input_.path, ":", block.line + recordOf(whole).line, ": ",
                                        recordOf(whole).fields,
                                        " fields: the file changed since the run was planned");
    }

    /// Adds rows [from, end), or those before the first invalid one: returns its column then and
    /// sets `end` to that row.
    Result<const Column*> addValues(const Block& block, std::size_t from, std::size_t& end,
                                    std::vector<Column>& columns) const {
        const std::size_t width = kinds_.size();
        const Column* wrong = nullptr;
        for (Column& column : columns) {
            if (column.target == nullptr) {
                continue;
            }
            ASSIGN_OR_RETURN(
                const std::size_t taken,
                column.target->append(
                    {block.text, block.fields + from * width + column.place, width, end - from}));
            wrong = taken < end - from ? &column : wrong;
            end = from + taken;
        }
        return wrong;
    }

    /// Same rule as in the first pass.
    bool isBad(const csv::CsvText& text, const csv::CsvRecord& record) {
        if (record.fields != kinds_.size()) {
            return true;
        }
        for (std::size_t i = 0; i < kinds_.size(); ++i) {
            const std::string_view value =
                kinds_[i] != K::kString
                    ? text.value(records_.fields()[record.firstField + i], memory_)
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
    std::vector<K> kinds_;  ///< by column of the file: its given type, or kString
    csv::CsvRecords records_;
    bool isPicked_ = false;  ///< the block has only the records in picked_
    std::vector<std::size_t> picked_;
    std::vector<csv::CsvField> pickedFields_;
    std::string memory_;
    std::shared_ptr<arrow::Buffer> bytes_;
    std::int64_t textOf_ = -1;
    Cut cut_;  ///< of the same stretch
    std::int64_t bytesRead_ = 0;
};

}  // namespace

Result<DecoderPtr> openCsv(const DecoderInput& input) {
    ASSIGN_OR_RETURN(csv::CsvInput text,
                     csv::CsvInput::open(input.path, input.file, input.pool, input.gzipPoints));
    return DecoderPtr(std::make_unique<CsvDecoder>(input, std::move(text)));
}

}  // namespace millrace::dataset

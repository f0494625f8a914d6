#include "backend/table/row_gather.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/core/parallel.h"
#include "backend/table/text_word.h"

namespace millrace::table {

namespace {

using arrays::fromArrow;
using ArrayPtr = std::shared_ptr<arrow::Array>;
using BufferPtr = std::shared_ptr<arrow::Buffer>;
using Places = std::span<const RowPlace>;

/// Values are scattered in memory: prefetches this many rows ahead.
constexpr std::size_t kAhead = 24;

Result<BufferPtr> bytesFor(std::size_t bytes) {
    ASSIGN_OR_RETURN(auto buffer,
                     fromArrow(arrow::AllocateBuffer(static_cast<std::int64_t>(bytes)), "sort"));
    return BufferPtr(std::move(buffer));
}

// One column of all batches, gathered in the order of the rows.
class ColumnGather {
 public:
    ColumnGather(std::shared_ptr<arrow::DataType> type, arrow::ArrayVector parts, Places places)
        : type_(std::move(type)), parts_(std::move(parts)), places_(places) {}

    Result<ArrayPtr> gather() const {
        const arrow::Type::type id = type_->id();
        if (id == arrow::Type::STRING || id == arrow::Type::BINARY) {
            return texts();
        }
        if (id == arrow::Type::BOOL || !(arrow::is_primitive(id) || arrow::is_decimal(id))) {
            return taken();
        }
        switch (static_cast<const arrow::FixedWidthType&>(*type_).bit_width() / 8) {
            case 1:
                return fixed<std::uint8_t>();
            case 2:
                return fixed<std::uint16_t>();
            case 4:
                return fixed<std::uint32_t>();
            case 8:
                return fixed<std::uint64_t>();
            default:
                return taken();
        }
    }

 private:
    std::size_t size() const { return places_.size(); }

    template <class T>
    Result<ArrayPtr> fixed() const {
        std::vector<const T*> values;
        for (const ArrayPtr& part : parts_) {
            values.push_back(part->data()->GetValues<T>(1));
        }
        ASSIGN_OR_RETURN(BufferPtr buffer, bytesFor(size() * sizeof(T)));
        auto* const out = reinterpret_cast<T*>(buffer->mutable_data());
        for (std::size_t i = 0; i < size(); ++i) {
            const RowPlace ahead = places_[std::min(i + kAhead, size() - 1)];
            __builtin_prefetch(values[ahead.batch] + ahead.row);
            out[i] = values[places_[i].batch][places_[i].row];
        }
        return array({nullptr, std::move(buffer)});
    }

    Result<ArrayPtr> texts() const {
        struct Part {
            const std::int32_t* ends;
            const char* bytes;
        };
        std::vector<Part> parts;
        for (const ArrayPtr& part : parts_) {
            const auto& texts = static_cast<const arrow::BinaryArray&>(*part);
            parts.push_back(
                {texts.raw_value_offsets(), reinterpret_cast<const char*>(texts.raw_data())});
        }
        std::vector<std::string_view> views(size());
        ASSIGN_OR_RETURN(BufferPtr ends, bytesFor((size() + 1) * sizeof(std::int32_t)));
        auto* const end = reinterpret_cast<std::int32_t*>(ends->mutable_data());
        std::int64_t bytes = 0;
        end[0] = 0;
        for (std::size_t i = 0; i < size(); ++i) {
            const RowPlace ahead = places_[std::min(i + kAhead, size() - 1)];
            __builtin_prefetch(parts[ahead.batch].ends + ahead.row);
            const Part& part = parts[places_[i].batch];
            const std::int32_t* const at = part.ends + places_[i].row;
            views[i] = {part.bytes + at[0], static_cast<std::size_t>(at[1] - at[0])};
            bytes += static_cast<std::int64_t>(views[i].size());
            end[i + 1] = static_cast<std::int32_t>(bytes);
            if (bytes > std::numeric_limits<std::int32_t>::max()) {
                return invalidArgument("more than 2 GB of texts in ", size(), " rows");
            }
        }
        ASSIGN_OR_RETURN(BufferPtr buffer, bytesFor(static_cast<std::size_t>(bytes)));
        std::uint8_t* out = buffer->mutable_data();
        for (std::size_t i = 0; i < size(); ++i) {
            __builtin_prefetch(views[std::min(i + kAhead, size() - 1)].data());
            copyText(out, views[i]);
            out += views[i].size();
        }
        return array({nullptr, std::move(ends), std::move(buffer)});
    }

    /// Builds the array with the rows' nulls.
    Result<ArrayPtr> array(std::vector<BufferPtr> buffers) const {
        struct Bits {
            const std::uint8_t* valid;  ///< null: all rows are valid
            std::int64_t from;
        };
        bool hasNulls = false;
        std::vector<Bits> parts;
        for (const ArrayPtr& part : parts_) {
            hasNulls |= part->null_count() > 0;
            parts.push_back({part->null_bitmap_data(), part->offset()});
        }
        std::int64_t nulls = 0;
        if (hasNulls) {
            ASSIGN_OR_RETURN(buffers[0], bytesFor((size() + 7) / 8));
            std::uint8_t* const bits = buffers[0]->mutable_data();
            std::memset(bits, 0, (size() + 7) / 8);
            for (std::size_t i = 0; i < size(); ++i) {
                const RowPlace ahead = places_[std::min(i + kAhead, size() - 1)];
                if (const Bits& next = parts[ahead.batch]; next.valid != nullptr) {
                    __builtin_prefetch(next.valid + (next.from + ahead.row) / 8);
                }
                const auto [valid, from] = parts[places_[i].batch];
                const bool isValid =
                    valid == nullptr || arrow::bit_util::GetBit(valid, from + places_[i].row);
                bits[i / 8] |= static_cast<std::uint8_t>((isValid ? 1U : 0U) << (i % 8));
                nulls += isValid ? 0 : 1;
            }
        }
        return arrow::MakeArray(arrow::ArrayData::Make(type_, static_cast<std::int64_t>(size()),
                                                       std::move(buffers), nulls));
    }

    static Result<ArrayPtr> take(const ArrayPtr& from, const std::vector<std::uint32_t>& rows) {
        const auto indices = std::make_shared<arrow::UInt32Array>(
            static_cast<std::int64_t>(rows.size()), arrow::Buffer::Wrap(rows));
        arrow::compute::ExecContext context(arrow::default_memory_pool());
        context.set_use_threads(false);
        ASSIGN_OR_RETURN(
            const arrow::Datum datum,
            fromArrow(arrow::compute::Take(from, indices,
                                           arrow::compute::TakeOptions::NoBoundsCheck(), &context),
                      "sort"));
        return datum.make_array();
    }

    Result<ArrayPtr> taken() const {
        std::vector<std::vector<std::uint32_t>> rows(parts_.size());
        for (const RowPlace& place : places_) {
            rows[place.batch].push_back(place.row);
        }
        arrow::ArrayVector pieces;
        std::vector<std::uint32_t> next(parts_.size());
        std::uint32_t start = 0;
        for (std::size_t part = 0; part < parts_.size(); ++part) {
            next[part] = start;
            start += static_cast<std::uint32_t>(rows[part].size());
            ASSIGN_OR_RETURN(ArrayPtr piece, take(parts_[part], rows[part]));
            pieces.push_back(std::move(piece));
        }
        std::vector<std::uint32_t> order(size());
        for (std::size_t i = 0; i < size(); ++i) {
            order[i] = next[places_[i].batch]++;
        }
        ASSIGN_OR_RETURN(const ArrayPtr all, fromArrow(arrow::Concatenate(pieces), "sort"));
        return take(all, order);
    }

    const std::shared_ptr<arrow::DataType> type_;
    const arrow::ArrayVector parts_;
    const Places places_;
};

}  // namespace

Result<BatchPtr> gathered(const std::shared_ptr<arrow::Schema>& schema,
                          const std::vector<BatchPtr>& batches, const RowPlaces& places,
                          std::span<const std::uint32_t> rows, int threads) {
    std::vector<RowPlace> chosen(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        chosen[i] = places.of(rows[i]);
    }
    arrow::ArrayVector columns(static_cast<std::size_t>(schema->num_fields()));
    const auto gather = [&](std::size_t c) -> Status {
        arrow::ArrayVector parts;
        for (const BatchPtr& batch : batches) {
            parts.push_back(batch->column(static_cast<int>(c)));
        }
        const auto& type = schema->field(static_cast<int>(c))->type();
        ASSIGN_OR_RETURN(columns[c], ColumnGather(type, std::move(parts), chosen).gather());
        return okStatus();
    };
    RETURN_IF_ERROR(parallelFor(columns.size(), threads, "sort", gather));
    return arrow::RecordBatch::Make(schema, static_cast<std::int64_t>(rows.size()),
                                    std::move(columns));
}

}  // namespace millrace::table

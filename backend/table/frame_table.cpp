#include "backend/table/frame_table.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/dataset/stored_types.h"
#include "backend/spec/column_origins.h"
#include "backend/text/text.h"

namespace millrace::table {

namespace {

using arrays::fromArrow;
using frame::DType;
using frame::Role;
using TypePtr = std::shared_ptr<arrow::DataType>;
using ArrayPtr = std::shared_ptr<arrow::Array>;
using BufferPtr = std::shared_ptr<arrow::Buffer>;

TypePtr numberType(DType type) {
    // In the order of DType, whose first is 1.
    constexpr const TypePtr& (*kTypes[])() = {
        arrow::uint8,  arrow::int8,  arrow::uint16,  arrow::int16,   arrow::uint32, arrow::int32,
        arrow::uint64, arrow::int64, arrow::float32, arrow::float64, arrow::utf8};
    return kTypes[static_cast<std::size_t>(type) - 1]();
}

TypePtr plainType(const frame::ColumnSpec& column) {
    const TypePtr type = numberType(column.dtype);
    const bool isList =
        column.encoding == frame::Encoding::kLists && column.dtype != DType::kString;
    return isList ? arrow::list(type) : type;
}

// Whether a frame stores values of `from` so that they read as `type`: the same bytes, bools as
// bytes, or decimals as texts.
bool isCarriedAs(const arrow::DataType& from, const arrow::DataType& type) {
    if (from.id() == arrow::Type::LIST || type.id() == arrow::Type::LIST) {
        return from.id() == type.id() &&
               isCarriedAs(*from.field(0)->type(), *type.field(0)->type());
    }
    if (from.id() == arrow::Type::STRING) {
        return type.id() == arrow::Type::STRING || type.id() == arrow::Type::BINARY ||
               arrow::is_decimal(type.id());
    }
    if (type.id() == arrow::Type::BOOL) {
        return from.id() == arrow::Type::UINT8;
    }
    const auto* const fixed = dynamic_cast<const arrow::FixedWidthType*>(&type);
    return fixed != nullptr &&
           fixed->bit_width() == static_cast<const arrow::FixedWidthType&>(from).bit_width();
}

// Frames have numbers and texts only: other types come from the columns at the recipe's end.
Result<TypePtr> carriedType(const frame::ColumnSpec& column, const CarriedTypes& types) {
    const TypePtr plain = plainType(column);
    const auto known = types.find(column.name);
    if (known == types.end()) {
        return plain;
    }
    if (!isCarriedAs(*plain, *known->second)) {
        return internalError("carried column '", column.name, "' is ", known->second->ToString(),
                             ", but ", plain->ToString(), " in its frames");
    }
    return known->second;
}

Result<TypePtr> typeOf(const frame::ColumnSpec& column, const CarriedTypes& types) {
    switch (column.role) {
        case Role::kVector:
            return arrow::fixed_size_list(arrow::float32(),
                                          static_cast<std::int32_t>(column.width));
        case Role::kMask:
            return arrow::boolean();
        case Role::kCarry:
            return carriedType(column, types);
        default:
            return plainType(column);
    }
}

// A set of column names; rejects a second use of a name.
class Names {
 public:
    std::string unique(const std::string& name, const char* suffix) {
        std::string chosen = name;
        while (!used_.insert(chosen).second) {
            chosen += suffix;
        }
        return chosen;
    }

 private:
    std::set<std::string> used_;
};

std::string nameOf(const frame::ColumnSpec& column, Names& names) {
    switch (column.role) {
        case Role::kLabel:
            return names.unique(column.name, ".label");
        case Role::kWeight:
            return names.unique(column.name + ".weight", ".weight");
        case Role::kMask:
            return names.unique(column.name + ".mask", ".mask");
        case Role::kCarry:
            return names.unique(column.name, ".carry");
        default:
            return names.unique(column.name, ".feature");
    }
}

Result<std::shared_ptr<arrow::Buffer>> allocate(std::size_t bytes) {
    ASSIGN_OR_RETURN(auto buffer,
                     fromArrow(arrow::AllocateBuffer(static_cast<std::int64_t>(bytes)), "table"));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

// The stored values of all items of a column.
std::span<const std::byte> valueBytes(const frame::FrameView& view, std::size_t column) {
    const frame::ColumnEntry& entry = view.entry(column);
    return view.bytes().subspan(entry.data.offset, entry.values * frame::sizeOf(entry.dtype));
}

// The values of fixed columns, one row after another, even if rows share a request's values.
Result<BufferPtr> itemValues(const frame::FrameView& view, std::size_t column) {
    const frame::ColumnEntry& entry = view.entry(column);
    const std::size_t width = frame::sizeOf(entry.dtype) * entry.width;
    const std::span<const std::byte> from = valueBytes(view, column);
    ASSIGN_OR_RETURN(auto buffer, allocate(view.rows() * width));
    if ((entry.flags & frame::kDedup) == 0) {
        std::ranges::copy(from, reinterpret_cast<std::byte*>(buffer->mutable_data()));
        return BufferPtr(std::move(buffer));
    }
    for (std::uint32_t r = 0; r < view.rows(); ++r) {
        std::memcpy(buffer->mutable_data() + r * width,
                    from.data() + view.itemOf(column, r) * width, width);
    }
    return BufferPtr(std::move(buffer));
}

Result<ArrayPtr> denseLane(const frame::FrameView& view, std::size_t column, std::size_t lane,
                           std::size_t width) {
    const std::span<const float> block = view.values<float>(column);
    ASSIGN_OR_RETURN(auto buffer, allocate(std::size_t{view.rows()} * 4));
    auto* const out = reinterpret_cast<float*>(buffer->mutable_data());
    for (std::size_t r = 0; r < view.rows(); ++r) {
        out[r] = block[r * width + lane];
    }
    return arrow::MakeArray(
        arrow::ArrayData::Make(arrow::float32(), view.rows(), {nullptr, buffer}, 0));
}

Result<BufferPtr> packedBits(const std::uint8_t* from, std::size_t count) {
    ASSIGN_OR_RETURN(auto bits, allocate((count + 7) / 8));
    std::memset(bits->mutable_data(), 0, (count + 7) / 8);
    for (std::size_t r = 0; r < count; ++r) {
        bits->mutable_data()[r / 8] |= static_cast<std::uint8_t>((from[r] != 0 ? 1 : 0) << (r % 8));
    }
    return bits;
}

Result<ArrayPtr> boolColumn(const frame::FrameView& view, std::size_t column) {
    ASSIGN_OR_RETURN(const BufferPtr bits,
                     packedBits(view.values<std::uint8_t>(column).data(), view.rows()));
    return arrow::MakeArray(
        arrow::ArrayData::Make(arrow::boolean(), view.rows(), {nullptr, bits}, 0));
}

// Makes the rows without a value null; returns the array unchanged if there are none.
Result<ArrayPtr> withNulls(const ArrayPtr& array, const frame::FrameView& view, std::size_t mask) {
    const std::span<const std::uint8_t> isValid = view.values<std::uint8_t>(mask);
    const auto nulls = std::ranges::count(isValid, std::uint8_t{0});
    if (nulls == 0) {
        return array;
    }
    std::shared_ptr<arrow::ArrayData> data = array->data()->Copy();
    ASSIGN_OR_RETURN(data->buffers[0], packedBits(isValid.data(), isValid.size()));
    data->null_count = nulls;
    return arrow::MakeArray(data);
}

// Lists and texts of values of `width` bytes, repeated for each row that shares a request's values.
Result<ArrayPtr> listColumn(const frame::FrameView& view, std::size_t column, const TypePtr& type,
                            std::span<const std::byte> from, std::size_t width) {
    const std::span<const std::int64_t> offsets = view.offsets(column);
    ASSIGN_OR_RETURN(auto ends, allocate((std::size_t{view.rows()} + 1) * 4));
    auto* const out = reinterpret_cast<std::int32_t*>(ends->mutable_data());
    std::int64_t total = 0;
    out[0] = 0;
    for (std::uint32_t r = 0; r < view.rows(); ++r) {
        const std::uint32_t item = view.itemOf(column, r);
        total += offsets[item + 1] - offsets[item];
        if (total > std::numeric_limits<std::int32_t>::max()) {
            return invalidArgument("column '", view.name(column),
                                   "': more than 2^31 list values in a micro-batch; a smaller "
                                   "batch.micro_rows has fewer");
        }
        out[r + 1] = static_cast<std::int32_t>(total);
    }
    ASSIGN_OR_RETURN(auto values, allocate(static_cast<std::size_t>(total) * width));
    for (std::uint32_t r = 0; r < view.rows(); ++r) {
        const std::uint32_t item = view.itemOf(column, r);
        const auto begin = static_cast<std::size_t>(offsets[item]) * width;
        const auto bytes = static_cast<std::size_t>(offsets[item + 1] - offsets[item]) * width;
        if (bytes > 0) {
            std::memcpy(values->mutable_data() + static_cast<std::size_t>(out[r]) * width,
                        from.data() + begin, bytes);
        }
    }
    if (type->id() != arrow::Type::LIST) {
        return arrow::MakeArray(
            arrow::ArrayData::Make(type, view.rows(), {nullptr, ends, values}, 0));
    }
    const TypePtr element = type->field(0)->type();
    if (element->id() == arrow::Type::BOOL) {
        ASSIGN_OR_RETURN(values, packedBits(values->data(), static_cast<std::size_t>(total)));
    }
    auto child = arrow::ArrayData::Make(element, total, {nullptr, values}, 0);
    return arrow::MakeArray(
        arrow::ArrayData::Make(type, view.rows(), {nullptr, ends}, {std::move(child)}, 0));
}

// Like withNulls(), for the elements of lists.
Result<ArrayPtr> withNullElements(const ArrayPtr& array, const frame::FrameView& view,
                                  std::size_t mask) {
    ASSIGN_OR_RETURN(const ArrayPtr flags, listColumn(view, mask, arrow::list(arrow::uint8()),
                                                      valueBytes(view, mask), 1));
    const auto& isValid = static_cast<const arrow::UInt8Array&>(
        *static_cast<const arrow::ListArray&>(*flags).values());
    const auto count = static_cast<std::size_t>(isValid.length());
    const auto nulls = std::count(isValid.raw_values(), isValid.raw_values() + count, 0);
    if (nulls == 0) {
        return array;
    }
    std::shared_ptr<arrow::ArrayData> data = array->data()->Copy();
    std::shared_ptr<arrow::ArrayData> elements = data->child_data[0]->Copy();
    if (elements->length != isValid.length()) {
        return internalError("column '", view.name(mask), "' is of other lists");
    }
    ASSIGN_OR_RETURN(elements->buffers[0], packedBits(isValid.raw_values(), count));
    elements->null_count = nulls;
    data->child_data = {std::move(elements)};
    return arrow::MakeArray(data);
}

Result<ArrayPtr> fixedColumn(const frame::FrameView& view, std::size_t column,
                             const TypePtr& type) {
    ASSIGN_OR_RETURN(const BufferPtr values, itemValues(view, column));
    if (type->id() != arrow::Type::FIXED_SIZE_LIST) {
        return arrow::MakeArray(arrow::ArrayData::Make(type, view.rows(), {nullptr, values}, 0));
    }
    const auto count = std::int64_t{view.rows()} * view.entry(column).width;
    auto child = arrow::ArrayData::Make(arrow::float32(), count, {nullptr, values}, 0);
    return arrow::MakeArray(
        arrow::ArrayData::Make(type, view.rows(), {nullptr}, {std::move(child)}, 0));
}

}  // namespace

Result<std::vector<int>> chooseColumns(const std::vector<std::string>& known,
                                       const std::vector<std::string>& wanted) {
    std::vector<int> chosen;
    for (std::size_t i = 0; wanted.empty() && i < known.size(); ++i) {
        chosen.push_back(static_cast<int>(i));
    }
    for (const std::string& name : wanted) {
        const auto at = std::ranges::find(known, name);
        if (at == known.end()) {
            return invalidArgument("--columns: the table has no column '", name, "'",
                                   nameHint(name, known));
        }
        const int index = static_cast<int>(at - known.begin());
        if (std::ranges::find(chosen, index) != chosen.end()) {
            return invalidArgument("--columns: '", name, "' is named twice");
        }
        chosen.push_back(index);
    }
    return chosen;
}

Result<CarriedTypes> carriedTypes(const spec::RunSpec& spec, const expr::Schema& columns,
                                  const dataset::Dataset& dataset) {
    const spec::ColumnOrigins origins(spec.recipe);
    std::vector<std::string> read;
    std::vector<const expr::Field*> fields;
    for (const std::string& name : spec.features.carry) {
        const expr::Field* const field = columns.find(name);
        if (field == nullptr) {
            return internalError("carried column '", name, "' is not there");
        }
        fields.push_back(field);
        if (std::string origin = origins.of(name); !origin.empty()) {
            read.push_back(std::move(origin));
        }
    }
    ASSIGN_OR_RETURN(const auto stored, dataset::storedTypes(dataset, read));
    CarriedTypes types;
    for (const expr::Field* const field : fields) {
        expr::DataType type = field->type;
        type.listSize = 0;  // a frame stores fixed-size lists as lists
        const std::string origin = origins.of(field->name);
        const bool isStored = !origin.empty() && !type.isList;
        const bool isMadeDecimal = type.kind == expr::TypeKind::kDecimal && !isStored;
        types[field->name] = isStored        ? stored.at(origin)
                             : isMadeDecimal ? arrow::float64()
                                             : arrays::toArrowType(type);
    }
    return types;
}

Result<FrameTable> FrameTable::make(const spec::RunSpec& spec, const frame::FrameLayout& layout,
                                    const CarriedTypes& types,
                                    const std::vector<std::string>& wanted) {
    Names names;
    std::vector<std::string> known;
    arrow::FieldVector fields;
    std::vector<Column> columns;
    const auto add = [&](std::string name, TypePtr type, Column column) {
        known.push_back(name);
        fields.push_back(arrow::field(std::move(name), std::move(type), column.masks.ofRows));
        columns.push_back(column);
    };
    for (std::size_t c = 2; c < layout.numColumns(); ++c) {
        const frame::ColumnSpec& column = layout.columns()[c];
        if (column.role == Role::kInverse) {
            continue;
        }
        if (column.role != Role::kDense) {
            ASSIGN_OR_RETURN(TypePtr type, typeOf(column, types));
            const frame::CarryMasks masks = frame::CarryMasks::behind(layout, c);
            add(nameOf(column, names), std::move(type), {c, 0, false, masks});
            if (column.role == Role::kWeighted) {
                add(names.unique(column.name + ".weights", ".feature"),
                    arrow::list(arrow::float32()), {c, 0, true, {}});
            }
            c += masks.count();
            continue;
        }
        for (std::size_t lane = 0; lane < spec.features.dense.size(); ++lane) {
            add(names.unique(spec.features.dense[lane].column, ".feature"), arrow::float32(),
                {c, lane});
        }
    }
    ASSIGN_OR_RETURN(const std::vector<int> chosen, chooseColumns(known, wanted));
    FrameTable table;
    arrow::FieldVector kept;
    for (const int index : chosen) {
        kept.push_back(fields[static_cast<std::size_t>(index)]);
        table.columns_.push_back(columns[static_cast<std::size_t>(index)]);
    }
    table.schema_ = arrow::schema(kept);
    return table;
}

Result<ArrayPtr> FrameTable::valuesOf(const frame::FrameView& view, const Column& column,
                                      const TypePtr& type) const {
    const frame::ColumnEntry& entry = view.entry(column.source);
    if (entry.role == Role::kDense) {
        return denseLane(view, column.source, column.lane, entry.width);
    }
    if (type->id() == arrow::Type::BOOL) {
        return boolColumn(view, column.source);
    }
    if (entry.encoding != frame::Encoding::kLists) {
        return fixedColumn(view, column.source, type);
    }
    if (column.isWeights) {
        return listColumn(view, column.source, type, std::as_bytes(view.weights(column.source)),
                          sizeof(float));
    }
    const TypePtr raw = arrow::is_decimal(type->id()) ? arrow::utf8() : type;
    return listColumn(view, column.source, raw, valueBytes(view, column.source),
                      frame::sizeOf(entry.dtype));
}

Result<BatchPtr> FrameTable::batchOf(const frame::FrameView& view) const {
    arrow::ArrayVector arrays;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const Column& column = columns_[i];
        const auto& field = schema_->field(static_cast<int>(i));
        ASSIGN_OR_RETURN(ArrayPtr array, valuesOf(view, column, field->type()));
        if (column.masks.ofRows) {
            ASSIGN_OR_RETURN(array, withNulls(array, view, column.source + 1));
        }
        if (column.masks.ofElements) {
            ASSIGN_OR_RETURN(array, withNullElements(array, view, column.source + 2));
        }
        if (arrow::is_decimal(field->type()->id())) {
            ASSIGN_OR_RETURN(array, dataset::asStored(array, field->type(), field->name()));
        }
        arrays.push_back(std::move(array));
    }
    return arrow::RecordBatch::Make(schema_, view.rows(), std::move(arrays));
}

}  // namespace millrace::table

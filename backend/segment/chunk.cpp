// Chunk::make(): converts a recipe's batch to raw columns of the layout.
#include "backend/segment/chunk.h"

#include <cstring>

#include <arrow/api.h>
#include <arrow/util/decimal.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/decimals.h"
#include "backend/frame/carry_mask.h"
#include "backend/segment/row_records.h"

namespace millrace::segment {

namespace {

using frame::DType;
using frame::Role;

// Allocates a pooled buffer that the chunk's list of owners keeps.
Result<std::uint8_t*> ownBytes(Chunk& chunk, BufferPool& pool, std::int64_t bytes) {
    ASSIGN_OR_RETURN(PooledBuffer buffer,
                     PooledBuffer::allocate(pool, std::max<std::int64_t>(bytes, 64)));
    auto owner = std::make_shared<PooledBuffer>(std::move(buffer));
    std::uint8_t* data = owner->data();
    chunk.owners.push_back(std::move(owner));
    return data;
}

Result<const std::byte*> maskBytes(Chunk& chunk, BufferPool& pool, const std::vector<float>& mask) {
    ASSIGN_OR_RETURN(std::uint8_t* const bytes,
                     ownBytes(chunk, pool, static_cast<std::int64_t>(mask.size())));
    for (std::size_t r = 0; r < mask.size(); ++r) {
        bytes[r] = mask[r] != 0 ? 1 : 0;
    }
    return reinterpret_cast<const std::byte*>(bytes);
}

// 1 where a row has a value. A row of a dictionary of lists is null if its list is.
Result<const std::byte*> validBytes(Chunk& chunk, BufferPool& pool, const arrow::Array& array) {
    const auto* stored = array.type_id() == arrow::Type::DICTIONARY
                             ? static_cast<const arrow::DictionaryArray*>(&array)
                             : nullptr;
    ASSIGN_OR_RETURN(std::uint8_t* const bytes, ownBytes(chunk, pool, array.length()));
    for (std::int64_t r = 0; r < array.length(); ++r) {
        bytes[r] = array.IsValid(r) && (stored == nullptr ||
                                        stored->dictionary()->IsValid(stored->GetValueIndex(r)))
                       ? 1
                       : 0;
    }
    return reinterpret_cast<const std::byte*>(bytes);
}

const std::byte* bytesOf(const void* pointer) {
    return static_cast<const std::byte*>(pointer);
}

Result<const std::byte*> boolBytes(Chunk& chunk, BufferPool& pool, const arrow::Array& array) {
    const auto& bools = static_cast<const arrow::BooleanArray&>(array);
    ASSIGN_OR_RETURN(std::uint8_t* const bytes, ownBytes(chunk, pool, array.length()));
    for (std::int64_t r = 0; r < array.length(); ++r) {
        bytes[r] = bools.IsValid(r) && bools.Value(r) ? 1 : 0;
    }
    return bytesOf(bytes);
}

Result<const std::byte*> decimalDoubles(Chunk& chunk, BufferPool& pool, const arrow::Array& array) {
    const auto& decimals = static_cast<const arrow::Decimal128Array&>(array);
    const std::int32_t scale = static_cast<const arrow::Decimal128Type&>(*array.type()).scale();
    ASSIGN_OR_RETURN(std::uint8_t* const bytes, ownBytes(chunk, pool, array.length() * 8));
    auto* const values = reinterpret_cast<double*>(bytes);
    for (std::int64_t r = 0; r < array.length(); ++r) {
        values[r] = decimals.IsValid(r)
                        ? arrays::nearestDouble(arrow::Decimal128(decimals.GetValue(r)), scale)
                        : 0.0;
    }
    return bytesOf(bytes);
}

// Fixed-width values; copied with zeros if there are nulls.
Result<const std::byte*> fixedBytes(Chunk& chunk, BufferPool& pool, const arrow::Array& array,
                                    std::size_t width) {
    if (array.type_id() == arrow::Type::BOOL) {
        return boolBytes(chunk, pool, array);
    }
    if (array.type_id() == arrow::Type::DECIMAL128) {
        return decimalDoubles(chunk, pool, array);
    }
    const auto* type = dynamic_cast<const arrow::FixedWidthType*>(array.type().get());
    if (type == nullptr || static_cast<std::size_t>(type->bit_width()) != width * 8) {
        return internalError("a column of type ", array.type()->ToString(),
                             " where the frame has values of ", width, " bytes");
    }
    const auto& data = *array.data();
    const std::uint8_t* values =
        data.buffers[1] == nullptr ? nullptr : data.buffers[1]->data() + data.offset * width;
    if (array.null_count() == 0) {
        return bytesOf(values);
    }
    ASSIGN_OR_RETURN(std::uint8_t* const copy,
                     ownBytes(chunk, pool, array.length() * static_cast<std::int64_t>(width)));
    for (std::int64_t r = 0; r < array.length(); ++r) {
        const std::size_t at = r * width;
        if (array.IsValid(r)) {
            std::memcpy(copy + at, values + at, width);
        } else {
            std::memset(copy + at, 0, width);
        }
    }
    return bytesOf(copy);
}

// Returns true if a null list still has values, which a frame must not show.
bool hasHiddenValues(const arrow::Array& array, const std::int32_t* offsets) {
    if (array.null_count() == 0) {
        return false;
    }
    for (std::int64_t r = 0; r < array.length(); ++r) {
        if (array.IsNull(r) && offsets[r + 1] != offsets[r]) {
            return true;
        }
    }
    return false;
}

// Copies values and offsets without the values of null lists.
Status compactLists(Chunk& chunk, BufferPool& pool, const arrow::Array& array, std::size_t width,
                    Chunk::Column& column) {
    ASSIGN_OR_RETURN(std::uint8_t* const offsetBytes,
                     ownBytes(chunk, pool, (array.length() + 1) * 4));
    auto* const offsets = reinterpret_cast<std::int32_t*>(offsetBytes);
    const std::int32_t* const from = column.offsets;
    ASSIGN_OR_RETURN(std::uint8_t* const values,
                     ownBytes(chunk, pool,
                              static_cast<std::int64_t>(from[array.length()] - from[0]) *
                                  static_cast<std::int64_t>(width)));
    offsets[0] = 0;
    for (std::int64_t r = 0; r < array.length(); ++r) {
        const std::int32_t count = array.IsValid(r) ? from[r + 1] - from[r] : 0;
        std::memcpy(values + offsets[r] * width, column.values + from[r] * width, count * width);
        offsets[r + 1] = offsets[r] + count;
    }
    column.values = bytesOf(values);
    column.offsets = offsets;
    return okStatus();
}

Result<Chunk::Column> listColumn(Chunk& chunk, BufferPool& pool, const arrow::Array& array,
                                 std::size_t width);

// Converts lists of fixed size to lists with offsets.
Result<Chunk::Column> fixedLists(Chunk& chunk, BufferPool& pool, const arrow::Array& array,
                                 std::size_t width) {
    const auto& lists = static_cast<const arrow::FixedSizeListArray&>(array);
    Chunk::Column column;
    ASSIGN_OR_RETURN(std::uint8_t* const bytes, ownBytes(chunk, pool, (array.length() + 1) * 4));
    auto* const offsets = reinterpret_cast<std::int32_t*>(bytes);
    for (std::int64_t r = 0; r <= array.length(); ++r) {
        offsets[r] = static_cast<std::int32_t>(lists.value_offset(r));
    }
    column.offsets = offsets;
    ASSIGN_OR_RETURN(column.values, fixedBytes(chunk, pool, *lists.values(), width));
    chunk.owners.push_back(lists.values());
    if (array.null_count() > 0) {
        RETURN_IF_ERROR(compactLists(chunk, pool, array, width, column));
    }
    return column;
}

// Decimals as texts of their digits.
Result<Chunk::Column> decimalTexts(Chunk& chunk, BufferPool& pool, const arrow::Array& array) {
    ASSIGN_OR_RETURN(const auto texts, arrays::decimalKeys(array, arrow::default_memory_pool()));
    chunk.owners.push_back(texts);
    return listColumn(chunk, pool, *texts, 1);
}

Result<Chunk::Column> listColumn(Chunk& chunk, BufferPool& pool, const arrow::Array& array,
                                 std::size_t width) {
    static constexpr std::int32_t kEmpty[1] = {0};
    Chunk::Column column;
    if (array.type_id() == arrow::Type::DICTIONARY) {
        const auto& stored = static_cast<const arrow::DictionaryArray&>(array);
        ASSIGN_OR_RETURN(column, listColumn(chunk, pool, *stored.dictionary(), width));
        column.items = static_cast<const arrow::Int32Array&>(*stored.indices()).raw_values();
        chunk.owners.push_back(stored.indices());
        chunk.owners.push_back(stored.dictionary());
        return column;
    }
    if (array.type_id() == arrow::Type::FIXED_SIZE_LIST) {
        return fixedLists(chunk, pool, array, width);
    }
    if (array.type_id() == arrow::Type::DECIMAL128) {
        return decimalTexts(chunk, pool, array);
    }
    const auto& data = *array.data();
    const bool isBinary =
        array.type_id() == arrow::Type::STRING || array.type_id() == arrow::Type::BINARY;
    if (!isBinary && array.type_id() != arrow::Type::LIST) {
        return internalError("a column of type ", array.type()->ToString(),
                             " where the frame has lists");
    }
    column.offsets =
        array.length() == 0
            ? kEmpty
            : reinterpret_cast<const std::int32_t*>(data.buffers[1]->data()) + data.offset;
    if (isBinary) {
        column.values = data.buffers[2] == nullptr ? nullptr : bytesOf(data.buffers[2]->data());
    } else {
        const auto& items = *static_cast<const arrow::ListArray&>(array).values();
        ASSIGN_OR_RETURN(column.values, fixedBytes(chunk, pool, items, width));
        chunk.owners.push_back(static_cast<const arrow::ListArray&>(array).values());
    }
    if (hasHiddenValues(array, column.offsets)) {
        RETURN_IF_ERROR(compactLists(chunk, pool, array, width, column));
    }
    return column;
}

// The same lists with bytes as elements: 1 where an element has a value.
Result<std::shared_ptr<arrow::Array>> validElements(BufferPool& pool, const arrow::Array& array) {
    if (array.type_id() == arrow::Type::DICTIONARY) {
        const auto& stored = static_cast<const arrow::DictionaryArray&>(array);
        ASSIGN_OR_RETURN(auto flags, validElements(pool, *stored.dictionary()));
        auto type = arrow::dictionary(stored.indices()->type(), flags->type());
        return std::make_shared<arrow::DictionaryArray>(std::move(type), stored.indices(),
                                                        std::move(flags));
    }
    std::shared_ptr<arrow::ArrayData> lists = array.data()->Copy();
    const std::shared_ptr<arrow::Array> elements = arrow::MakeArray(lists->child_data[0]);
    ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> bytes,
                     arrays::fromArrow<std::shared_ptr<arrow::Buffer>>(
                         arrow::AllocateBuffer(elements->length(), &pool), "carry"));
    for (std::int64_t i = 0; i < elements->length(); ++i) {
        bytes->mutable_data()[i] = elements->IsValid(i) ? 1 : 0;
    }
    lists->child_data = {
        arrow::ArrayData::Make(arrow::uint8(), elements->length(), {nullptr, std::move(bytes)}, 0)};
    if (array.type_id() == arrow::Type::FIXED_SIZE_LIST) {
        const auto& type = static_cast<const arrow::FixedSizeListType&>(*array.type());
        lists->type = arrow::fixed_size_list(arrow::uint8(), type.list_size());
    } else {
        lists->type = arrow::list(arrow::uint8());
    }
    return arrow::MakeArray(lists);
}

// Fills a chunk's columns in the layout's order and checks kinds and names.
class ColumnFiller {
 public:
    ColumnFiller(Chunk& chunk, const frame::FrameLayout& layout, BufferPool& pool)
        : chunk_(chunk), layout_(layout), pool_(pool) {
        chunk_.columns.resize(layout.numColumns());
    }

    Status fixed(Role role, const std::string& name, const void* values) {
        RETURN_IF_ERROR(expect(role, name));
        chunk_.columns[next_++].values = bytesOf(values);
        return okStatus();
    }
    Status list(const recipe::ListColumn& column) {
        RETURN_IF_ERROR(expect(Role::kList, column.name));
        chunk_.columns[next_++] = {bytesOf(column.values), column.offsets, column.items};
        return okStatus();
    }
    Status weighted(const recipe::WeightedColumn& column) {
        RETURN_IF_ERROR(expect(Role::kWeighted, column.name));
        chunk_.columns[next_++] = {bytesOf(column.values), column.offsets, nullptr, column.weights};
        return okStatus();
    }
    Status sequence(const recipe::SequenceColumn& column) {
        RETURN_IF_ERROR(expect(Role::kSequence, strCat(column.sequence, ".", column.name)));
        chunk_.columns[next_++] = {bytesOf(column.values), column.offsets};
        return okStatus();
    }
    Status mask(const std::string& name, const std::vector<float>& mask) {
        RETURN_IF_ERROR(expect(Role::kMask, name));
        ASSIGN_OR_RETURN(chunk_.columns[next_].values, maskBytes(chunk_, pool_, mask));
        ++next_;
        return okStatus();
    }
    Status carry(recipe::CarryColumn& column) {
        RETURN_IF_ERROR(expect(Role::kCarry, column.name));
        const frame::ColumnSpec& wanted = layout_.columns()[next_];
        const frame::CarryMasks masks = frame::CarryMasks::behind(layout_, next_);
        if (masks.ofRows) {
            ASSIGN_OR_RETURN(chunk_.columns[next_ + 1].values,
                             validBytes(chunk_, pool_, *column.array));
        }
        if (masks.ofElements) {
            ASSIGN_OR_RETURN(const auto flags, validElements(pool_, *column.array));
            ASSIGN_OR_RETURN(chunk_.columns[next_ + 2], listColumn(chunk_, pool_, *flags, 1));
            chunk_.owners.push_back(flags);
        }
        const std::size_t width = frame::sizeOf(wanted.dtype);
        if (wanted.encoding == frame::Encoding::kLists) {
            ASSIGN_OR_RETURN(chunk_.columns[next_],
                             listColumn(chunk_, pool_, *column.array, width));
        } else {
            ASSIGN_OR_RETURN(chunk_.columns[next_].values,
                             fixedBytes(chunk_, pool_, *column.array, width));
        }
        (wanted.encoding == frame::Encoding::kLists ? chunk_.owners : chunk_.rowOwners)
            .push_back(std::move(column.array));
        next_ += 1 + masks.count();
        return okStatus();
    }
    Status dense(const recipe::FeatureBatch& batch) {
        if (batch.dense.empty()) {
            return okStatus();
        }
        RETURN_IF_ERROR(expect(Role::kDense, "dense"));
        if (layout_.columns()[next_].width != batch.dense.size()) {
            return internalError("the recipe made ", batch.dense.size(),
                                 " dense columns, the frame has ", layout_.columns()[next_].width);
        }
        for (const recipe::DenseColumn& column : batch.dense) {
            chunk_.dense.push_back(column.values);
        }
        ++next_;
        return okStatus();
    }
    Status done() {
        if (layout_.inverseColumn() >= 0) {
            ++next_;  // the inverse is the last column; each frame has its own
        }
        return next_ == layout_.numColumns()
                   ? okStatus()
                   : internalError("the recipe made ", next_, " columns of ", layout_.numColumns());
    }

 private:
    Status expect(Role role, const std::string& name) const {
        if (next_ < layout_.numColumns() && layout_.columns()[next_].role == role &&
            layout_.columns()[next_].name == name) {
            return okStatus();
        }
        return internalError("the recipe made column '", name, "' where the frame has ",
                             next_ < layout_.numColumns() ? layout_.columns()[next_].name : "none");
    }

    Chunk& chunk_;
    const frame::FrameLayout& layout_;
    BufferPool& pool_;
    std::size_t next_ = 2;
};

}  // namespace

bool Chunk::Column::isSameList(std::size_t width, std::int64_t a, std::int64_t b) const {
    const ListSlice x = slice(a), y = slice(b);
    return x.count == y.count && (x.count == 0 || x.begin == y.begin ||
                                  std::memcmp(values + x.begin * width, values + y.begin * width,
                                              static_cast<std::size_t>(x.count) * width) == 0);
}

Status Chunk::makeRecords(const RecordLayout& layout, BufferPool& pool) {
    if (rows == 0) {
        return okStatus();
    }
    const std::int64_t bytes = rows * static_cast<std::int64_t>(layout.stride());
    ASSIGN_OR_RETURN(std::uint8_t* const memory, ownBytes(*this, pool, bytes));
    auto* const made = reinterpret_cast<std::byte*>(memory);
    layout.write(*this, made);
    records = made;
    dense.clear();
    for (const RecordLayout::Field& field : layout.values()) {
        columns[field.column].values = nullptr;
    }
    rowOwners.clear();
    return okStatus();
}

Status Chunk::findGroups(const frame::FrameLayout& layout,
                         std::span<const std::uint64_t> requestStarts, bool isRequired) {
    std::vector<std::size_t> deduplicated;
    for (std::size_t c = 0; c < layout.numColumns(); ++c) {
        if (layout.columns()[c].dedup) {
            deduplicated.push_back(c);
        }
    }
    if (deduplicated.empty()) {
        return okStatus();
    }
    groups.resize(rows);
    std::uint32_t group = 0;
    auto next = requestStarts.begin();
    for (std::int64_t r = 0; r < rows; ++r) {
        bool isSame = r > 0;
        for (; next != requestStarts.end() && *next <= rowNumbers[r]; ++next) {
            isSame = false;
        }
        for (std::size_t i = 0; isSame && i < deduplicated.size(); ++i) {
            const frame::ColumnSpec& column = layout.columns()[deduplicated[i]];
            isSame = columns[deduplicated[i]].isSameList(frame::sizeOf(column.dtype), r - 1, r);
            if (!isSame && isRequired) {
                return invalidArgument(
                    "row ", rowNumbers[r], ": features.dedup: list column '", column.name,
                    "' differs from the row before, which is of the same request; with `dedup: "
                    "best_effort` such lists are stored apart");
            }
        }
        group += r > 0 && !isSame ? 1 : 0;
        groups[r] = group;
    }
    return okStatus();
}

Result<Chunk> Chunk::make(recipe::FeatureBatch given, const frame::FrameLayout& layout,
                          BufferPool& pool) {
    auto owned = std::make_shared<recipe::FeatureBatch>(std::move(given));
    recipe::FeatureBatch& batch = *owned;
    Chunk chunk;
    chunk.rowOwners = std::move(batch.rowOwners);
    chunk.file = batch.file;
    chunk.rows = batch.rows;
    chunk.rowNumbers = batch.rowNumbers.data();
    chunk.requestKeys = batch.requestKeys.empty() ? nullptr : batch.requestKeys.data();
    chunk.userKeys = batch.userKeys.empty() ? nullptr : batch.userKeys.data();
    chunk.owners.push_back(owned);
    ColumnFiller filler(chunk, layout, pool);
    RETURN_IF_ERROR(filler.dense(batch));
    for (const recipe::VectorColumn& column : batch.vectors) {
        RETURN_IF_ERROR(filler.fixed(Role::kVector, column.name, column.values));
    }
    for (const recipe::IdColumn& column : batch.ids) {
        RETURN_IF_ERROR(filler.fixed(Role::kId, column.name, column.values));
    }
    for (const recipe::ListColumn& column : batch.lists) {
        RETURN_IF_ERROR(filler.list(column));
    }
    for (const recipe::WeightedColumn& column : batch.weighted) {
        RETURN_IF_ERROR(filler.weighted(column));
    }
    for (const recipe::SequenceColumn& column : batch.sequences) {
        RETURN_IF_ERROR(filler.sequence(column));
    }
    for (const recipe::LabelColumn& head : batch.heads) {
        RETURN_IF_ERROR(filler.fixed(Role::kLabel, head.head, head.label.data()));
        RETURN_IF_ERROR(filler.fixed(Role::kWeight, head.head, head.weight.data()));
        RETURN_IF_ERROR(filler.mask(head.head, head.mask));
    }
    for (recipe::CarryColumn& column : batch.carry) {
        RETURN_IF_ERROR(filler.carry(column));
    }
    RETURN_IF_ERROR(filler.done());
    return chunk;
}

}  // namespace millrace::segment

#include "backend/arrays/cut_rows.h"

#include <algorithm>

#include <arrow/api.h>
#include <arrow/util/bitmap_ops.h>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::arrays {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using BufferPtr = std::shared_ptr<arrow::Buffer>;

constexpr std::int64_t kBits = 8;
constexpr std::int64_t kIndexBytes = 4;

struct Range {
    std::int64_t first, rows;
};

Result<BufferPtr> cutBits(const BufferPtr& bits, const Range& range, arrow::MemoryPool* pool) {
    if (bits == nullptr) {
        return BufferPtr();
    }
    if (range.first % kBits == 0) {
        return arrow::SliceBuffer(bits, range.first / kBits, (range.rows + kBits - 1) / kBits);
    }
    return fromArrow(arrow::internal::CopyBitmap(pool, bits->data(), range.first, range.rows),
                     "rows");
}

BufferPtr cutValues(const BufferPtr& values, const Range& range, std::int64_t width) {
    return values == nullptr ? nullptr
                             : arrow::SliceBuffer(values, range.first * width, range.rows * width);
}

/// With the validity of these rows; without a bitmap if the array has no nulls.
Result<std::shared_ptr<arrow::ArrayData>> dataOf(const arrow::Array& array, const Range& range,
                                                 arrow::MemoryPool* pool) {
    BufferPtr valid;
    if (array.null_count() > 0) {
        ASSIGN_OR_RETURN(valid, cutBits(array.null_bitmap(), range, pool));
    }
    return arrow::ArrayData::Make(array.type(), range.rows, {std::move(valid)},
                                  array.null_count() > 0 ? arrow::kUnknownNullCount : 0);
}

Result<ArrayPtr> cutList(const arrow::Array& array, const Range& range, arrow::MemoryPool* pool) {
    const auto& list = static_cast<const arrow::ListArray&>(array);
    const std::int32_t* const from = list.raw_value_offsets() + (range.first - array.offset());
    ASSIGN_OR_RETURN(
        BufferPtr offsets,
        fromArrow(arrow::AllocateBuffer((range.rows + 1) * kIndexBytes, pool), "rows"));
    auto* const to = reinterpret_cast<std::int32_t*>(offsets->mutable_data());
    for (std::int64_t r = 0; r <= range.rows; ++r) {
        to[r] = from[r] - from[0];
    }
    ASSIGN_OR_RETURN(const ArrayPtr values,
                     cutRows(list.values(), from[0], from[range.rows] - from[0], pool));
    ASSIGN_OR_RETURN(const auto data, dataOf(array, range, pool));
    data->buffers.push_back(std::move(offsets));
    data->child_data.push_back(values->data());
    return arrow::MakeArray(data);
}

Result<ArrayPtr> cutFixedList(const arrow::Array& array, const Range& range,
                              arrow::MemoryPool* pool) {
    const auto& list = static_cast<const arrow::FixedSizeListArray&>(array);
    const std::int64_t width = list.list_type()->list_size();
    ASSIGN_OR_RETURN(const ArrayPtr values,
                     cutRows(list.values(), range.first * width, range.rows * width, pool));
    ASSIGN_OR_RETURN(const auto data, dataOf(array, range, pool));
    data->child_data.push_back(values->data());
    return arrow::MakeArray(data);
}

Result<ArrayPtr> cutStored(const arrow::Array& array, const Range& range, arrow::MemoryPool* pool) {
    const auto& stored = static_cast<const arrow::DictionaryArray&>(array);
    ASSIGN_OR_RETURN(const auto data, dataOf(array, range, pool));
    if (stored.dictionary()->type_id() != arrow::Type::LIST) {
        data->buffers.push_back(cutValues(array.data()->buffers[1], range, kIndexBytes));
        data->dictionary = array.data()->dictionary;
        return arrow::MakeArray(data);
    }
    const ArrayPtr indices = stored.indices();
    std::int64_t least = stored.dictionary()->length(), most = -1;
    const auto* const from = static_cast<const arrow::Int32Array&>(*indices).raw_values() +
                             (range.first - array.offset());
    for (std::int64_t r = 0; r < range.rows; ++r) {
        if (indices->IsValid(range.first - array.offset() + r)) {
            least = std::min<std::int64_t>(least, from[r]);
            most = std::max<std::int64_t>(most, from[r]);
        }
    }
    least = std::min(least, most + 1);
    ASSIGN_OR_RETURN(BufferPtr rebased,
                     fromArrow(arrow::AllocateBuffer(range.rows * kIndexBytes, pool), "rows"));
    auto* const to = reinterpret_cast<std::int32_t*>(rebased->mutable_data());
    for (std::int64_t r = 0; r < range.rows; ++r) {
        to[r] = from[r] - static_cast<std::int32_t>(least);
    }
    ASSIGN_OR_RETURN(const ArrayPtr values,
                     cutRows(stored.dictionary(), least, most + 1 - least, pool));
    data->buffers.push_back(std::move(rebased));
    data->dictionary = values->data();
    return arrow::MakeArray(data);
}

bool isOfInt32(const arrow::Array& array) {
    const auto& type = static_cast<const arrow::DictionaryType&>(*array.type());
    return type.index_type()->id() == arrow::Type::INT32;
}

// Fixed-width values, bits and texts.
Result<ArrayPtr> cutFlat(const arrow::Array& array, const Range& range, arrow::MemoryPool* pool) {
    const auto& buffers = array.data()->buffers;
    ASSIGN_OR_RETURN(const auto data, dataOf(array, range, pool));
    if (array.type_id() == arrow::Type::BOOL) {
        ASSIGN_OR_RETURN(BufferPtr bits, cutBits(buffers[1], range, pool));
        data->buffers.push_back(std::move(bits));
    } else if (arrow::is_base_binary_like(array.type_id())) {
        const std::int64_t width = arrow::is_large_binary_like(array.type_id()) ? 8 : kIndexBytes;
        data->buffers.push_back(
            buffers[1] == nullptr
                ? nullptr
                : arrow::SliceBuffer(buffers[1], range.first * width, (range.rows + 1) * width));
        data->buffers.push_back(buffers[2]);
    } else {
        const auto& type = static_cast<const arrow::FixedWidthType&>(*array.type());
        data->buffers.push_back(cutValues(buffers[1], range, type.bit_width() / kBits));
    }
    return arrow::MakeArray(data);
}

}  // namespace

Result<ArrayPtr> cutRows(const ArrayPtr& array, std::int64_t first, std::int64_t rows,
                         arrow::MemoryPool* pool) {
    if (first == 0 && rows == array->length()) {
        return array;
    }
    const Range range{array->offset() + first, rows};
    switch (array->type_id()) {
        case arrow::Type::NA:
            return std::make_shared<arrow::NullArray>(rows);
        case arrow::Type::LIST:
            return cutList(*array, range, pool);
        case arrow::Type::FIXED_SIZE_LIST:
            return cutFixedList(*array, range, pool);
        case arrow::Type::DICTIONARY:
            return isOfInt32(*array) ? cutStored(*array, range, pool) : array->Slice(first, rows);
        default:
            break;
    }
    const bool isFlat =
        arrow::is_fixed_width(array->type_id()) || arrow::is_base_binary_like(array->type_id());
    return isFlat ? cutFlat(*array, range, pool) : array->Slice(first, rows);
}

}  // namespace millrace::arrays

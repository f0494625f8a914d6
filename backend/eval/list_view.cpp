#include "backend/eval/list_view.h"

#include <cstring>
#include <utility>

#include <arrow/array/array_nested.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/eval/evaluation_pool.h"

namespace millrace::eval {
namespace {

/// Bytes per value of a type stored as fixed-width values; 0: another type.
std::int64_t widthOf(const arrow::DataType& type) {
    const bool isFixed = arrow::is_primitive(type.id()) && type.id() != arrow::Type::BOOL;
    return isFixed ? static_cast<const arrow::FixedWidthType&>(type).bit_width() / 8 : 0;
}

// Gathers the `total` elements of the lists, in row order.
Result<ArrayPtr> takeElements(const ListView& view, std::int64_t total) {
    std::vector<std::int64_t> places;
    places.reserve(static_cast<std::size_t>(total));
    for (std::size_t i = 0; i < view.begins.size(); ++i) {
        for (std::int64_t k = 0; k < view.count(i); ++k) {
            places.push_back(view.begins[i] + k);
        }
    }
    ASSIGN_OR_RETURN(const ArrayPtr indices, indexArray(places, false));
    return takeRows(view.elements, indices);
}

Result<ArrayPtr> copyElements(const ListView& view, std::int64_t total, arrow::MemoryPool* pool) {
    const arrow::ArrayData& from = *view.elements->data();
    const std::int64_t width = widthOf(*from.type);
    if (width == 0 || from.GetNullCount() > 0) {
        return takeElements(view, total);
    }
    ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> values,
                     arrays::fromArrow(arrow::AllocateBuffer(total * width, pool), "lists"));
    std::uint8_t* out = values->mutable_data();
    for (std::size_t i = 0; i < view.begins.size(); ++i) {
        if (view.count(i) == 0) {
            continue;
        }
        const auto bytes = static_cast<std::size_t>(view.count(i) * width);
        std::memcpy(out, from.buffers[1]->data() + (from.offset + view.begins[i]) * width, bytes);
        out += bytes;
    }
    return arrow::MakeArray(arrow::ArrayData::Make(from.type, total, {nullptr, values}, 0));
}

}  // namespace

bool isListArray(const arrow::Array& values) {
    return values.type_id() == arrow::Type::LIST ||
           values.type_id() == arrow::Type::FIXED_SIZE_LIST;
}

ListView viewLists(const arrow::Array& lists) {
    ListView view;
    const auto rows = static_cast<std::size_t>(lists.length());
    view.begins.resize(rows);
    view.counts.resize(rows);
    const auto fill = [&](const auto& list) {
        view.elements = list.values();
        for (std::size_t i = 0; i < rows; ++i) {
            const auto row = static_cast<std::int64_t>(i);
            view.begins[i] = list.value_offset(row);
            view.counts[i] = list.IsNull(row) ? -1 : list.value_length(row);
        }
    };
    if (lists.type_id() == arrow::Type::FIXED_SIZE_LIST) {
        fill(static_cast<const arrow::FixedSizeListArray&>(lists));
    } else {
        fill(static_cast<const arrow::ListArray&>(lists));
    }
    return view;
}

Result<ArrayPtr> copyLists(const ListView& view, arrow::MemoryPool* pool) {
    pool = pool != nullptr ? pool : evaluationPool();
    const std::int64_t rows = view.rows();
    ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> offsets,
                     arrays::fromArrow(arrow::AllocateBuffer((rows + 1) * 4, pool), "lists"));
    auto* const ends = reinterpret_cast<std::int32_t*>(offsets->mutable_data());
    std::int64_t total = 0, nulls = 0;
    ends[0] = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
        const auto row = static_cast<std::size_t>(i);
        total += view.count(row);
        nulls += view.isNull(row) ? 1 : 0;
        ends[i + 1] = static_cast<std::int32_t>(total);
    }
    std::shared_ptr<arrow::Buffer> validity;
    if (nulls > 0) {
        ASSIGN_OR_RETURN(validity, arrays::fromArrow(arrow::AllocateBitmap(rows, pool), "lists"));
        for (std::int64_t i = 0; i < rows; ++i) {
            arrow::bit_util::SetBitTo(validity->mutable_data(), i,
                                      !view.isNull(static_cast<std::size_t>(i)));
        }
    }
    ASSIGN_OR_RETURN(ArrayPtr elements, copyElements(view, total, pool));
    const auto type = arrow::list(arrow::field("element", elements->type()));
    return ArrayPtr(std::make_shared<arrow::ListArray>(
        type, rows, std::move(offsets), std::move(elements), std::move(validity), nulls));
}

ArrayPtr withElements(const ArrayPtr& lists, const ArrayPtr& elements) {
    if (lists->type_id() == arrow::Type::FIXED_SIZE_LIST) {
        const auto& list = static_cast<const arrow::FixedSizeListArray&>(*lists);
        return std::make_shared<arrow::FixedSizeListArray>(
            arrow::fixed_size_list(elements->type(), list.list_type()->list_size()), list.length(),
            elements, list.null_bitmap(), list.null_count(), list.offset());
    }
    const auto& list = static_cast<const arrow::ListArray&>(*lists);
    return std::make_shared<arrow::ListArray>(arrow::list(elements->type()), list.length(),
                                              list.value_offsets(), elements, list.null_bitmap(),
                                              list.null_count(), list.offset());
}

ArrayPtr elementsOf(const ArrayPtr& lists) {
    return lists->type_id() == arrow::Type::FIXED_SIZE_LIST
               ? static_cast<const arrow::FixedSizeListArray&>(*lists).values()
               : static_cast<const arrow::ListArray&>(*lists).values();
}

}  // namespace millrace::eval

#include "backend/eval/list_view.h"

#include <arrow/array/array_nested.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::eval {

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

Result<ArrayPtr> makeLists(const ArrayPtr& elements, const std::vector<std::int32_t>& ends,
                           const std::vector<bool>& isNull) {
    const auto rows = static_cast<std::int64_t>(ends.size()) - 1;
    ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> offsets,
                     arrays::fromArrow(arrow::AllocateBuffer((rows + 1) * 4), "lists"));
    std::copy(ends.begin(), ends.end(), reinterpret_cast<std::int32_t*>(offsets->mutable_data()));
    std::shared_ptr<arrow::Buffer> validity;
    if (!isNull.empty()) {
        ASSIGN_OR_RETURN(validity, arrays::fromArrow(arrow::AllocateBitmap(rows), "lists"));
        for (std::int64_t i = 0; i < rows; ++i) {
            arrow::bit_util::SetBitTo(validity->mutable_data(), i,
                                      !isNull[static_cast<std::size_t>(i)]);
        }
    }
    const auto type = arrow::list(arrow::field("element", elements->type()));
    return ArrayPtr(std::make_shared<arrow::ListArray>(type, rows, std::move(offsets), elements,
                                                       std::move(validity)));
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

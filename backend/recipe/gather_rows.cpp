#include "backend/recipe/gather_rows.h"

#include <algorithm>

#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/eval/evaluation_pool.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;

constexpr std::size_t kFetchAhead = 24;  ///< rows whose values are prefetched

Result<std::shared_ptr<arrow::Buffer>> bufferOf(std::size_t bytes) {
    auto buffer = arrow::AllocateBuffer(static_cast<std::int64_t>(bytes), eval::evaluationPool());
    RETURN_IF_ERROR(arrays::fromArrow(buffer.status(), "take"));
    return std::shared_ptr<arrow::Buffer>(*std::move(buffer));
}

/// Null values become zero.
template <class Word>
Result<ArrayPtr> gatherWords(const arrow::Array& values, const std::vector<std::int64_t>& rows) {
    const auto* in = values.data()->GetValues<Word>(1);
    const bool hasNulls = values.null_count() > 0;
    ASSIGN_OR_RETURN(const auto words, bufferOf(rows.size() * sizeof(Word)));
    ASSIGN_OR_RETURN(const auto valid, bufferOf((rows.size() + 7) / 8));
    auto* out = reinterpret_cast<Word*>(words->mutable_data());
    std::fill_n(valid->mutable_data(), valid->size(), std::uint8_t{0});
    std::int64_t missing = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i + kFetchAhead < rows.size()) {
            __builtin_prefetch(in + std::max<std::int64_t>(rows[i + kFetchAhead], 0));
        }
        const std::int64_t row = std::max<std::int64_t>(rows[i], 0);
        const bool isThere = rows[i] >= 0 && (!hasNulls || values.IsValid(row));
        out[i] = isThere ? in[row] : Word{0};
        valid->mutable_data()[i / 8] |= static_cast<std::uint8_t>(isThere << (i % 8));
        missing += isThere ? 0 : 1;
    }
    return arrow::MakeArray(
        arrow::ArrayData::Make(values.type(), static_cast<std::int64_t>(rows.size()),
                               {missing > 0 ? valid : nullptr, words}, missing));
}

}  // namespace

Result<ArrayPtr> gatherRows(const ArrayPtr& values, const std::vector<std::int64_t>& rows) {
    const arrow::DataType& type = *values->type();
    if (values->length() > 0 && arrow::is_primitive(type.id())) {
        switch (static_cast<const arrow::FixedWidthType&>(type).bit_width()) {
            case 8:
                return gatherWords<std::uint8_t>(*values, rows);
            case 16:
                return gatherWords<std::uint16_t>(*values, rows);
            case 32:
                return gatherWords<std::uint32_t>(*values, rows);
            case 64:
                return gatherWords<std::uint64_t>(*values, rows);
            default:  // bits
                break;
        }
    }
    ASSIGN_OR_RETURN(const ArrayPtr indices, eval::indexArray(rows, true));
    return eval::takeRows(values, indices);
}

}  // namespace millrace::recipe

#include "backend/pages/row_selection.h"

#include <arrow/array/array_dict.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/type.h>
#include <arrow/util/bitmap_ops.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/number_codes.h"
#include "backend/arrays/text_codes.h"

namespace millrace::pages {
namespace {

Result<std::shared_ptr<arrow::Array>> take(const arrow::Array& values, const arrow::Array& indices,
                                           arrow::MemoryPool* pool) {
    arrow::compute::ExecContext context(pool);
    context.set_use_threads(false);
    return arrays::fromArrow(
        arrow::compute::Take(values, indices, arrow::compute::TakeOptions::NoBoundsCheck(),
                             &context),
        "rows");
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> selectRows(std::shared_ptr<arrow::Array> all,
                                                 const RowSelection& selection,
                                                 arrow::MemoryPool* pool) {
    if (selection.count(all->length()) == all->length()) {
        return all;
    }
    const arrow::Int64Array indices(
        selection.count(all->length()),
        arrow::Buffer::Wrap(selection.rows->data(), selection.rows->size()));
    return take(*all, indices, pool);
}

Result<std::shared_ptr<arrow::Array>> zeroNullFloats(std::shared_ptr<arrow::Array> values,
                                                     arrow::MemoryPool* pool) {
    if (values->type_id() != arrow::Type::FLOAT || values->null_count() == 0) {
        return values;
    }
    ASSIGN_OR_RETURN(
        std::shared_ptr<arrow::Buffer> zeroed,
        arrays::fromArrow(arrow::AllocateBuffer(values->length() * 4, pool), "decode"));
    const float* const from = values->data()->GetValues<float>(1);
    auto* const to = reinterpret_cast<float*>(zeroed->mutable_data());
    for (std::int64_t i = 0; i < values->length(); ++i) {
        to[i] = values->IsNull(i) ? 0.0F : from[i];
    }
    std::shared_ptr<arrow::Buffer> validity = values->null_bitmap();
    if (values->offset() != 0) {
        ASSIGN_OR_RETURN(validity, arrays::fromArrow(arrow::internal::CopyBitmap(
                                                         pool, validity->data(), values->offset(),
                                                         values->length()),
                                                     "decode"));
    }
    return arrow::MakeArray(arrow::ArrayData::Make(values->type(), values->length(),
                                                   {std::move(validity), std::move(zeroed)},
                                                   values->null_count()));
}

Result<std::shared_ptr<arrow::Array>> expandStored(std::shared_ptr<arrow::Array> values,
                                                   arrow::MemoryPool* pool) {
    ASSIGN_OR_RETURN(values, arrays::plainTexts(std::move(values), pool));
    ASSIGN_OR_RETURN(values, arrays::plainNumbers(std::move(values), pool));
    if (values->type_id() != arrow::Type::DICTIONARY) {
        return values;
    }
    const auto& encoded = static_cast<const arrow::DictionaryArray&>(*values);
    return take(*encoded.dictionary(), *encoded.indices(), pool);
}

}  // namespace millrace::pages

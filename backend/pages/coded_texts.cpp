#include "backend/pages/coded_texts.h"

#include <algorithm>
#include <utility>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/array_primitive.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::pages {

Result<CodedTexts> CodedTexts::make(arrays::ByteSpan page, const arrays::TextSpan* texts,
                                    std::int64_t size, bool mayBeNull, std::int64_t rows,
                                    arrow::MemoryPool* pool) {
    ASSIGN_OR_RETURN(arrays::TextTarget entries,
                     arrays::TextTarget::make(size + (mayBeNull ? 1 : 0), pool));
    CodedTexts coded(std::move(entries));
    RETURN_IF_ERROR(coded.entries_.append(page, texts, size));
    if (mayBeNull) {
        const arrays::TextSpan none;
        coded.nullCode_ = static_cast<std::uint32_t>(size);
        RETURN_IF_ERROR(coded.entries_.append(page, &none, 1));
    }
    coded.mayBeNull_ = mayBeNull;
    ASSIGN_OR_RETURN(coded.codes_,
                     arrays::fromArrow(arrow::AllocateBuffer(rows * 4, pool), "decode"));
    return coded;
}

std::uint32_t* CodedTexts::codes() {
    return reinterpret_cast<std::uint32_t*>(codes_->mutable_data());
}

Status CodedTexts::addPlain(arrays::ByteSpan page, arrays::TextSpan* texts, std::int64_t count,
                            std::int64_t row) {
    std::uint32_t* const to = codes() + row;
    auto next = static_cast<std::uint32_t>(entries_.rows());
    std::int64_t present = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const bool isThere = texts[i].offset != 0;
        to[i] = isThere ? next++ : nullCode_;
        texts[present] = texts[i];
        present += isThere ? 1 : 0;
    }
    return entries_.append(page, texts, present);
}

Result<std::shared_ptr<arrow::Array>> CodedTexts::finish(std::int64_t rows,
                                                         arrow::MemoryPool* pool) {
    std::shared_ptr<arrow::Buffer> validity;
    if (mayBeNull_) {
        ASSIGN_OR_RETURN(validity,
                         arrays::fromArrow(arrow::AllocateBitmap(entries_.rows(), pool), "decode"));
        std::fill_n(validity->mutable_data(), validity->size(), std::uint8_t{0xff});
        arrow::bit_util::ClearBit(validity->mutable_data(), nullCode_);
    }
    auto entries = std::make_shared<arrow::StringArray>(
        entries_.rows(), entries_.offsets(), entries_.bytes(), validity, mayBeNull_ ? 1 : 0);
    auto codes = std::make_shared<arrow::Int32Array>(rows, codes_, nullptr, 0);
    return std::make_shared<arrow::DictionaryArray>(
        arrow::dictionary(arrow::int32(), arrow::utf8()), std::move(codes), std::move(entries));
}

}  // namespace millrace::pages

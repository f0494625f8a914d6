#include "backend/pages/coded_numbers.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <arrow/array/array_dict.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::pages {

Result<CodedNumbers> CodedNumbers::make(const PageDictionary& dictionary, int width,
                                        std::int64_t rows, arrow::MemoryPool* pool) {
    CodedNumbers coded;
    coded.size_ = dictionary.size;
    coded.width_ = width;
    const std::int64_t bytes = dictionary.size * width;
    ASSIGN_OR_RETURN(coded.entries_,
                     arrays::fromArrow(arrow::AllocateBuffer(bytes + width, pool), "decode"));
    if (bytes > 0) {
        std::memcpy(coded.entries_->mutable_data(), dictionary.values,
                    static_cast<std::size_t>(bytes));
    }
    std::memset(coded.entries_->mutable_data() + bytes, 0, static_cast<std::size_t>(width));
    ASSIGN_OR_RETURN(coded.codes_,
                     arrays::fromArrow(arrow::AllocateBuffer(rows * 4, pool), "decode"));
    return coded;
}

std::uint32_t* CodedNumbers::codes() {
    return reinterpret_cast<std::uint32_t*>(codes_->mutable_data());
}

void CodedNumbers::expand(std::int64_t rows, std::uint8_t* out) {
    const std::uint8_t* const from = entries_->data();
    for (std::int64_t r = 0; r < rows; ++r) {
        std::memcpy(out + r * width_, from + std::int64_t{codes()[r]} * width_,
                    static_cast<std::size_t>(width_));
    }
}

Result<std::shared_ptr<arrow::Array>> CodedNumbers::finish(
    const std::shared_ptr<arrow::DataType>& type, std::int64_t rows, std::int64_t nulls,
    arrow::MemoryPool* pool) {
    std::shared_ptr<arrow::Buffer> validity;
    const std::int64_t entries = size_ + (nulls > 0 ? 1 : 0);
    if (nulls > 0) {
        ASSIGN_OR_RETURN(validity,
                         arrays::fromArrow(arrow::AllocateBitmap(entries, pool), "decode"));
        std::fill_n(validity->mutable_data(), validity->size(), std::uint8_t{0xff});
        arrow::bit_util::ClearBit(validity->mutable_data(), size_);
    }
    auto numbers = arrow::MakeArray(
        arrow::ArrayData::Make(type, entries, {std::move(validity), entries_}, nulls > 0 ? 1 : 0));
    auto codes = std::make_shared<arrow::Int32Array>(rows, codes_, nullptr, 0);
    return std::make_shared<arrow::DictionaryArray>(arrow::dictionary(arrow::int32(), type),
                                                    std::move(codes), std::move(numbers));
}

}  // namespace millrace::pages

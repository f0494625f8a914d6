#include "backend/arrays/text_codes.h"

#include <cstring>
#include <vector>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/array_primitive.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::arrays {
namespace {

/// The index of the only null entry.
std::int32_t nullEntry(const arrow::Array& entries) {
    std::int64_t e = entries.length() - 1;  // usually last, as in a page's dictionary
    while (entries.IsValid(e)) {
        --e;
    }
    return static_cast<std::int32_t>(e);
}

// 1 for null entries; empty: there are none.
std::vector<std::uint8_t> nullEntries(const arrow::Array& entries) {
    std::vector<std::uint8_t> isNull;
    if (entries.null_count() > 0) {
        isNull.resize(static_cast<std::size_t>(entries.length()));
        for (std::int64_t e = 0; e < entries.length(); ++e) {
            isNull[static_cast<std::size_t>(e)] = entries.IsNull(e) ? 1 : 0;
        }
    }
    return isNull;
}

Result<std::shared_ptr<arrow::Buffer>> validityOf(const std::vector<std::uint8_t>& isNull,
                                                  const std::int32_t* codes, std::int64_t rows,
                                                  arrow::MemoryPool* pool) {
    ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> bits,
                     fromArrow(arrow::AllocateBitmap(rows, pool), "texts"));
    std::uint8_t* const to = bits->mutable_data();
    for (std::int64_t r = 0; r < rows; ++r) {
        arrow::bit_util::SetBitTo(to, r, isNull[static_cast<std::size_t>(codes[r])] == 0);
    }
    return bits;
}

}  // namespace

std::optional<TextCodes> TextCodes::of(const arrow::Array& array) {
    if (array.type_id() != arrow::Type::DICTIONARY) {
        return std::nullopt;
    }
    const auto& stored = static_cast<const arrow::DictionaryArray&>(array);
    const auto& type = static_cast<const arrow::DictionaryType&>(*array.type());
    if (type.index_type()->id() != arrow::Type::INT32 ||
        type.value_type()->id() != arrow::Type::STRING || stored.indices()->null_count() > 0) {
        return std::nullopt;
    }
    return TextCodes{stored.dictionary(), stored.indices()};
}

std::int64_t TextCodes::rows() const {
    return codes->length();
}

const std::int32_t* TextCodes::raw() const {
    return static_cast<const arrow::Int32Array&>(*codes).raw_values();
}

bool TextCodes::isWorth() const {
    return entries->length() <= codes->length();
}

std::int64_t TextCodes::nullRows() const {
    const std::int64_t count = rows();
    const std::int32_t* const code = raw();
    std::int64_t nulls = 0;
    if (entries->null_count() == 1) {
        const std::int32_t none = nullEntry(*entries);
        for (std::int64_t r = 0; r < count; ++r) {
            nulls += code[r] == none ? 1 : 0;
        }
        return nulls;
    }
    const std::vector<std::uint8_t> isNull = nullEntries(*entries);
    for (std::int64_t r = 0; !isNull.empty() && r < count; ++r) {
        nulls += isNull[static_cast<std::size_t>(code[r])];
    }
    return nulls;
}

std::shared_ptr<arrow::Array> TextCodes::with(std::shared_ptr<arrow::Array> made) const {
    const auto type = arrow::dictionary(codes->type(), made->type());
    return std::make_shared<arrow::DictionaryArray>(type, codes, std::move(made));
}

Result<std::shared_ptr<arrow::Array>> plainTexts(std::shared_ptr<arrow::Array> values,
                                                 arrow::MemoryPool* pool) {
    const std::optional<TextCodes> coded = TextCodes::of(*values);
    if (!coded) {
        return values;
    }
    // Short texts are copied as whole blocks, so a spare block is needed at the end.
    constexpr std::int64_t kBlock = 16;
    const auto& entries = static_cast<const arrow::StringArray&>(*coded->entries);
    const std::int32_t* const codes = coded->raw();
    const std::int32_t* const begins = entries.raw_value_offsets();
    const std::int64_t rows = coded->rows();
    ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> offsets,
                     fromArrow(arrow::AllocateBuffer((rows + 1) * 4, pool), "texts"));
    auto* const ends = reinterpret_cast<std::int32_t*>(offsets->mutable_data());
    std::int64_t used = 0;
    ends[0] = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
        used += begins[codes[r] + 1] - begins[codes[r]];
        ends[r + 1] = static_cast<std::int32_t>(used);
    }
    if (used > std::int64_t{0x7fffffff} - kBlock) {
        return resourceExhausted("more than 2 GB of text in one split; write smaller row groups");
    }
    ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> bytes,
                     fromArrow(arrow::AllocateBuffer(used + kBlock, pool), "texts"));
    const std::uint8_t* const from =
        entries.value_data() == nullptr ? nullptr : entries.value_data()->data();
    const std::int64_t size = entries.value_data() == nullptr ? 0 : entries.value_data()->size();
    std::uint8_t* const to = bytes->mutable_data();
    for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t begin = begins[codes[r]], length = ends[r + 1] - ends[r];
        if (length <= kBlock && size - begin >= kBlock) {
            std::memcpy(to + ends[r], from + begin, kBlock);
        } else if (length > 0) {
            std::memcpy(to + ends[r], from + begin, static_cast<std::size_t>(length));
        }
    }
    const std::vector<std::uint8_t> isNull = nullEntries(entries);
    std::shared_ptr<arrow::Buffer> validity;
    if (!isNull.empty()) {
        ASSIGN_OR_RETURN(validity, validityOf(isNull, codes, rows, pool));
    }
    return std::make_shared<arrow::StringArray>(
        rows, std::move(offsets), arrow::SliceBuffer(bytes, 0, used), std::move(validity));
}

}  // namespace millrace::arrays

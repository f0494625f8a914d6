#include "backend/arrays/number_codes.h"

#include <vector>

#include <arrow/array/array_dict.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::arrays {
namespace {

template <class T>
void gatherWords(const std::uint8_t* from, const std::int32_t* codes, std::int64_t rows,
                 std::uint8_t* to) {
    const T* const values = reinterpret_cast<const T*>(from);
    T* const out = reinterpret_cast<T*>(to);
    for (std::int64_t r = 0; r < rows; ++r) {
        out[r] = values[codes[r]];
    }
}

// `flags`: 0 or 1 per entry.
void gatherBits(const std::vector<std::uint8_t>& flags, const std::int32_t* codes,
                std::int64_t rows, std::uint8_t* to) {
    const std::uint8_t* const flag = flags.data();
    std::int64_t r = 0;
    for (; r + 8 <= rows; r += 8) {
        unsigned bits = 0;
        for (unsigned k = 0; k < 8; ++k) {
            bits |= static_cast<unsigned>(flag[codes[r + k]]) << k;
        }
        to[r / 8] = static_cast<std::uint8_t>(bits);
    }
    unsigned bits = 0;
    for (std::int64_t k = r; k < rows; ++k) {
        bits |= static_cast<unsigned>(flag[codes[k]]) << (k - r);
    }
    if (r < rows) {
        to[r / 8] = static_cast<std::uint8_t>(bits);
    }
}

using BufferPtr = std::shared_ptr<arrow::Buffer>;

Result<BufferPtr> newBuffer(std::int64_t bytes, arrow::MemoryPool* pool) {
    return fromArrow<BufferPtr>(arrow::AllocateBuffer(bytes, pool), "rows");
}

template <class Flag>
Result<BufferPtr> gatherFlags(const arrow::Array& entries, const std::int32_t* codes,
                              std::int64_t rows, arrow::MemoryPool* pool, Flag flag) {
    std::vector<std::uint8_t> flags(static_cast<std::size_t>(entries.length()));
    for (std::int64_t e = 0; e < entries.length(); ++e) {
        flags[static_cast<std::size_t>(e)] = flag(e) ? 1 : 0;
    }
    ASSIGN_OR_RETURN(BufferPtr bits, newBuffer((rows + 7) / 8, pool));
    gatherBits(flags, codes, rows, bits->mutable_data());
    return bits;
}

}  // namespace

bool isWord(const arrow::DataType& type) {
    const bool isPlain = arrow::is_integer(type.id()) || arrow::is_floating(type.id()) ||
                         arrow::is_temporal(type.id());
    const int bits = isPlain ? type.bit_width() : 0;
    return bits == 32 || bits == 64;
}

bool isGathered(const arrow::DataType& type) {
    return type.id() == arrow::Type::BOOL || isWord(type);
}

bool isNumberCodes(const arrow::Array& array) {
    if (array.type_id() != arrow::Type::DICTIONARY) {
        return false;
    }
    const auto& type = static_cast<const arrow::DictionaryType&>(*array.type());
    return type.index_type()->id() == arrow::Type::INT32 && isWord(*type.value_type());
}

Result<std::shared_ptr<arrow::Array>> gatherFixed(const arrow::Array& entries,
                                                  const std::int32_t* codes, std::int64_t rows,
                                                  arrow::MemoryPool* pool) {
    BufferPtr values, validity;
    if (entries.type_id() == arrow::Type::BOOL) {
        const auto& bools = static_cast<const arrow::BooleanArray&>(entries);
        ASSIGN_OR_RETURN(values, gatherFlags(entries, codes, rows, pool,
                                             [&](std::int64_t e) { return bools.Value(e); }));
    } else {
        const int width = entries.type()->byte_width();
        const std::uint8_t* const from =
            entries.data()->buffers[1]->data() + entries.offset() * width;
        ASSIGN_OR_RETURN(values, newBuffer(rows * width, pool));
        (width == 4 ? gatherWords<std::uint32_t>
                    : gatherWords<std::uint64_t>)(from, codes, rows, values->mutable_data());
    }
    if (entries.null_count() > 0) {
        ASSIGN_OR_RETURN(validity, gatherFlags(entries, codes, rows, pool,
                                               [&](std::int64_t e) { return entries.IsValid(e); }));
    }
    const std::int64_t nulls = validity == nullptr ? 0 : arrow::kUnknownNullCount;
    return arrow::MakeArray(arrow::ArrayData::Make(
        entries.type(), rows, {std::move(validity), std::move(values)}, nulls));
}

Result<std::shared_ptr<arrow::Array>> plainNumbers(std::shared_ptr<arrow::Array> values,
                                                   arrow::MemoryPool* pool) {
    if (!isNumberCodes(*values)) {
        return values;
    }
    const auto& stored = static_cast<const arrow::DictionaryArray&>(*values);
    const auto& codes = static_cast<const arrow::Int32Array&>(*stored.indices());
    return gatherFixed(*stored.dictionary(), codes.raw_values(), values->length(), pool);
}

}  // namespace millrace::arrays

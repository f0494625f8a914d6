#include "backend/eval/hash_rows.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_decimal.h>
#include <arrow/array/array_primitive.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#define XXH_INLINE_ALL  // nine bytes a value: the call would cost more than the hash
#include <xxhash.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/integer_at.h"
#include "backend/arrays/text_codes.h"
#include "backend/core/philox.h"
#include "backend/eval/dictionary_values.h"
#include "backend/eval/evaluator.h"
#include "backend/eval/list_view.h"
#include "backend/eval/value_reader.h"

namespace millrace::eval {
namespace {

/// 1 + hash mod (buckets - 1) without a division a value.
class IdHash {
 public:
    IdHash(std::int64_t buckets, std::uint64_t seed)
        : modulus_(static_cast<std::uint64_t>(buckets > 1 ? buckets - 1 : 1)),
          inverse_(~std::uint64_t{0} / modulus_),
          seed_(seed) {}
    std::int64_t of(const unsigned char* bytes, std::size_t size) const {
        return idOf(XXH3_64bits_withSeed(bytes, size, seed_));
    }
    std::int64_t idOf(std::uint64_t hash) const {
        // The quotient is at most two too small.
        const auto quotient =
            static_cast<std::uint64_t>((static_cast<unsigned __int128>(hash) * inverse_) >> 64);
        std::uint64_t rest = hash - quotient * modulus_;
        while (rest >= modulus_) {
            rest -= modulus_;
        }
        return 1 + static_cast<std::int64_t>(rest);
    }

 private:
    std::uint64_t modulus_, inverse_, seed_;
};

Result<ArrayPtr> idArray(std::int64_t rows, arrow::MemoryPool* pool, std::int64_t*& ids) {
    ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> buffer,
                     arrays::fromArrow(arrow::AllocateBuffer(rows * 8, pool), "hash"));
    ids = reinterpret_cast<std::int64_t*>(buffer->mutable_data());
    return ArrayPtr(std::make_shared<arrow::Int64Array>(rows, std::move(buffer)));
}

/// hashIds of integers without CanonicalBytes: tag 1 and eight little-endian bytes on the stack.
template <class Array>
void hashIntegers(const arrow::Array& values, const IdHash& hash, std::int64_t* out) {
    const auto& in = static_cast<const Array&>(values);
    const bool hasNulls = in.null_count() > 0;
    const auto* from = in.raw_values();
    for (std::int64_t i = 0; i < in.length(); ++i) {
        unsigned char bytes[9] = {1};
        const auto value = static_cast<std::int64_t>(from[i]);
        std::memcpy(bytes + 1, &value, 8);
        const std::int64_t id = hash.of(bytes, sizeof bytes);
        out[i] = hasNulls && in.IsNull(i) ? 0 : id;
    }
}

/// The same of texts: tag 3, the length and the text, in memory that is used again.
void hashTexts(const arrow::StringArray& in, const IdHash& hash, std::int64_t* out) {
    constexpr std::int64_t kBefore = 9, kBlock = 16;
    const bool hasNulls = in.null_count() > 0;
    const auto& stored = in.value_data();
    const std::uint8_t* const texts = stored == nullptr ? nullptr : stored->data();
    const std::int64_t size = stored == nullptr ? 0 : stored->size();
    std::vector<unsigned char> bytes(256);
    bytes[0] = 3;
    for (std::int64_t i = 0; i < in.length(); ++i) {
        const std::int64_t begin = in.value_offset(i), length = in.value_length(i);
        if (kBefore + length > static_cast<std::int64_t>(bytes.size())) {
            bytes.resize(static_cast<std::size_t>(2 * (kBefore + length)));
        }
        std::memcpy(bytes.data() + 1, &length, 8);
        if (length <= kBlock && size - begin >= kBlock) {
            std::memcpy(bytes.data() + kBefore, texts + begin, kBlock);  // of one size: no call
        } else if (length > 0) {
            std::memcpy(bytes.data() + kBefore, texts + begin, static_cast<std::size_t>(length));
        }
        const std::int64_t id = hash.of(bytes.data(), static_cast<std::size_t>(kBefore + length));
        out[i] = hasNulls && in.IsNull(i) ? 0 : id;
    }
}

Result<ArrayPtr> hashScalarIds(const ArrayPtr& values, std::int64_t buckets, std::uint64_t seed,
                               arrow::MemoryPool* pool) {
    const IdHash hash(buckets, seed);
    std::int64_t* ids = nullptr;
    RETURN_IF_ERROR(ValueReader::of(*values).status());
    ASSIGN_OR_RETURN(ArrayPtr made, idArray(values->length(), pool, ids));
    if (buckets <= 1) {
        std::fill_n(ids, values->length(), 0);
        return made;
    }
    switch (values->type_id()) {
        case arrow::Type::INT64:
            hashIntegers<arrow::Int64Array>(*values, hash, ids);
            return made;
        case arrow::Type::INT32:
            hashIntegers<arrow::Int32Array>(*values, hash, ids);
            return made;
        case arrow::Type::STRING:
            hashTexts(static_cast<const arrow::StringArray&>(*values), hash, ids);
            return made;
        default:
            break;
    }
    ASSIGN_OR_RETURN(const std::vector<std::uint64_t> hashes,
                     hashRows({values}, values->length(), &seed));
    for (std::size_t i = 0; i < hashes.size(); ++i) {
        ids[i] = values->IsValid(static_cast<std::int64_t>(i)) ? hash.idOf(hashes[i]) : 0;
    }
    return made;
}

}  // namespace

Result<ArrayPtr> hashIds(const ArrayPtr& values, std::int64_t buckets, std::uint64_t seed,
                         arrow::MemoryPool* pool) {
    pool = pool != nullptr ? pool : arrow::default_memory_pool();
    if (isListArray(*values)) {
        ASSIGN_OR_RETURN(const ArrayPtr elements, hashIds(elementsOf(values), buckets, seed, pool));
        return withElements(values, elements);
    }
    const std::optional<arrays::TextCodes> coded = arrays::TextCodes::of(*values);
    if (!coded) {
        return hashScalarIds(values, buckets, seed, pool);
    }
    if (!coded->isWorth()) {
        ASSIGN_OR_RETURN(const ArrayPtr texts, arrays::plainTexts(values, pool));
        return hashScalarIds(texts, buckets, seed, pool);
    }
    ASSIGN_OR_RETURN(const ArrayPtr ids, hashScalarIds(coded->entries, buckets, seed, pool));
    return gatherEntries(*coded, ids, pool);
}

Result<ValueReader> ValueReader::of(const arrow::Array& array) {
    ValueReader reader(array);
    switch (array.type_id()) {
        case arrow::Type::NA:
        case arrow::Type::BOOL:
        case arrow::Type::FLOAT:
        case arrow::Type::DOUBLE:
        case arrow::Type::STRING:
        case arrow::Type::DATE32:
        case arrow::Type::TIMESTAMP:
        case arrow::Type::DECIMAL128:
            return reader;
        default:
            break;
    }
    if (arrow::is_integer(array.type_id())) {
        return reader;
    }
    return invalidArgument("a ", array.type()->ToString(), " has no hash");
}

void ValueReader::append(std::int64_t row, CanonicalBytes& bytes) const {
    if (array_->IsNull(row)) {
        bytes.null();
        return;
    }
    switch (array_->type_id()) {
        case arrow::Type::BOOL:
            bytes.boolean(static_cast<const arrow::BooleanArray*>(array_)->Value(row));
            return;
        case arrow::Type::FLOAT:
            bytes.real(static_cast<const arrow::FloatArray*>(array_)->Value(row));
            return;
        case arrow::Type::DOUBLE:
            bytes.real(static_cast<const arrow::DoubleArray*>(array_)->Value(row));
            return;
        case arrow::Type::STRING:
            bytes.text(static_cast<const arrow::StringArray*>(array_)->GetView(row));
            return;
        case arrow::Type::DECIMAL128:
            bytes.text(static_cast<const arrow::Decimal128Array*>(array_)->FormatValue(row));
            return;
        case arrow::Type::NA:
            bytes.null();
            return;
        default:
            bytes.integer(integer(row));
    }
}

std::int64_t ValueReader::integer(std::int64_t row) const {
    if (array_->type_id() == arrow::Type::BOOL) {
        return static_cast<const arrow::BooleanArray*>(array_)->Value(row) ? 1 : 0;
    }
    std::int64_t value = 0;
    arrays::takeIntegerAt(*array_, row, [&](auto v) { value = static_cast<std::int64_t>(v); });
    return value;
}

Result<std::vector<std::uint64_t>> hashRows(const std::vector<ArrayPtr>& columns, std::int64_t rows,
                                            const std::uint64_t* seed) {
    std::vector<ValueReader> readers;
    for (const ArrayPtr& column : columns) {
        ASSIGN_OR_RETURN(ValueReader reader, ValueReader::of(*column));
        readers.push_back(reader);
    }
    std::vector<std::uint64_t> hashes(static_cast<std::size_t>(rows));
    CanonicalBytes bytes;
    for (std::int64_t row = 0; row < rows; ++row) {
        bytes.clear();
        for (const ValueReader& reader : readers) {
            reader.append(row, bytes);
        }
        hashes[static_cast<std::size_t>(row)] = seed == nullptr ? bytes.hash() : bytes.hash(*seed);
    }
    return hashes;
}

}  // namespace millrace::eval

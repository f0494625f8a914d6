#include "backend/eval/hash_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_decimal.h>
#include <arrow/array/array_primitive.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <xxhash.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/integer_at.h"
#include "backend/arrays/null_rows.h"
#include "backend/arrays/text_codes.h"
#include "backend/core/philox.h"
#include "backend/eval/dictionary_values.h"
#include "backend/eval/evaluation_pool.h"
#include "backend/eval/evaluator.h"
#include "backend/eval/list_view.h"
#include "backend/eval/value_hash.h"
#include "backend/eval/value_reader.h"

namespace millrace::eval {

std::uint64_t ValueHash::longText(const std::uint8_t* text, std::uint64_t length) {
    bytes_.resize(kBefore + length);
    bytes_[0] = 3;
    std::memcpy(bytes_.data() + 1, &length, 8);
    std::memcpy(bytes_.data() + kBefore, text, length);
    return XXH3_64bits_withSeed(bytes_.data(), bytes_.size(), seed_);
}

namespace {

/// 1 + hash mod (buckets - 1), without a division or a branch per value.
class IdHash {
 public:
    explicit IdHash(std::int64_t buckets)
        : modulus_(static_cast<std::uint64_t>(buckets > 1 ? buckets - 1 : 1)),
          shift_(std::bit_width(modulus_) - 1) {
        // A power of two needs 65 bits; one less also makes the quotient too small by one at most.
        const unsigned __int128 one = 1;
        inverse_ = static_cast<std::uint64_t>(((one << (64 + shift_)) - 1) / modulus_);
    }
    std::int64_t idOf(std::uint64_t hash) const {
        const auto quotient =
            static_cast<std::uint64_t>((static_cast<unsigned __int128>(hash) * inverse_) >> 64) >>
            shift_;
        const std::uint64_t rest = hash - quotient * modulus_;
        return 1 + static_cast<std::int64_t>(std::min(rest, rest - modulus_));  // the subtraction
                                                                                // wraps if rest is
                                                                                // below modulus_
    }

 private:
    std::uint64_t modulus_, inverse_ = 0;
    int shift_;
};

Result<ArrayPtr> idArray(std::int64_t rows, arrow::MemoryPool* pool, std::int64_t*& ids) {
    ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> buffer,
                     arrays::fromArrow(arrow::AllocateBuffer(rows * 8, pool), "hash"));
    ids = reinterpret_cast<std::int64_t*>(buffer->mutable_data());
    return ArrayPtr(std::make_shared<arrow::Int64Array>(rows, std::move(buffer)));
}

template <class Array, class Take>
void hashIntegers(const Array& values, const ValueHash& hash, Take take) {
    const auto* const from = values.raw_values();
    for (std::int64_t i = 0; i < values.length(); ++i) {
        take(i, hash.integer(static_cast<std::uint64_t>(static_cast<std::int64_t>(from[i]))));
    }
}

template <class Take>
void hashTexts(const arrow::StringArray& in, ValueHash& hash, Take take) {
    const auto& stored = in.value_data();
    const std::uint8_t* const texts = stored == nullptr ? nullptr : stored->data();
    const std::int64_t size = stored == nullptr ? 0 : stored->size();
    const std::int32_t* const begins = in.raw_value_offsets();
    for (std::int64_t i = 0; i < in.length(); ++i) {
        const std::int64_t begin = begins[i];
        take(i, hash.text(texts + begin, static_cast<std::uint64_t>(begins[i + 1] - begin),
                          static_cast<std::uint64_t>(size - begin)));
    }
}

/// Calls take(row, hash) for all rows of integers or texts, with an undefined hash for null rows.
/// Returns false for values of another kind.
template <class Take>
bool hashValues(const arrow::Array& values, std::uint64_t seed, Take take) {
    ValueHash hash(seed);
    if (values.type_id() == arrow::Type::STRING) {
        hashTexts(static_cast<const arrow::StringArray&>(values), hash, take);
        return true;
    }
    return arrays::visitIntegers(values,
                                 [&](const auto& integers) { hashIntegers(integers, hash, take); });
}

Result<ArrayPtr> hashScalarIds(const ArrayPtr& values, std::int64_t buckets, std::uint64_t seed,
                               arrow::MemoryPool* pool) {
    std::int64_t* ids = nullptr;
    RETURN_IF_ERROR(ValueReader::of(*values).status());
    ASSIGN_OR_RETURN(ArrayPtr made, idArray(values->length(), pool, ids));
    if (buckets <= 1) {
        std::fill_n(ids, values->length(), 0);
        return made;
    }
    const IdHash hash(buckets);
    const auto take = [=](std::int64_t i, std::uint64_t of) { ids[i] = hash.idOf(of); };
    if (!hashValues(*values, seed, take)) {
        ASSIGN_OR_RETURN(const std::vector<std::uint64_t> hashes,
                         hashRows({values}, values->length(), &seed));
        for (std::size_t i = 0; i < hashes.size(); ++i) {
            ids[i] = hash.idOf(hashes[i]);
        }
    }
    arrays::fillNulls(*values, std::int64_t{0}, ids);
    return made;
}

}  // namespace

Result<ArrayPtr> hashIds(const ArrayPtr& values, std::int64_t buckets, std::uint64_t seed,
                         arrow::MemoryPool* pool) {
    pool = pool != nullptr ? pool : evaluationPool();
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
    const auto take = [&](std::int64_t i, std::uint64_t hash) {
        hashes[static_cast<std::size_t>(i)] = hash;
    };
    if (columns.size() == 1 && hashValues(*columns[0], seed == nullptr ? 0 : *seed, take)) {
        bytes.null();
        arrays::fillNulls(*columns[0], seed == nullptr ? bytes.hash() : bytes.hash(*seed),
                          hashes.data());
        return hashes;
    }
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

#include "backend/eval/hash_rows.h"

#include <cstring>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_decimal.h>
#include <arrow/array/array_primitive.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#define XXH_INLINE_ALL  // nine bytes a value: the call would cost more than the hash
#include <xxhash.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/integer_at.h"
#include "backend/core/philox.h"
#include "backend/eval/evaluator.h"
#include "backend/eval/list_view.h"
#include "backend/eval/value_reader.h"

namespace millrace::eval {
namespace {

/// hashIds of integers without CanonicalBytes: tag 1 and eight little-endian bytes on the stack.
template <class Array>
Result<ArrayPtr> hashIntegers(const arrow::Array& values, std::uint64_t modulus,
                              std::uint64_t seed) {
    const auto& in = static_cast<const Array&>(values);
    auto buffer = arrow::AllocateBuffer(in.length() * 8);
    RETURN_IF_ERROR(arrays::fromArrow(buffer.status(), "hash"));
    auto* out = reinterpret_cast<std::int64_t*>((*buffer)->mutable_data());
    const bool hasNulls = in.null_count() > 0;
    const auto* from = in.raw_values();
    for (std::int64_t i = 0; i < in.length(); ++i) {
        unsigned char bytes[9] = {1};
        const auto value = static_cast<std::int64_t>(from[i]);
        std::memcpy(bytes + 1, &value, 8);
        const std::uint64_t hash = XXH3_64bits_withSeed(bytes, sizeof bytes, seed);
        out[i] = hasNulls && in.IsNull(i) ? 0 : 1 + static_cast<std::int64_t>(hash % modulus);
    }
    return ArrayPtr(
        std::make_shared<arrow::Int64Array>(in.length(), std::shared_ptr(*std::move(buffer))));
}

Result<ArrayPtr> hashScalarIds(const ArrayPtr& values, std::int64_t buckets, std::uint64_t seed) {
    const auto modulus = static_cast<std::uint64_t>(buckets > 1 ? buckets - 1 : 1);
    if (buckets > 1 && values->type_id() == arrow::Type::INT64) {
        return hashIntegers<arrow::Int64Array>(*values, modulus, seed);
    }
    if (buckets > 1 && values->type_id() == arrow::Type::INT32) {
        return hashIntegers<arrow::Int32Array>(*values, modulus, seed);
    }
    ASSIGN_OR_RETURN(const std::vector<std::uint64_t> hashes,
                     hashRows({values}, values->length(), &seed));
    std::vector<std::int64_t> ids(hashes.size(), 0);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (buckets > 1 && values->IsValid(static_cast<std::int64_t>(i))) {
            ids[i] = 1 + static_cast<std::int64_t>(hashes[i] % modulus);
        }
    }
    return indexArray(ids, false);
}

}  // namespace

Result<ArrayPtr> hashIds(const ArrayPtr& values, std::int64_t buckets, std::uint64_t seed) {
    if (isListArray(*values)) {
        ASSIGN_OR_RETURN(const ArrayPtr elements, hashIds(elementsOf(values), buckets, seed));
        return withElements(values, elements);
    }
    return hashScalarIds(values, buckets, seed);
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

#include "backend/recipe/row_keys.h"

#include <arrow/array/array_primitive.h>

#include "backend/eval/hash_rows.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;

constexpr std::uint64_t kNull = 0x9E3779B97F4A7C15;

template <class Array>
std::vector<std::uint64_t> integerKeys(const arrow::Array& values) {
    const auto* in = static_cast<const Array&>(values).raw_values();
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(values.length()));
    for (std::size_t r = 0; r < keys.size(); ++r) {
        keys[r] = mixed(static_cast<std::uint64_t>(static_cast<std::int64_t>(in[r])));
    }
    return keys;
}

}  // namespace

Result<std::vector<std::uint64_t>> rowKeys(const ArrayPtr& values, std::uint64_t firstRow) {
    std::vector<std::uint64_t> keys;
    if (values->type_id() == arrow::Type::INT64) {
        keys = integerKeys<arrow::Int64Array>(*values);
    } else if (values->type_id() == arrow::Type::INT32) {
        keys = integerKeys<arrow::Int32Array>(*values);
    } else {
        ASSIGN_OR_RETURN(keys, eval::hashRows({values}, values->length(), nullptr));
    }
    for (std::int64_t r = 0; values->null_count() > 0 && r < values->length(); ++r) {
        if (values->IsNull(r)) {
            keys[static_cast<std::size_t>(r)] =
                mixed(kNull + mixed(firstRow + static_cast<std::uint64_t>(r)));
        }
    }
    return keys;
}

}  // namespace millrace::recipe
